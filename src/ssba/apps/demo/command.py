"""`ssba demo`: a model of heart disease, and what would have to change for it to answer otherwise."""

from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

import ssba
from ssba.apps.demo.pictures import draw_changes, draw_map
from ssba.apps.demo.study import DISEASE, HEALTHY, LEVERS, PAIN_RULE, PLANE, Study, train_model
from ssba.apps.tables import plain_table
from ssba.results import Counterfactual, Explanation, Explanations
from ssba.results.words import show
from ssba.views.charts import plan_chart

REPORT, COHORT = "report.html", "patients.html"
MAP, CHANGES, PLAN = "decision.png", "changes.svg", "plan.svg"

# Enough to see whether two columns alone turn an answer; with more, those that they do not turn take longest.
PICTURE_ROWS = 200

Answers = Mapping[int, Explanation]


def demo(
    out: Annotated[
        Path,
        typer.Option(help="Folder for the reports and pictures; made where there is none.", file_okay=False),
    ] = Path("demo"),
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
    answers = explain_all(study, study.at_risk.index)
    print_overview(console, answers)
    patient = choose_patient(study, answers) if patient is None else patient
    answer = print_answer(console, study, patient, answers)
    if misses := [one for one, other in answers.items() if other.status == "bounded" and one != patient]:
        print_answer(console, study, nearest_miss(study, {one: answers[one] for one in misses}), answers)
    pictures = draw_pictures(console, study, patient, answer, out)
    write_reports(
        console,
        study,
        answer,
        answers,
        {"title": describe_patient(study, patient), "pictures": pictures},
        out,
    )
    console.print("This explains the model. It is not causal, and it is not medical advice.\n", style="bold")
    console.print(f"Data: {study.heart.attribution}.")


def check_patient(study: Study, patient: int) -> None:
    """Refuse a patient whom the model was trained on, or who is not in the data."""
    if patient in study.held_out.index:
        return
    known = "was in the training rows" if patient in study.train.index else "is not in the data"
    listed = ", ".join(map(str, sorted(study.at_risk.index)))
    raise ssba.errors.ArgumentError(
        f"--patient {patient} {known}; held-out patients whom the model takes for ill: {listed}"
    )


def explain_all(study: Study, patients: Iterable[int]) -> Answers:
    """Explain some held-out patients, by row of the data."""
    rows = study.held_out.loc[list(patients)]
    return dict(zip(rows.index, study.explainer.explain_many(rows, study.rules), strict=True))


def choose_patient(study: Study, answers: Answers) -> int:
    """The surest case of disease that can be turned, if possible also by the picture's two columns alone."""
    turned = [patient for patient, answer in answers.items() if answer.best is not None] or list(answers)
    rows = study.held_out.loc[turned]
    in_picture = study.explainer.explain_many(
        rows, study.picture_rules, budget=ssba.Budget(rows=PICTURE_ROWS)
    )
    is_turned = dict(zip(turned, (answer.best is not None for answer in in_picture), strict=True))

    def rank(patient: int) -> tuple[bool, bool, float]:
        return not is_turned[patient], study.truth[patient] != DISEASE, answers[patient].score or 0.0

    return min(turned, key=rank)


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


def print_answer(console: Console, study: Study, patient: int, answers: Answers) -> Explanation:
    """Show what would turn one patient's answer step by step, or what is in the way where nothing does.

    Patients whom the model takes for ill are among the `answers`: these are the same alone and among others.
    """
    if patient not in answers:
        answers = explain_all(study, [patient])
    answer = answers[patient]
    proposed = answer.best or answer.bounded
    outcome = {"found": ": the nearest change", "bounded": ": only a bounded move"}.get(answer.status, "")
    console.print(f"{describe_patient(study, patient)}{outcome}", style="bold")
    if proposed is not None:
        console.print()
        console.print(change_table(study, answer, proposed))
    console.print(f"\n{verdict(answer)}")
    console.print(f"It took {answer.rows_used:,} model rows and {answer.seconds:.2f} seconds.\n")
    if answer.best is not None:
        print_plan(console, study, answer)
    elif answer.bounded is not None:
        print_why_not(console, study, answer)
    return answer


def print_plan(console: Console, study: Study, answer: Explanation) -> None:
    """Show an answer as steps with the model's word after each, and as ranges instead of single values."""
    plan, ranges = study.explainer.plan(answer), study.explainer.ranges(answer)
    console.print("As a plan, the step that helps most first:\n")
    table = plain_table("step", "change", f"probability of {HEALTHY}")
    table.add_row("", "as it is", f"{plan.score:.1%}" if plan.score is not None else "")
    for number, step in enumerate(plan.steps, start=1):
        changes = ", ".join(
            f"{name} from {show(now)} to {show(then, answer.units.get(name))}"
            for name, (now, then) in step.changes.items()
        )
        chance = f"{step.score_after:.1%}" if step.score_after is not None else ""
        table.add_row(str(number), changes, f"{chance}, {step.prediction}")
    console.print(table)
    console.print(f"\nAs ranges: {ranges.sentence}\n")


def print_why_not(console: Console, study: Study, answer: Explanation) -> None:
    """Show which rules are in the way, and small relaxations that turn the answer."""
    console.print(f"Why not, and what to relax: {study.explainer.why_not(answer).sentence}\n")


def verdict(answer: Explanation) -> str:
    """The answer's own sentence; for a bounded move a shorter one, as the rules stand above it."""
    if answer.bounded is None or answer.bounded.distance_to_boundary is None:
        return answer.sentence
    return (
        "No change within the rules was found that flips this decision. This one comes nearest to the "
        f"boundary: {answer.bounded.distance_to_boundary:.2f} is left to go, where 1 is one standard "
        "deviation or one category. To get further, relax a rule."
    )


def describe_patient(study: Study, patient: int) -> str:
    """Name a patient as a clinician would, and say what is known."""
    row = study.held_out.loc[patient]
    return f"Patient {patient} ({row['sex']}, {row['age']} years, diagnosis {study.truth[patient]})"


def change_table(study: Study, answer: Explanation, proposed: Counterfactual) -> Table:
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


def draw_pictures(
    console: Console, study: Study, patient: int, answer: Explanation, folder: Path
) -> dict[str, bytes]:
    """Write the pictures and return the map with its caption; without matplotlib, say how to get the map."""
    columns = " and ".join(PLANE)
    written, maps = [], {}
    if find_spec("matplotlib") is None:
        console.print("The map was skipped: it needs matplotlib, pip install 'ssba[plot]'.\n")
    else:
        drawn = draw_map(study, patient)
        (folder / MAP).write_bytes(drawn)
        written.append(f"{folder / MAP}, where only {columns} may change")
        maps[f"The model's answer where only {columns} may change"] = drawn
    if answer.best is not None or answer.bounded is not None:
        written.append(str(draw_changes(study, answer).save(folder / CHANGES)))
        # A bounded move may be to stay, and then there is no step.
        if (plan := study.explainer.plan(answer)).steps:
            written.append(str(plan_chart(plan).save(folder / PLAN)))
    if written:
        console.print(f"Pictures: {'; '.join(written)}.\n")
    return maps


def write_reports(
    console: Console,
    study: Study,
    answer: Explanation,
    answers: Answers,
    shown: Mapping[str, Any],
    folder: Path,
) -> None:
    """Write a page about one patient, and one about all whom the model takes for ill."""
    study.explainer.report(answer, folder / REPORT, meanings=study.meanings, **shown)
    everyone = Explanations(tuple(answers.values()))
    study.explainer.report(
        everyone, folder / COHORT, meanings=study.meanings, title="Patients whom the model takes for ill"
    )
    console.print(f"Reports: {folder / REPORT} about this patient, {folder / COHORT} about all of them.\n")
