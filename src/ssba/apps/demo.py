"""`ssba demo`: a model of heart disease, and what would have to change for it to answer otherwise."""

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import typer
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.table import Table

import ssba
from ssba.answer.plots import Axis, DecisionMap, Point, decision_map
from ssba.answer.text import show

if TYPE_CHECKING:
    import pandas as pd

DISEASE, HEALTHY = "disease", "no disease"
PICTURE = "ssba-demo.png"


@dataclass(frozen=True)
class Lever:
    """A number that treatment or training may move: one way only, by at most a share of today's value."""

    column: str
    way: Literal["up", "down"]
    percent: float

    @property
    def rule(self) -> str:
        """The constraints in words."""
        return f"only {self.way}" if self.percent >= 100 else f"only {self.way}, at most {self.percent:g}%"

    @property
    def constraints(self) -> tuple[ssba.Constraint, ...]:
        """The constraints as the library takes them."""
        one_way = ssba.increase if self.way == "up" else ssba.decrease
        return one_way(self.column), ssba.within(self.column, percent=self.percent)

    def allowed(self, now: float) -> Point:
        """The interval in which the constraints leave a value that is `now`."""
        most = now * self.percent / 100
        return (now, now + most) if self.way == "up" else (now - most, now)


LEVERS = {
    "trestbps": Lever("trestbps", "down", 20),
    "chol": Lever("chol", "down", 20),
    "thalach": Lever("thalach", "up", 10),
    "oldpeak": Lever("oldpeak", "down", 100),
}
PAIN = ssba.transition("exang", {"yes": ["no"]})
PAIN_RULE = "only from yes to no"

PLANE = ("thalach", "oldpeak")
"""The two columns of the picture: across and upward."""


@dataclass(frozen=True)
class Study:
    """The heart data split in two, a model trained on one part, and an explainer around the model."""

    heart: ssba.datasets.Heart
    train: "pd.DataFrame"
    held_out: "pd.DataFrame"
    truth: "pd.Series[str]"
    model: Any
    explainer: ssba.Explainer
    seed: int

    @cached_property
    def predicted(self) -> NDArray[Any]:
        """What the model says about the held-out patients."""
        return np.asarray(self.model.predict(self.held_out))

    @property
    def at_risk(self) -> "pd.DataFrame":
        """The held-out patients whom the model takes for ill."""
        rows: pd.DataFrame = self.held_out[self.predicted == DISEASE]
        return rows

    def fixed_but(self, *levers: str) -> list[ssba.Constraint]:
        """Hold every column but some."""
        return [ssba.fixed(column) for column in self.heart.columns if column not in levers]

    @property
    def rules(self) -> list[ssba.Constraint]:
        """What every answer must respect: facts and findings are held, the rest moves one way."""
        moving = [constraint for lever in LEVERS.values() for constraint in lever.constraints]
        return [*self.fixed_but("exang", *LEVERS), *moving, PAIN]

    @property
    def picture_rules(self) -> list[ssba.Constraint]:
        """The rules, with all but the two columns of the picture held."""
        moving = [constraint for name in PLANE for constraint in LEVERS[name].constraints]
        return [*self.fixed_but(*PLANE), *moving]


Answers = Mapping[int, ssba.Explanation]


def demo(
    out: Annotated[
        Path, typer.Option(help="Folder for the picture; made where there is none.", file_okay=False)
    ] = Path("."),
    seed: Annotated[int, typer.Option(min=0, help="Seed of the split, the model and the search.")] = 0,
    patient: Annotated[
        int | None, typer.Option(help="A held-out patient, by row of the data; one is chosen by default.")
    ] = None,
) -> None:
    """Train a model on heart patients, and ask what would turn its answer for two of them."""
    # Rich leaves out colours, and takes 80 columns, where the output is piped.
    console = Console(highlight=False, markup=False)
    out.mkdir(parents=True, exist_ok=True)
    study = train_model(seed)
    if patient is not None:
        check_patient(study, patient)
    print_study(console, study)
    answers = explain_all(study, study.at_risk.index, study.rules)
    print_overview(console, answers)
    patient = choose_patient(study, answers) if patient is None else patient
    print_answer(console, study, patient)
    if misses := [one for one, answer in answers.items() if answer.status == "bounded" and one != patient]:
        print_answer(console, study, nearest_miss(study, {one: answers[one] for one in misses}))
    draw_picture(console, study, patient, out)
    console.print("This explains the model. It is not causal, and it is not medical advice.\n", style="bold")
    console.print(f"Data: {study.heart.attribution}.")


