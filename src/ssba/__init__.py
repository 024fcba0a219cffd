"""The smallest feasible change that flips a trained model's decision, in your units and constraints.

What you construct stands here; what comes back is described in `ssba.results`, errors in `ssba.errors`.
Modules load when one of their names is first used, so that the import itself is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ssba.version import __version__

if TYPE_CHECKING:
    from ssba import charts, datasets, errors, results, run
    from ssba.apps.client import Client
    from ssba.columns.distance import Distance
    from ssba.columns.features import boolean, categorical, integer, numeric, ordinal
    from ssba.constraints.constraint import (
        Constraint,
        between,
        constraint,
        decrease,
        fixed,
        increase,
        may_fill,
        one_of,
        only,
        relation,
        transition,
        within,
    )
    from ssba.errors import SsbaError, SsbaWarning
    from ssba.explainer import Explainer
    from ssba.index.open_index import boundary_info, repair_boundary
    from ssba.models.costly import Costly
    from ssba.models.http_model import http_model
    from ssba.models.targets import probability, value_between, value_change
    from ssba.options import Budget, Options, ball, score_margin
    from ssba.suggest.suggestions import suggest_constraints
    from ssba.twins.to_torch import to_torch

__all__ = [
    "Budget",
    "Client",
    "Constraint",
    "Costly",
    "Distance",
    "Explainer",
    "Options",
    "SsbaError",
    "SsbaWarning",
    "__version__",
    "ball",
    "between",
    "boolean",
    "boundary_info",
    "categorical",
    "charts",
    "constraint",
    "datasets",
    "decrease",
    "errors",
    "fixed",
    "http_model",
    "increase",
    "integer",
    "may_fill",
    "numeric",
    "one_of",
    "only",
    "ordinal",
    "probability",
    "relation",
    "repair_boundary",
    "results",
    "run",
    "score_margin",
    "suggest_constraints",
    "to_torch",
    "transition",
    "value_between",
    "value_change",
    "within",
]

_WHERE = {
    "apps.client": ("Client",),
    "columns.distance": ("Distance",),
    "columns.features": ("boolean", "categorical", "integer", "numeric", "ordinal"),
    "constraints.constraint": (
        *("Constraint", "between", "constraint", "decrease", "fixed", "increase", "may_fill", "one_of"),
        *("only", "relation", "transition", "within"),
    ),
    "errors": ("SsbaError", "SsbaWarning"),
    "explainer": ("Explainer",),
    "index.open_index": ("boundary_info", "repair_boundary"),
    "models.costly": ("Costly",),
    "models.http_model": ("http_model",),
    "models.targets": ("probability", "value_between", "value_change"),
    "options": ("Budget", "Options", "ball", "score_margin"),
    "suggest.suggestions": ("suggest_constraints",),
    "twins.to_torch": ("to_torch",),
}
_MODULES = ("charts", "datasets", "errors", "results", "run")
_MODULE_OF = {name: module for module, names in _WHERE.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        found: Any = import_module(f"ssba.{name}")
    elif name in _MODULE_OF:
        found = getattr(import_module(f"ssba.{_MODULE_OF[name]}"), name)
    else:
        raise AttributeError(f"module 'ssba' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
