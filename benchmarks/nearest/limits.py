"""The nearest legal row there is, for each query: computed once with much effort, kept in limits.json.

    python -m benchmarks.nearest.limits [--cases NAME ...] [--queries 20] [--seconds 120] [--data DIR]

How, by model: linear ones in closed form (with branch and bound for whole numbers and categories), Adult by
asking all pairs of age and hours, tree ensembles with CP-SAT on their leaves, other smooth ones by SLSQP from
about a hundred starts. The first three prove their limit. A limit that is not proved is lowered whenever any
method's valid answer is nearer; a proved one that is beaten is a fault somewhere, and raises.

A limit counts only with a row that is legal and that the model itself puts into the target class.
"""

import argparse
import fcntl
import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.nearest.cases import Case
from benchmarks.nearest.limit_grid import enumerate_cells, enumerate_rows
from benchmarks.nearest.limit_local import pull_in, put_back
from benchmarks.nearest.limit_smooth import descend, halfspace
from benchmarks.nearest.limit_trees import Norm, nearest_cell
from benchmarks.nearest.plans import NAMES, build
from benchmarks.nearest.sources import NoDataError
from benchmarks.nearest.whitebox import duels
from numpy.typing import NDArray

import ssba

Matrix = NDArray[np.float64]

STORED = Path(__file__).with_name("limits.json")
BEATEN = 1e-5
"""By which share an answer must be nearer than a proved limit to be a fault rather than rounding.

CP-SAT counts in whole numbers: its proofs hold up to the rounding of costs and margins to them.
"""


class LimitBeatenError(Exception):
    """An answer is nearer than what was proved to be the nearest: proof, case or check is wrong."""


@dataclass(frozen=True)
class Limit:
    """The distance of the nearest row known; infinite where none reaches the target."""

    distance: float
    how: str
    proved: bool
    row: tuple[float, ...] | None

    @property
    def reachable(self) -> bool:
        return math.isfinite(self.distance)


class Limits:
    """All limits known, by case, norm and query; `save` writes them back."""

    def __init__(self, path: Path = STORED) -> None:
        self.path = path
        self._known: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}

    def get(self, case: Case, i: int, norm: Norm = "l2") -> Limit | None:
        """The limit of query `i`, if one is kept for this very model."""
        kept = self._of(case)["limits"].get(f"{norm} {case.digest(i)}")
        if kept is None:
            return None
        row = None if kept["row"] is None else tuple(kept["row"])
        distance = math.inf if kept["distance"] is None else kept["distance"]
        return Limit(distance, kept["how"], kept["proved"], row)

    def put(self, case: Case, i: int, norm: Norm, row: Matrix | None, how: str, proved: bool) -> None:
        """Keep what a solver found, unless a nearer row is known; what it proved counts either way."""
        if row is None:
            if (known := self.get(case, i, norm)) and known.reachable:
                if proved:
                    raise LimitBeatenError(f"{case.name} query {i}: unreachable by {how}, but a row is known")
                return
            self._keep(case, i, norm, Limit(math.inf, how, proved, None))
            return
        self.lower(case, i, norm, row, how)
        known = self.get(case, i, norm)
        assert known is not None
        found = length(case, i, norm, row)
        if proved and found > known.distance * (1 + BEATEN):
            raise LimitBeatenError(
                f"{case.name} query {i}: {how} proved {found}, but a row at {known.distance} is known"
            )
        if proved:
            self._keep(case, i, norm, Limit(known.distance, how, True, known.row))

    def lower(self, case: Case, i: int, norm: Norm, row: Matrix, how: str) -> bool:
        """Lower the limit of query `i` to a row that is nearer, legal and at the target; say whether."""
        known, found = self.get(case, i, norm), length(case, i, norm, row)
        if known is not None and not found < known.distance:
            return False
        if case.violates(row[None], [i])[0] or not case.reaches(row[None], [i])[0]:
            return False
        if known is not None and known.proved:
            if found < known.distance * (1 - BEATEN):
                proof = f"{known.distance} proved by {known.how}"
                raise LimitBeatenError(f"{case.name} query {i}: {how} found {found}, below {proof}")
            return False
        self._keep(case, i, norm, Limit(found, how, False, tuple(row.tolist())))
        return True

    def save(self) -> None:
        """Write one line a query; what another process has kept meanwhile stays where it is better."""
        with self.path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if self.path.exists():
                self._merge(json.loads(self.path.read_text()))
            self.path.write_text(self._text())

    def _merge(self, others: dict[str, Any]) -> None:
        for name, other in others.items():
            own = self._known.setdefault(name, other)
            if own["model"] == other["model"]:
                for key, limit in other["limits"].items():
                    own["limits"][key] = min(limit, own["limits"].get(key, limit), key=_rank)

    def _text(self) -> str:
        parts = []
        for name in sorted(self._known):
            kept = self._known[name]
            lines = [f"  {json.dumps(key)}: {json.dumps(kept['limits'][key])}" for key in kept["limits"]]
            body = ",\n".join(lines)
            parts.append(f'{json.dumps(name)}: {{"model": "{kept["model"]}", "limits": {{\n{body}\n}}}}')
        return "{\n" + ",\n".join(parts) + "\n}\n"

    def _keep(self, case: Case, i: int, norm: Norm, limit: Limit) -> None:
        kept = asdict(limit) | {"distance": limit.distance if limit.reachable else None}
        self._of(case)["limits"][f"{norm} {case.digest(i)}"] = kept

    def _of(self, case: Case) -> dict[str, Any]:
        """What is kept about the case; nothing, if it was about a model that was trained differently."""
        model = case.fingerprint
        if self._known.get(case.name, {}).get("model") != model:
            self._known[case.name] = {"model": model, "limits": {}}
        kept: dict[str, Any] = self._known[case.name]
        return kept