def train_model(seed: int) -> Study:
    """Train a small neural network on three quarters of the patients."""
    from sklearn.model_selection import train_test_split

    heart = ssba.datasets.load_heart()
    train, held_out, diagnosis, truth = train_test_split(
        heart.frame, heart.target, test_size=0.25, random_state=seed, stratify=heart.target
    )
    model = untrained_model(heart, seed).fit(train, diagnosis)
    features = {name: declare(heart, name) for name in heart.columns}
    # With l1 a few columns change; with l2 all of them would, a little.
    explainer = ssba.Explainer(model, train, HEALTHY, features=features, distance="l1", seed=seed)
    return Study(heart, train, held_out, truth, model, explainer, seed)


def untrained_model(heart: ssba.datasets.Heart, seed: int) -> Any:
    """A pipeline that takes the raw columns, text and gaps included."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    texts = [name for name, column in heart.columns.items() if column.kind == "categorical"]
    numbers = [name for name in heart.columns if name not in texts]
    one_hot = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
    scaled = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    return make_pipeline(
        make_column_transformer((one_hot, texts), (scaled, numbers)),
        MLPClassifier(hidden_layer_sizes=(16,), alpha=1.0, max_iter=2000, random_state=seed),
    )


def declare(heart: ssba.datasets.Heart, name: str) -> Any:
    """Tell the library what a column is, and to propose no number beyond those of the 303 patients."""
    column = heart.columns[name]
    if column.kind == "categorical":
        return ssba.categorical(column.values)
    low, high = heart.frame[name].min(), heart.frame[name].max()
    if column.kind == "integer":
        return ssba.integer(low=low, high=high, unit=column.unit)
    return ssba.numeric(step=0.1, low=low, high=high, unit=column.unit)


def check_patient(study: Study, patient: int) -> None:
    """Refuse a patient whom the model was trained on, or who is not in the data."""
    if patient in study.held_out.index:
        return
    known = "was in the training rows" if patient in study.train.index else "is not in the data"
    listed = ", ".join(map(str, sorted(study.at_risk.index)))
    raise ssba.ArgumentError(
        f"--patient {patient} {known}; held-out patients whom the model takes for ill: {listed}"
    )


def explain_all(study: Study, patients: Iterable[int], rules: list[ssba.Constraint]) -> Answers:
    """Explain some held-out patients, by row of the data."""
    rows = study.held_out.loc[list(patients)]
    return dict(zip(rows.index, study.explainer.explain_many(rows, rules), strict=True))


def choose_patient(study: Study, answers: Answers) -> int:
    """The surest case of disease that can be turned, if possible also by the picture's two columns alone."""
    turned = [patient for patient, answer in answers.items() if answer.best is not None]
    in_picture = explain_all(study, turned or answers, study.picture_rules)

    def rank(patient: int) -> tuple[bool, bool, float]:
        well = study.truth[patient] != DISEASE
        return in_picture[patient].best is None, well, answers[patient].score or 0.0

    return min(in_picture, key=rank)


def nearest_miss(study: Study, misses: Answers) -> int:
    """The patient, ill if possible, for whom a bounded move gains most."""

    def gain(patient: int) -> tuple[bool, float]:
        answer = misses[patient]
        after = answer.bounded.score if answer.bounded else None
        return study.truth[patient] == DISEASE, (after or 0.0) - (answer.score or 0.0)

    return max(misses, key=gain)


