"""Trees that are given themselves, and so opened: how near answers are, and what they take.

    OMP_NUM_THREADS=1 python -m benchmarks.opened [--half first|second|both] [--only PREFIX] [--data DIR]

Every query of `benchmarks.nearest` with trees whose limit is known is explained with the default options,
after the model was read once. A limit that is not proved is replaced by a nearer answer.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from benchmarks.golden.asking import numbers
from benchmarks.golden.table import in_half
from benchmarks.nearest.cases import Case
from benchmarks.nearest.limits import Limits
from benchmarks.nearest.plans import NAMES, build
from benchmarks.nearest.sources import NoDataError

import ssba

TREES = ("heart-whole-", "adult-raw-", "cancer-", "wide-")
OTHERS = ("svm", "mlp")


def measured(case: Case, which: list[int], limits: Limits) -> str:
    """Return the line of a case: distance over the limit, proofs, rows and seconds."""
    explainer = ssba.Explainer(case.model, case.data, **case.options())
    explainer.explain(case.only(np.array(which[:1])).queries, case.constraints, **case.limited(which[0]))
    begun = time.process_time()
    found = [
        explainer.explain(case.only(np.array([i])).queries, case.constraints, **case.limited(i))
        for i in which
    ]
    taken = (time.process_time() - begun) / len(which)
    over = [
        one.best.distance / min(limit.distance, one.best.distance if not limit.proved else np.inf)
        for one, i in zip(found, which, strict=True)
        if one.best is not None and (limit := limits.get(case, i)) is not None
    ]
    proved = sum(one.evidence.proof == "optimal" for one in found)
    rows = np.mean([one.rows_used for one in found])
    missed = sum(one.best is None for one in found)
    near = (
        f"{np.mean(over):.4f} ({max(over):.3f}){f', {missed} missed' if missed else ''}" if over else "none"
    )
    return f"| {case.name} | {len(which)} | {near} | {proved} | {rows:,.0f} | {1000 * taken:,.0f} ms |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--half", choices=("first", "second", "both"), default="second")
    parser.add_argument("--only", default="", metavar="PREFIX", help="cases whose names begin so")
    parser.add_argument("--data", type=Path, help="folder of heart.csv and adult.csv")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    limits = Limits()
    print("| case | queries | over the limit, mean (worst) | proved | rows | CPU a query |")
    print("|---|---|---|---|---|---|")
    for name in NAMES:
        is_asked = name.startswith(given.only) and name.startswith(TREES) and not name.endswith(OTHERS)
        try:
            case = build(name, given.data) if is_asked else None
        except NoDataError:
            continue
        if case is not None:
            which = [i for i in numbers(case, limits) if in_half(i, given.half)]
            print(measured(case, which, limits), flush=True)


if __name__ == "__main__":
    main()
