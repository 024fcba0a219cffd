"""One thread for small batches: there, starting threads and waiting for them costs more than they save.

A search asks about few rows at a time. Beside another program on two cores, HistGradientBoosting took up to a
thousand times as long for 30 rows with two threads as with one, and 5 times as long for 20,000
(`benchmarks/threads.py`).
"""

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ssba.models.answers import Ask, Model, Output

# Batches of so many rows are left to as many threads as the model likes.
_MANY_ROWS = 10_000


def with_few_threads(model: Model) -> Model:
    """Return the model, asked with one thread about few rows. The model itself is not changed.

    OpenMP is told by threadpoolctl, where it is installed; joblib, which serves forests with `n_jobs`, by
    its own configuration. Both settings belong to the thread that asks, and are lifted after each call.
    """
    openmp = _openmp()

    def limiting(ask: Ask) -> Ask:
        def ask_with_few(rows: Any) -> Output:
            if len(rows) >= _MANY_ROWS:
                return ask(rows)
            with openmp.limit(limits=1) if openmp else nullcontext(), _joblib_in_sequence():
                return ask(rows)

        return ask_with_few

    return model.wrapped(limiting)


def _openmp() -> Any:
    """Return a controller of the OpenMP libraries that are loaded by now, the model's among them."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController().select(user_api="openmp")


def _joblib_in_sequence() -> AbstractContextManager[Any]:
    """Let joblib run one job after the other, whatever `n_jobs` says; nothing where it is not loaded."""
    joblib: Any = sys.modules.get("joblib")
    if not hasattr(joblib, "parallel_config"):
        return nullcontext()
    in_sequence: AbstractContextManager[Any] = joblib.parallel_config(backend="sequential")
    return in_sequence
