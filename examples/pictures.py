"""Draw the pictures of docs/views.md: charts of heart patients, and the paper's two-dimensional figures.

Run it from the root of the repository: `python -m examples.pictures [FOLDER]`. The report is photographed
where Debian's chromium and the package playwright are installed.
"""

import shutil
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

import ssba
from ssba.views.charts import (
    Axis,
    DataContext,
    DecisionMap,
    Picture,
    change_chart,
    decision_map,
    distance_chart,
    distances_by_prediction,
    frequency_chart,
    line_chart,
    parallel_chart,
    plan_chart,
)
from ssba.views.report.page import ReportParts, write_report

MAY_MOVE = ("trestbps", "chol", "thalach", "oldpeak", "exang")
"""What treatment or training may change; the other columns are held."""


def rules(heart: ssba.datasets.Heart) -> list[ssba.Constraint]:
    held = [ssba.fixed(name) for name in heart.columns if name not in MAY_MOVE]
    texts = ["trestbps <= x.trestbps", "trestbps within 20%", "chol <= x.chol", "chol within 20%"]
    texts += ["thalach >= x.thalach", "thalach within 10%", "oldpeak <= x.oldpeak", "exang: 'yes' -> {'no'}"]
    return [*held, *map(ssba.constraint, texts)]


def allowed(query: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """What the rules leave of each column, for one patient."""
    now = {name: query[name] for name in MAY_MOVE}
    return {
        "trestbps": (0.8 * now["trestbps"], now["trestbps"]),
        "chol": (0.8 * now["chol"], now["chol"]),
        "thalach": (now["thalach"], 1.1 * now["thalach"]),
        "oldpeak": (0, now["oldpeak"]),
        "exang": ("no", now["exang"]),
    }


def heart_model(heart: ssba.datasets.Heart, rows: pd.DataFrame, diagnosis: Any) -> Any:
    texts = [name for name, column in heart.columns.items() if column.kind == "categorical"]
    numbers = [name for name in heart.columns if name not in texts]
    levels = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
    scaled = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    columns = make_column_transformer((levels, texts), (scaled, numbers))
    network = MLPClassifier((16,), alpha=1.0, max_iter=2000, random_state=0)
    return make_pipeline(columns, network).fit(rows, diagnosis)


@dataclass(frozen=True)
class Clinic:
    """The heart data in two parts, a model of the first, and an explainer around it."""

    heart: ssba.datasets.Heart
    train: pd.DataFrame
    others: pd.DataFrame
    model: Any
    explainer: ssba.Explainer

    @property
    def meanings(self) -> dict[str, str]:
        return {name: column.meaning for name, column in self.heart.columns.items()}


def open_clinic() -> Clinic:
    heart = ssba.datasets.load_heart()
    train, others, diagnosis, _ = train_test_split(
        heart.frame, heart.target, test_size=0.25, random_state=0, stratify=heart.target
    )
    model = heart_model(heart, train, diagnosis)
    features = {name: declared(one) for name, one in heart.columns.items() if one.kind != "categorical"}
    explainer = ssba.Explainer(model, train, "no disease", features=features, distance="l1")
    return Clinic(heart, train, others, model, explainer)


def declared(column: Any) -> Any:
    if column.kind == "integer":
        return ssba.integer(unit=column.unit)
    return ssba.numeric(step=0.1, unit=column.unit)


def draw_heart(folder: Path) -> None:
    clinic = open_clinic()
    ill = clinic.others[clinic.model.predict(clinic.others) == "disease"]
    answers = clinic.explainer.explain_many(ill, rules(clinic.heart), k=3, diversity="levers")
    # Whose answers use most columns shows most.
    columns = [sum(len(row.changes) for row in one.counterfactuals) for one in answers]
    draw_patient(folder, clinic, ill.iloc[int(np.argmax(columns))])
    chart = frequency_chart(answers.cohort(), meanings=clinic.meanings, title="What the answers change")
    save(chart, folder / "cohort.svg")
    anywhere = ssba.Explainer(clinic.model, clinic.train, distance="l1").explain_many(clinic.others)
    chart = distance_chart(distances_by_prediction(anywhere), title="How near the decision is to turning")
    save(chart, folder / "distances.svg")


def draw_patient(folder: Path, clinic: Clinic, row: "pd.Series[Any]") -> None:
    explanation = clinic.explainer.explain(row, rules(clinic.heart), k=3, diversity="levers")
    around = DataContext(clinic.train, allowed(explanation.query), clinic.meanings)
    title = f"Patient {row.name}"
    save(change_chart(explanation, around, title=title), folder / "changes.svg")
    save(parallel_chart(explanation, around, title=f"{title}: several answers"), folder / "answers.png")
    plan = clinic.explainer.plan(explanation)
    save(plan_chart(plan, title=f"{title}: step by step"), folder / "plan.svg")
    well = clinic.others[clinic.model.predict(clinic.others) == "no disease"].iloc[0]
    line = clinic.explainer.scan_line(row, well)
    save(line_chart(line, title=f"From patient {row.name} to patient {well.name}"), folder / "line.png")
    levers = clinic.explainer.levers(explanation, max_columns=2)
    parts = ReportParts(plan=plan, ranges=clinic.explainer.ranges(explanation), levers=levers, data=around)
    with TemporaryDirectory() as apart:
        photograph(write_report(Path(apart) / "report.html", explanation, parts, title=title), folder)


def draw_plane(folder: Path) -> None:
    """The paper's figures: a query, its box of allowed values, the boundary, and how far others are."""
    rng = np.random.default_rng(3)
    ill, well = rng.normal([8, 16], 2.2, (10, 2)), rng.normal([16, 9], 2.2, (10, 2))
    rows = pd.DataFrame(np.vstack([ill, well]), columns=["x1", "x2"])
    model = SVC(gamma=0.05).fit(rows, ["unhealthy"] * 10 + ["healthy"] * 10)
    explainer = ssba.Explainer(model, rows, "healthy", distance=ssba.Distance(scale="none"))
    boundary = np.asarray(explainer.sample_boundary(99, progress=False).points)
    query = {"x1": 11.0, "x2": 15.0}
    for percent in (10, 25):
        limits = [ssba.within(name, percent=percent) for name in query]
        explanation = explainer.explain(query, limits)
        title = f"At most {percent}% of each value: {explanation.status.value}"
        drawn = plane(model, rows, query, explanation, boundary, percent, title)
        save(decision_map(drawn), folder / f"plane-{percent}.png")


def plane(
    model: Any,
    rows: pd.DataFrame,
    query: dict[str, float],
    explanation: ssba.results.Explanation,
    boundary: Any,
    percent: float,
    title: str,
) -> DecisionMap:
    across, upward = np.linspace(3, 22, 120), np.linspace(3, 22, 120)
    pairs = pd.DataFrame(np.stack(np.meshgrid(across, upward), axis=-1).reshape(-1, 2), columns=list(query))
    move = explanation.best or explanation.bounded
    assert move is not None
    at = (move.values["x1"], move.values["x2"])
    nearest = boundary[np.argmin(np.linalg.norm(boundary - np.array(at), axis=1))]
    limits = [(now * (1 - percent / 100), now * (1 + percent / 100)) for now in query.values()]
    return DecisionMap(
        Axis("x1", across, allowed=limits[0]),
        Axis("x2", upward, allowed=limits[1]),
        reached=(model.predict(pairs) == "healthy").reshape(120, 120),
        query=(query["x1"], query["x2"]),
        outcomes=("unhealthy", "healthy"),
        answer=at,
        answer_reaches=explanation.best is not None,
        boundary=boundary,
        population=rows.to_numpy(),
        toward=None if explanation.best else (float(nearest[0]), float(nearest[1])),
        title=title,
    )


def save(chart: Picture | Axes, file: Path) -> None:
    import matplotlib.pyplot as plt

    if isinstance(chart, Picture):
        chart.save(file)
    else:
        assert isinstance(chart.figure, Figure)
        chart.figure.savefig(file, dpi=90)
        plt.close(chart.figure)
    print(file)


def photograph(file: Path, folder: Path) -> None:
    """Take a picture of the top of a page, light and dark, where there is a browser."""
    chromium = shutil.which("chromium")
    if chromium is None or find_spec("playwright") is None:
        print("no picture of the page: it needs Debian's chromium and the package playwright")
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for scheme in ("light", "dark"):
            page = browser.new_page(viewport={"width": 980, "height": 1150}, color_scheme=scheme)
            page.goto(file.resolve().as_uri())
            page.screenshot(path=folder / f"report-{scheme}.png")
            print(folder / f"report-{scheme}.png")
        browser.close()


def main(folder: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    folder.mkdir(parents=True, exist_ok=True)
    draw_plane(folder)
    draw_heart(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/pictures"))
