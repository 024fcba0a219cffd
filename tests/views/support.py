"""Results of every kind, made by hand, for the tests of the views."""

from dataclasses import replace
from typing import Any

import ssba
from ssba.results.levers import Lever, LeverTable
from ssba.results.plan import Plan, Step
from ssba.results.ranges import Interval, Ranges
from ssba.results.why_not import Binding, Relaxation, WhyNot
from ssba.views.charts.tracks import DataContext

QUERY: dict[str, Any] = {"chol": 286.0, "rate": 108, "pain": "yes", "sex": "male", "vessels": None}
UNITS = {"chol": "mg/dl", "rate": "beats/min"}
COLUMNS = (
    ssba.results.Column("chol", "numeric", unit="mg/dl"),
    ssba.results.Column("rate", "integer", unit="beats/min"),
    ssba.results.Column("pain", "categorical", ("no", "yes")),
    ssba.results.Column("sex", "categorical", ("female", "male")),
    ssba.results.Column("vessels", "numeric"),
)
RULES = ("sex == x.sex", "chol <= x.chol", "rate >= x.rate")


def answer(changes: dict[str, Any], **facts: Any) -> ssba.results.Counterfactual:
    """A row with some cells of the query changed."""
    both = {name: (QUERY[name], after) for name, after in changes.items()}
    told = {"distance": 1.25, "prediction": "well", "score": 0.5312, **facts}
    return ssba.results.Counterfactual(values={**QUERY, **changes}, changes=both, **told)


FOUND = ssba.results.Explanation(
    status=ssba.results.Status.FOUND,
    query=QUERY,
    prediction="ill",
    score=0.3125,
    target="'well'",
    constraints=RULES,
    counterfactuals=(
        answer({"chol": 240.5, "rate": 120}),
        answer({"chol": 261.0, "pain": "no"}, distance=1.5, score=0.5071),
        answer({"vessels": 1.0, "rate": 131}, distance=2.375, score=0.5002),
    ),
    evidence=ssba.results.Evidence(nearer_than=1.25, asked_nearer=41, drawn=59, share=0.0495),
    rows_used=1234,
    seconds=0.75,
    seed=7,
    columns=COLUMNS,
    versions={"ssba": "0.1.0"},
    model_fingerprint="feed0123",
)
SCHOOLING = ("school", "college", "bachelor", "phd")
ORDINAL = replace(
    FOUND,
    query={"education": "school"},
    constraints=(),
    counterfactuals=tuple(
        ssba.results.Counterfactual({"education": to}, {"education": ("school", to)}, far, "well", 0.6)
        for to, far in (("phd", 1.0), ("college", 2.0))
    ),
    columns=(ssba.results.Column("education", "ordinal", SCHOOLING),),
)
"""A declared order that is neither that of the alphabet nor of frequency in `SCHOOLED`."""
SCHOOLED = {"education": ["phd"] * 5 + ["college"] * 3 + ["school"] * 2}
BOUNDED = replace(
    FOUND,
    status=ssba.results.Status.BOUNDED,
    counterfactuals=(),
    bounded=answer(
        {"chol": 228.8, "rate": 119, "pain": "no"}, prediction="ill", score=0.4375, distance_to_boundary=0.6
    ),
    evidence=ssba.results.Evidence(),
)
STAYS = replace(BOUNDED, bounded=answer({}, prediction="ill", score=0.3125, distance=0.0))
INFEASIBLE = replace(
    FOUND,
    status=ssba.results.Status.INFEASIBLE,
    prediction=None,
    score=None,
    counterfactuals=(),
    clash=("chol <= x.chol", "chol >= 300"),
    constraints=(*RULES, "chol >= 300"),
    evidence=ssba.results.Evidence(),
    rows_used=0,
)
THERE = replace(FOUND, status=ssba.results.Status.ALREADY_THERE, prediction="well", counterfactuals=())
OUT = replace(BOUNDED, status=ssba.results.Status.OUT_OF_BUDGET, bounded=None)
NUMBERS = replace(
    FOUND,
    prediction=7.25,
    score=None,
    target="a value between 3 and 5",
    counterfactuals=(answer({"chol": 240.5}, prediction=4.875, score=None),),
    evidence=ssba.results.Evidence(nearer_than=1.2, lower_bound=1.2, proof="optimal"),
)
WISHED = replace(
    FOUND,
    options=ssba.Options(max_changes=2),
    evidence=ssba.results.Evidence(nearer_than=1.25, proof="exhausted"),
)
EVERY = {
    "found": FOUND,
    "bounded": BOUNDED,
    "stays": STAYS,
    "infeasible": INFEASIBLE,
    "already there": THERE,
    "out of budget": OUT,
    "numbers": NUMBERS,
    "wished": WISHED,
    "unreachable": replace(BOUNDED, evidence=ssba.results.Evidence(proof="unreachable")),
}