def print_study(console: Console, study: Study) -> None:
    """Say what was trained, what is asked, and which rules hold."""
    right, total = int((study.predicted == study.truth).sum()), len(study.truth)
    console.print(f"ssba {ssba.__version__}: the smallest feasible change that turns a model's answer\n")
    console.print(
        f"A small neural network, trained on {len(study.train)} heart patients, is right for {right} of "
        f"{total} others ({right / total:.0%}). It takes {len(study.at_risk)} of those for ill. "
        f"What would have to change for it to say {HEALTHY!r}?\n"
    )
    rules = {column: lever.rule for column, lever in LEVERS.items()} | {"exang": PAIN_RULE}
    table = plain_table("column", "meaning", "may change")
    for name, column in study.heart.columns.items():
        if name in rules:
            table.add_row(name, column.meaning, rules[name])
    table.add_row("the others", ", ".join(name for name in study.heart.columns if name not in rules), "no")
    console.print(table)


def print_overview(console: Console, answers: Answers) -> None:
    """Say for how many patients there is an answer."""
    turned = sum(one.best is not None for one in answers.values())
    console.print(f"\nWithin these rules the answer can be turned for {turned} of the {len(answers)}.\n")


def print_answer(console: Console, study: Study, patient: int) -> None:
    """Show what would turn one patient's answer, or the bounded move where nothing does."""
    answer = study.explainer.explain(study.held_out.loc[patient], study.rules)
    proposed = answer.best or answer.bounded
    outcome = {"found": ": the nearest change", "bounded": ": only a bounded move"}.get(answer.status, "")
    console.print(f"{describe_patient(study, patient)}{outcome}", style="bold")
    if proposed is not None:
        console.print()
        console.print(change_table(study, answer, proposed))
    console.print(f"\n{verdict(answer)}")
    console.print(f"It took {answer.rows_used:,} model rows and {answer.seconds:.2f} seconds.\n")


def verdict(answer: ssba.Explanation) -> str:
    """The answer's own sentence; for a bounded move a shorter one, as the rules stand above it."""
    if answer.bounded is None or answer.bounded.distance_to_boundary is None:
        return answer.sentence
    return (
        "No change within the rules was found that turns this answer. This one comes nearest to the decision "
        f"boundary: {answer.bounded.distance_to_boundary:.2f} is left of the way, where 1 is one standard "
        "deviation or one category. To get further, relax a rule."
    )


def describe_patient(study: Study, patient: int) -> str:
    """Name a patient as a clinician would, and say what is known."""
    row = study.held_out.loc[patient]
    return f"Patient {patient} ({row['sex']}, {row['age']} years, diagnosis {study.truth[patient]})"


def change_table(study: Study, answer: ssba.Explanation, proposed: ssba.Counterfactual) -> Table:
    """What changes, and the model's answer before and after."""
    table = plain_table("column", "meaning", "now", "proposed")
    for name, (now, then) in proposed.changes.items():
        column = study.heart.columns[name]
        table.add_row(name, column.meaning, show(now, column.unit), show(then, column.unit))
    table.add_section()
    table.add_row("", "the model's answer", str(answer.prediction), str(proposed.prediction))
    if answer.score is not None and proposed.score is not None:
        table.add_row("", f"probability of {HEALTHY}", f"{answer.score:.1%}", f"{proposed.score:.1%}")
    return table