def _rank(kept: dict[str, Any]) -> tuple[bool, float]:
    """Proved limits before others, then the lower one."""
    return not kept["proved"], math.inf if kept["distance"] is None else kept["distance"]


def length(case: Case, i: int, norm: Norm, row: Matrix) -> float:
    return float((case.distance if norm == "l2" else case.distance_l1)(case.X[i], row))


def find(case: Case, i: int, norm: Norm, limits: Limits, seconds: float) -> None:
    """Compute the limit of query `i` and keep it."""
    solver(case.name)(case, i, norm, limits, seconds)


def _by_projection(case: Case, i: int, norm: Norm, limits: Limits, seconds: float) -> None:
    limits.put(case, i, norm, halfspace(case, i), "closed form", proved=True)


def _by_branching(case: Case, i: int, norm: Norm, limits: Limits, seconds: float) -> None:
    limits.put(case, i, norm, halfspace(case, i), "projections, branch and bound", proved=True)


def _by_enumeration(case: Case, i: int, norm: Norm, limits: Limits, seconds: float) -> None:
    limits.put(case, i, norm, enumerate_rows(case, i), "enumeration", proved=True)


def _by_descent(case: Case, i: int, norm: Norm, limits: Limits, seconds: float) -> None:
    known = limits.get(case, i, norm)
    starts = np.array([known.row]) if known and known.row else np.zeros((0, len(case.columns)))
    limits.put(case, i, norm, descend(case, i, starts), "SLSQP from many starts", proved=False)


def _by_duels(case: Case, i: int, norm: Norm, limits: Limits, seconds: float) -> None:
    for white in duels(case, i):
        starts = np.zeros((0, len(case.columns)))
        found = descend(case, i, starts, white)
        limits.put(case, i, norm, found, "SLSQP from many starts, class by class", proved=False)


def _by_local_searches(case: Case, i: int, norm: Norm, limits: Limits, seconds: float) -> None:
    known = limits.get(case, i, norm)
    starts = np.array([known.row]) if known and known.row else np.zeros((0, len(case.columns)))
    limits.put(case, i, norm, pull_in(case, i, starts), "local searches from many starts", proved=False)


def _by_plane_cells(case: Case, i: int, norm: Norm, limits: Limits, seconds: float) -> None:
    limits.put(case, i, norm, enumerate_cells(case, i), "enumeration of cells", proved=True)


def _by_cells(case: Case, i: int, norm: Norm, limits: Limits, seconds: float) -> None:
    known = limits.get(case, i, norm)
    row = np.array(known.row) if known and known.row else _along_a_segment(case, i)
    found = nearest_cell(case, i, norm, row, seconds)
    if found.row is not None or (row is None and found.proved):
        limits.put(case, i, norm, found.row, "CP-SAT", found.proved)


def _by_answer_and_cells(case: Case, i: int, norm: Norm, limits: Limits, seconds: float) -> None:
    """ssba's own answer bounds what the solver looks at, which makes its proofs quicker or possible."""
    _lower_by_ssba(case, i, norm, limits)
    _by_cells(case, i, norm, limits, seconds)


def _by_few_and_cells(case: Case, i: int, norm: Norm, limits: Limits, seconds: float) -> None:
    """The same with few changes, which are nearer answers where columns are many."""
    _lower_by_ssba(case, i, norm, limits, max_changes=3)
    row = put_back(case, i)
    if row is not None:
        limits.lower(case, i, norm, row, "columns put back from target rows")
    _by_answer_and_cells(case, i, norm, limits, seconds)