def _step(changes: dict[str, Any], before: float, after: float, reached: bool) -> Step:
    row = {**QUERY, **{name: both[1] for name, both in changes.items()}}
    said = "well" if reached else "ill"
    return Step(tuple(changes), changes, row, said, before, after, after - before, 0.5, reached, 1.0)


PLAN = Plan(
    QUERY,
    "ill",
    0.3125,
    "'well'",
    (
        _step({"chol": (286.0, 240.5)}, 0.3125, 0.4688, False),
        _step({"rate": (108, 120)}, 0.4688, 0.5312, True),
    ),
    reached=True,
    units=UNITS,
)
SHORT_PLAN = replace(PLAN, steps=PLAN.steps[:1], reached=False)
RANGES = Ranges(
    (
        Interval("chol", 228.8, 242.0, 286.0, 240.5, low_is_limit=True, unit="mg/dl"),
        Interval("rate", 117, 124, 108, 120, unit="beats/min"),
    ),
    n_samples=1000,
    held=0.998,
    target="'well'",
    rows_used=4321,
)
WHY_NOT = WhyNot(
    "bounded",
    "'well'",
    bindings=(
        Binding("rate within 10%", True, score=0.5083),
        Binding("chol within 20%", False, score=0.4531),
        Binding("sex == x.sex", False),
    ),
    relaxations=(
        Relaxation(
            ("rate within 10%",),
            ("rate within 12.5%",),
            ("let rate move by up to 12.5% instead of 10%",),
            0.25,
            True,
            changes={"rate": (108, 121)},
            values={**QUERY, "rate": 121},
            distance=2.625,
            prediction="well",
            score=0.5083,
        ),
        Relaxation(("sex == x.sex",), (None,), ("leave out sex == x.sex",), None, False),
    ),
    rows_used=5678,
)
LEVERS = LeverTable(
    "found",
    "'well'",
    levers=(
        Lever(("rate",), "found", 2.125, {"rate": (108, 141)}, rows_asked=77, proof="optimal"),
        Lever(("chol", "pain"), "found", 1.5, {"chol": (286.0, 261.0), "pain": ("yes", "no")}),
    ),
    unable=(
        Lever(("pain",), "unreachable", proof="exhausted", rows_asked=1),
        Lever(("chol",), "not_found", rows_asked=640),
    ),
    sets_tried=9,
    rows_used=1111,
)
AROUND = DataContext(
    population={
        "chol": [180.0 + number for number in range(150)],
        "rate": [100, 110, 120, 130, None, 150] * 4,
        "pain": ["no", "no", "yes"] * 4,
        "sex": ["male", "female"] * 6,
        "vessels": [0.0, 1.0, 2.0, None],
    },
    allowed={"chol": (228.8, 286.0), "rate": (108, None), "pain": ("yes", "no")},
    meanings={"chol": "serum cholesterol", "pain": "chest pain on exercise"},
)
MANY = ssba.results.Explanations(
    (FOUND, BOUNDED, THERE, INFEASIBLE, replace(FOUND, query={**QUERY, "sex": "female"}))
)