def plain_table(*titles: str) -> Table:
    """A table with one line under its head, in which only meanings may wrap."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for title in titles:
        table.add_column(title, no_wrap=title != "meaning")
    return table


def draw_picture(console: Console, study: Study, patient: int, folder: Path) -> None:
    """Write the picture, or say how to get it."""
    if find_spec("matplotlib") is None:
        console.print("The picture was skipped: it needs matplotlib, pip install 'ssba[plot]'.\n")
        return
    from matplotlib.figure import Figure

    # A figure of its own, not pyplot's: no window system is asked for.
    figure = Figure(figsize=(8, 6.4), layout="constrained")
    decision_map(map_of(study, patient), figure.subplots())
    figure.savefig(folder / PICTURE, dpi=150)
    console.print(
        f"Picture: {folder / PICTURE} shows patient {patient} where only {' and '.join(PLANE)} may change.\n"
    )


def map_of(study: Study, patient: int) -> DecisionMap:
    """The model's decision over two columns, with the patient's other cells held."""
    plane = Plane(study.model, study.held_out.loc[[patient]])
    answer = study.explainer.explain(plane.row, study.picture_rules)
    proposed = answer.best or answer.bounded
    x, y = (axis_of(study, LEVERS[name], answer.query[name]) for name in PLANE)
    return DecisionMap(
        x,
        y,
        reached=(plane.predict(grid(x.values, y.values)) == HEALTHY).reshape(len(y.values), len(x.values)),
        query=position(answer.query),
        outcomes=(DISEASE, HEALTHY),
        answer=None if proposed is None else position(proposed.values),
        answer_reaches=answer.best is not None,
        boundary=boundary_points(study, plane, grid(spread(x.values), spread(y.values))),
        population=study.train[list(PLANE)].to_numpy(),
        title=f"Patient {patient}: the model's answer, all other findings held",
    )


@dataclass(frozen=True)
class Plane:
    """The model seen through the picture's two columns: a patient's other cells are filled in."""

    model: Any
    row: "pd.DataFrame"

    @property
    def classes_(self) -> Any:
        """The classes of the model behind."""
        return self.model.classes_

    def predict(self, pairs: "pd.DataFrame") -> NDArray[Any]:
        """What the model says about the patient with these values in the two columns."""
        rows = self.row.loc[self.row.index.repeat(len(pairs))].set_axis(pairs.index)
        return np.asarray(self.model.predict(rows.assign(**{name: pairs[name] for name in PLANE})))


def position(values: Mapping[str, Any]) -> Point:
    """Where a row lies in the picture."""
    across, upward = (values[name] for name in PLANE)
    return across, upward


def axis_of(study: Study, lever: Lever, now: float) -> Axis:
    """All legal values of a column, from the lowest to the highest patient."""
    column = study.heart.columns[lever.column]
    seen = study.heart.frame[lever.column]
    per_unit = 1 if column.kind == "integer" else 10
    # Counted in whole steps, so that 0.3 is not 0.30000000000000004.
    steps = np.arange(round(seen.min() * per_unit), round(seen.max() * per_unit) + 1)
    return Axis(column.meaning, steps / per_unit, column.unit, lever.allowed(now))


def grid(across: NDArray[Any], upward: NDArray[Any]) -> "pd.DataFrame":
    """All pairs of two columns' values, row by row of the picture."""
    import pandas as pd

    return pd.DataFrame(np.stack(np.meshgrid(across, upward), axis=-1).reshape(-1, 2), columns=list(PLANE))


def spread(values: NDArray[Any]) -> NDArray[Any]:
    """Twenty of the values, both ends among them."""
    return np.take(values, np.linspace(0, len(values) - 1, 20).astype(int))


def boundary_points(study: Study, plane: Plane, background: "pd.DataFrame") -> NDArray[Any]:
    """Points on the boundary of the model seen through two columns, so that they lie in the picture."""
    features = {name: declare(study.heart, name) for name in PLANE}
    explainer = ssba.Explainer(plane, background, HEALTHY, features=features, seed=study.seed)
    try:
        with warnings.catch_warnings():
            # Fewer pairs of rows than points is no fault here.
            warnings.simplefilter("ignore", ssba.SsbaWarning)
            return np.asarray(explainer.sample_boundary(400, progress=False).points)
    except ssba.ModelError:
        # All of the picture lies on one side.
        return np.empty((0, 2))
