"""A world as a script of its own: plain pandas, scikit-learn and ssba."""

import inspect
from dataclasses import replace
from typing import Any

from sklearn.base import BaseEstimator
from tests.generated.functions import Function
from tests.generated.models import Fitted
from tests.generated.rules import source
from tests.generated.worlds import World

import ssba


def script(world: World, statement: str = "") -> str:
    """Return code that builds the world from nothing, asks the query and prints the result."""
    told = f"seed {world.seed}, {world.family}" + (f"; not so: {statement}" if statement else "")
    lines = [
        f'"""{told}"""',
        "import numpy as np",
        "import pandas as pd",
        "import ssba",
        *_imports(world),
        "",
        *_data(world),
        *_model(world),
        *_explainer(world),
        f"query = {world.values!r}",
        f"rules = [{', '.join(source(rule) for rule in world.rules)}]",
        f"result = explainer.explain(query, rules{_options(world)})",
        "print(result)",
        "print([(one.values, one.distance) for one in result.counterfactuals])",
        "print(result.bounded, result.clash, result.evidence)",
        *_further(world, statement),
    ]
    return "\n".join(lines) + "\n"


def _further(world: World, statement: str) -> list[str]:
    """Return what else to ask where the statement is about that."""
    topic = statement.partition(":")[0]
    if topic == "budget":
        budget = "budget=ssba.Budget(rows=rows)"
        options = _options(replace(world, options=replace(world.options, rows=None)))
        return [
            "for rows in (1, 3, 10, 25, 50, 100, 200, 400, 1000, 2500):",
            f"    told = explainer.explain(query, rules{options}, {budget})",
            "    print(rows, told.status.value, told.best and told.best.distance, told.evidence.nearer_than)",
        ]
    asked = {"plan": "plan()", "ranges": "ranges()", "why_not": "why_not()", "levers": "levers(2)"}
    return [f"print(result.{asked[topic]})"] if topic in asked else []


def _imports(world: World) -> list[str]:
    """Return imports of every estimator that the model is made of."""
    if not isinstance(world.model, Fitted):
        return []
    kinds = {type(part) for part in _parts(world.model.estimator)}
    return sorted(f"from {_public(kind)} import {kind.__name__}" for kind in kinds)


def _parts(estimator: Any) -> list[Any]:
    parts = [estimator]
    for value in estimator.get_params(deep=True).values():
        if isinstance(value, BaseEstimator):
            parts.append(value)
    return parts


def _public(kind: type) -> str:
    """Return the module that users import a class from."""
    module = inspect.getmodule(kind)
    return ".".join(one for one in (module.__name__ if module else "").split(".") if not one.startswith("_"))


def _data(world: World) -> list[str]:
    if world.as_array:
        listed = repr(world.rows.tolist()).replace("nan", "np.nan")
        return [f"data = np.array({listed}, dtype={str(world.rows.dtype)!r})"]
    lines = ["data = pd.DataFrame({"]
    for j, one in enumerate(world.columns):
        cells = [one.cell(float(code)) for code in world.data[:, j]]
        lines.append(f"    {one.name!r}: pd.Series({cells!r}, dtype={one.dtype!r}),")
    return [*lines, "})"]


def _model(world: World) -> list[str]:
    if isinstance(world.model, Function):
        return world.model.source(world.as_array)
    estimator = world.model.estimator
    made = estimator.__repr__(N_CHAR_MAX=10**9) if isinstance(estimator, BaseEstimator) else repr(estimator)
    lines = [f"y = np.array({world.model.y.tolist()!r})", f"model = {' '.join(made.split())}.fit(data, y)"]
    if world.model.weights:
        weights, intercept = list(world.model.weights), world.model.intercept
        lines.append(f"model.coef_[:], model.intercept_[:] = {weights}, {intercept}")
    return lines


def _explainer(world: World) -> list[str]:
    measure = world.measure
    features = ", ".join(f"{one.name!r}: {one.source()}" for one in world.columns if one.declared)
    arguments = [
        f"target={world.target.source()}",
        f"features={{{features}}}",
        f"distance=ssba.{measure.given()!r}",
    ]
    arguments.append(f"seed={world.seed % 1000}")
    return [f"explainer = ssba.Explainer(model, data, {', '.join(arguments)})"]


def _options(world: World) -> str:
    told = []
    for name, value in world.options.given().items():
        if name == "margin":
            ball = world.options.ball
            made = f"ball({ball!r})" if ball is not None else f"score_margin({world.options.score_margin!r})"
            told.append(f"margin=ssba.{made}")
        else:
            told.append(f"{name}={'ssba.' if isinstance(value, ssba.Budget) else ''}{value!r}")
    return "".join(f", {one}" for one in told)