def _lower_by_ssba(case: Case, i: int, norm: Norm, limits: Limits, **options: Any) -> None:
    explainer = ssba.Explainer(case.scores, case.data, **case.options(norm))
    limited = case.limited(i) | options
    answer = explainer.explain(case.only(np.array([i])).queries, case.constraints, **limited).best
    if answer is not None:
        asked = "".join(f", {name}={value}" for name, value in options.items())
        limits.lower(case, i, norm, case.answers([answer.values])[0], f"best seen, ssba scores{asked}")


def _along_a_segment(case: Case, i: int) -> Matrix | None:
    """The first legal row at the target on the way to the nearest training row there, if one is."""
    target_rows = case.background[case.is_target(case.labels(case.data), i)]
    end = np.where(case.free, target_rows[np.argmin(case.distance(case.X[i], target_rows))], case.X[i])
    shares = np.linspace(0, 1, 101)[:, None]
    way = case.X[i] + shares * (end - case.X[i])
    way[-1] = end
    way = np.where(case.is_whole, np.round(way), way)
    reached = np.flatnonzero(case.is_target(case.labels(case.rows(way)), i))
    return np.asarray(way[reached[0]]) if len(reached) else None


Solver = Callable[[Case, int, Norm, Limits, float], None]

_BY_PREFIX: dict[str, Solver] = {
    "toy-svc": _by_descent,
    "synthetic-20-logistic": _by_projection,
    "synthetic-20-mlp": _by_descent,
    "synthetic-50-logistic": _by_projection,
    "synthetic-50-mlp": _by_descent,
    "unseen-": _by_descent,
    "wine-svm-any-other": _by_duels,
    "heart-svc": _by_descent,
    "heart-mlp": _by_descent,
    "heart-mixed": _by_branching,
    "heart-whole-mlp": _by_local_searches,
    "heart-whole-": _by_answer_and_cells,
    "adult-two-": _by_plane_cells,
    "adult-": _by_enumeration,
    "cancer-svm": _by_descent,
    "cancer-few-": _by_answer_and_cells,
    "cancer-": _by_cells,
    "wide-": _by_few_and_cells,
}
"""By the beginnings of the cases' names; the first one that fits counts."""


def solver(name: str) -> Solver:
    for prefix, found in _BY_PREFIX.items():
        if name.startswith(prefix):
            return found
    raise LookupError(f"no solver is known for the limits of {name}")


NORMS: dict[str, tuple[Norm, ...]] = {"cancer-histgb": ("l2", "l1")}
"""The norms whose limits are wanted, where it is not L2 alone."""


def chosen(case: Case, limits: Limits, count: int) -> NDArray[np.int64]:
    """The first `count` queries that are not known to be unreachable."""
    known = [limits.get(case, i) for i in range(len(case.queries))]
    open_ones = [i for i, limit in enumerate(known) if limit is None or limit.reachable]
    return np.array(open_ones[:count], dtype=np.int64)


def _fill(case: Case, limits: Limits, count: int, seconds: float, again: bool) -> None:
    """Compute limits in the order of the queries until `count` reachable ones have theirs."""
    for norm in NORMS.get(case.name, ("l2",)):
        reachable = 0
        for i in range(len(case.queries)):
            begun = time.perf_counter()
            if again or limits.get(case, i, norm) is None:
                find(case, i, norm, limits, seconds)
                limits.save()
            limit = limits.get(case, i, norm)
            assert limit is not None
            print(
                f"{case.name} {norm} query {i}: {limit.distance:.6g} {limit.how}"
                f"{', proved' if limit.proved else ''} ({time.perf_counter() - begun:.1f} s)",
                flush=True,
            )
            reachable += limit.reachable
            if reachable >= count:
                break


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cases", nargs="+", default=NAMES, choices=NAMES, metavar="NAME")
    parser.add_argument("--queries", type=int, default=20, help="reachable queries a case")
    parser.add_argument("--seconds", type=float, default=120, help="for one query with CP-SAT")
    parser.add_argument("--data", type=Path, help="folder of heart.csv, adult.csv and toy_dataset.csv")
    parser.add_argument(
        "--again", action="store_true", help="also where a limit is known, to lower or prove it"
    )
    wished = parser.parse_args()
    limits = Limits()
    for name in wished.cases:
        try:
            case = build(name, wished.data)
        except NoDataError as missing:
            print(f"{name}: {missing}")
            continue
        _fill(case, limits, wished.queries, wished.seconds, wished.again)


if __name__ == "__main__":
    main()
