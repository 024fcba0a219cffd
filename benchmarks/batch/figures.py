"""The table of figures: what each is called, what measures it, and its goal."""

from dataclasses import dataclass
from pathlib import Path

from benchmarks.batch import measures
from benchmarks.batch.dice import beside_dice
from benchmarks.batch.measures import Made, Measure
from benchmarks.batch.problems import Problem, heart_frame, problem
from benchmarks.nearest.plans import NAMES
from sklearn.ensemble import RandomForestClassifier
from sklearn.neural_network import MLPClassifier


@dataclass(frozen=True)
class Figure:
    """One row of the table; where `relative`, the share of what the base commit takes is shown, too."""

    title: str
    measure: Measure
    goal: str
    queries: int
    relative: bool = False
    at_base: bool = True


def _case(name: str) -> Made:
    return lambda folder: problem(name, folder)


def _network(folder: Path | None) -> Problem:
    del folder
    return heart_frame(MLPClassifier((64, 32), max_iter=1000, random_state=0))


def _forest(folder: Path | None) -> Problem:
    del folder
    return heart_frame(RandomForestClassifier(100, random_state=0))


def _over_model(what: str, case: str, goal: str) -> Figure:
    title = f"total CPU over CPU inside the model, {what}: labels / scores"
    return Figure(title, measures.over_model(case), goal, queries=1000)


def _calls(what: str, made: Made, goal: str) -> Figure:
    title = f"model calls one after the other for one query, {what}: labels / scores"
    return Figure(title, measures.calls_alone(made), goal, queries=20)


def _rows(what: str, case: str) -> Figure:
    title = f"model rows a query, {what}: labels / scores"
    return Figure(title, measures.rows_a_query(case), "900 / 310", queries=100)


def _alone(what: str, made: Made) -> Figure:
    title = f"CPU seconds of one query, {what}: labels / scores"
    return Figure(title, measures.seconds_alone(made), "0.15", queries=10)


def _itself(what: str, made: Made) -> Figure:
    title = f"CPU seconds of one query, {what}, the pipeline given itself"
    return Figure(title, measures.seconds_itself(made), "0.15", queries=10)


def _itself_over_model(what: str, made: Made) -> Figure:
    title = f"total CPU over what the pipeline takes for the same rows, {what}, the pipeline given itself"
    return Figure(title, measures.itself_over_model(made), "1", queries=200)


def _beside_dice(case: str) -> Figure:
    title = f"CPU a query over that of DiCE's fastest, {case}: labels / scores / the model itself"
    return Figure(title, beside_dice(case), "0.1", queries=100, at_base=False)


FIGURES: dict[str, Figure] = {
    "mlp-20": _over_model("MLP, 20 columns", "synthetic-20-mlp", "2.0 / 2.5"),
    "mlp-50": _over_model("MLP, 50 columns", "synthetic-50-mlp", "2.0 / 2.5"),
    "svm": _over_model("RBF SVM, 30 columns", "cancer-svm", "1.3"),
    "forest": _over_model("forest, 30 columns", "cancer-forest", "1.3"),
    "histgb": _over_model("HistGradientBoosting, 30 columns", "cancer-histgb", "1.3"),
    "heart": _over_model("heart frame, encoders and logistic regression", "heart-mixed", "1.5"),
    "adult-mlp": _over_model("Adult frame, encoders and MLP", "adult-mlp", "1.5"),
    "adult-forest": _over_model("Adult frame, encoders and forest", "adult-forest", "1.5"),
    "logistic": Figure(
        "CPU ms a query, logistic regression behind a function, 20 columns: labels / scores",
        measures.cpu_a_query("synthetic-20-logistic"),
        "1/12 / 1/8 of it",
        queries=1000,
        relative=True,
    ),
    "calls-logistic": _calls("logistic regression, 20 columns", _case("synthetic-20-logistic"), "40 / 15"),
    "calls-mlp": _calls("MLP, 20 columns", _case("synthetic-20-mlp"), "40 / 15"),
    "calls-heart": _calls("heart frame, encoders and MLP", _network, "40"),
    "calls-adult": _calls("Adult frame, encoders and MLP", _case("adult-mlp"), "40"),
    "one-heart": _alone("heart frame, encoders and MLP", _network),
    "one-adult": _alone("Adult frame, encoders and MLP", _case("adult-mlp")),
    "itself-heart": _itself("heart frame, encoders and MLP", _network),
    "itself-adult": _itself("Adult frame, encoders and MLP", _case("adult-mlp")),
    "itself-heart-batch": _itself_over_model("heart frame, encoders and MLP", _network),
    "itself-adult-batch": _itself_over_model("Adult frame, encoders and MLP", _case("adult-mlp")),
    "cohort": Figure(
        "a cohort, MLP, 20 columns, scores: CPU seconds / peak memory in GB",
        measures.large_cohort("synthetic-20-mlp"),
        "10 / 1",
        queries=10_000,
    ),
    "rows-logistic": _rows("logistic regression, 20 columns", "synthetic-20-logistic"),
    "rows-mlp": _rows("MLP, 20 columns", "synthetic-20-mlp"),
    "why-not-network": Figure(
        "CPU seconds of `why_not`, heart frame, MLP", measures.why_not(_network), "2", queries=3
    ),
    "why-not-forest": Figure(
        "CPU seconds of `why_not`, heart frame, forest", measures.why_not(_forest), "2", queries=3
    ),
    "report": Figure(
        "CPU seconds of the report of a bounded query, heart frame, MLP",
        measures.report(_network),
        "4",
        queries=3,
    ),
    "demo": Figure("CPU seconds of `ssba demo`", measures.demo, "8", queries=1),
    "remote": Figure(
        "requests to a remote forest for one query, heart frame: labels / scores",
        measures.remote_calls,
        '40 / 25 with `calls="few"`',
        queries=20,
    ),
    **{f"dice-{name}": _beside_dice(name) for name in NAMES},
}
"""All figures by the name that --only takes, in the order of the table."""
