"""`world(seed)`: a random world, the same for the same seed."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, get_args

import numpy as np
from tests.generated.columns import Column, Matrix
from tests.generated.draw_columns import (
    Rng,
    Taste,
    as_shown,
    declared_bounds,
    draw_columns,
    draw_data,
    draw_measure,
    draw_query,
    pick,
)
from tests.generated.draw_models import draw_fitted, draw_function
from tests.generated.draw_rules import Drawer
from tests.generated.functions import Function
from tests.generated.models import Judge, Model, Target
from tests.generated.worlds import FAMILIES, USUAL_ROWS, Extra, Family, Options, World

_SHARES: dict[Family, float] = {
    "table": 0.28, "tree": 0.12, "forest": 0.06, "boosting": 0.06, "linear": 0.26, "function": 0.22
}  # fmt: skip
_TRIES = 40


def world(seed: int, families: Sequence[Family] = FAMILIES) -> World:
    """Return the world of a seed, of one of some families."""
    for attempt in range(_TRIES):
        rng = np.random.default_rng([seed, attempt])
        shares = np.array([_SHARES[one] for one in families])
        family = families[int(rng.choice(len(families), p=shares / shares.sum()))]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = _world(rng, seed, family)
        if found is not None:
            return found
    raise RuntimeError(f"seed {seed}: no world in {_TRIES} tries")


def _world(rng: Rng, seed: int, family: Family) -> World | None:
    """Return a world, or None where the model does not tell the background rows apart."""
    taste: Taste = _taste(rng, family)
    as_array = bool(rng.random() < 0.15)
    count = int(rng.integers(2, 5 if taste == "small" or family in ("forest", "boosting") else 6))
    columns = draw_columns(rng, taste, count, as_array)
    data = draw_data(rng, columns, taste)
    columns = as_shown(declared_bounds(rng, columns, data), data)
    model: Model
    if family in ("table", "function"):
        model = draw_function(rng, columns, data, family)
        numbers = model.mode == "number"
    else:
        model, numbers = draw_fitted(rng, columns, data, as_array, family)
    bare = World(
        seed, family, columns, data, as_array, draw_measure(rng, columns), model, Target("other"), data[0]
    )
    target = _target(rng, bare, numbers)
    if target is None:
        return None
    reached = replace(bare, target=target).judge.reaches(data) if target.kind != "other" else _usual(bare)
    # Rows with missing cells are no background rows: the others alone have to show both sides.
    shown = reached[~np.isnan(data).any(axis=1)]
    if reached.all() or reached.sum() < 4 or not shown.any():
        return None
    return _asked(rng, replace(bare, target=target), reached, taste)


def _taste(rng: Rng, family: Family) -> Taste:
    if family == "table":
        return "small"
    tastes: tuple[Taste, ...] = ("smooth", "numbers", "mixed", "small")
    shares = [0.45, 0.2, 0.2, 0.15] if family == "function" else [0.15, 0.15, 0.35, 0.35]
    return tastes[int(rng.choice(4, p=shares))]


def _usual(bare: World) -> Any:
    """Where any other class will do: the rows that are not of the most frequent class."""
    labels = bare.judge.labels(bare.data)
    kinds, counts = np.unique(labels, return_counts=True)
    return np.asarray(labels != kinds[counts.argmax()])


def _target(rng: Rng, bare: World, numbers: bool) -> Target | None:
    if numbers:
        values = replace(bare, target=Target("number")).judge.scores(bare.data)
        assert values is not None
        low, high = sorted(np.quantile(values, rng.uniform(0.5, 1.0, 2)).round(3).tolist())
        wide = rng.random() < 0.6 or low == high
        return Target("number", low=low) if wide else Target("number", low=low, high=high)
    labels = bare.judge.labels(bare.data)
    kinds = np.unique(labels)
    if len(kinds) < 2:
        return None
    label = kinds[int(rng.integers(len(kinds)))].item()
    if rng.random() < 0.15:
        return Target("other")
    if rng.random() < 0.15 and _gives_probabilities(bare.judge):
        return Target("probability", label, at_least=float(rng.choice([0.3, 0.5, 0.6, 0.7])))
    return Target("class", label)


def _gives_probabilities(judge: Judge) -> bool:
    if isinstance(judge.model, Function):
        return judge.model.mode == "probability"
    return hasattr(judge.model, "predict_proba")


def _asked(rng: Rng, bare: World, reached: Any, taste: Taste) -> World:
    misses = bare.data[~reached]
    start = bare.data[int(rng.integers(len(bare.data)))] if rng.random() < 0.1 else rng.choice(misses)
    query = draw_query(rng, bare.columns, bare.data, start)
    drawer = Drawer(rng, bare.columns, bare.data, query)
    # Where all is smooth, rules that are planes leave a nearest row that can be computed.
    rules = drawer.planes(3) if taste == "smooth" else drawer.rules(4)
    different = len(np.unique(bare.data[reached], axis=0))
    options = _options(rng, replace(bare, query=query), different)
    others = np.stack([rng.choice(misses) for _ in range(2)])
    return replace(
        bare,
        query=query,
        rules=rules,
        options=options,
        others=_within_bounds(bare.columns, others),
        extras=_extras(rng),
    )


def _within_bounds(columns: tuple[Column, ...], Z: Matrix) -> Matrix | None:
    """Return further queries, or None where some cell of theirs is outside the declared bounds."""
    inside = [((Z[:, j] >= one.limits()[0]) & (Z[:, j] <= one.limits()[1])) for j, one in enumerate(columns)]
    return Z if (np.stack(inside) | np.isnan(Z.T)).all() else None


def _options(rng: Rng, asked: World, reaching: int) -> Options:
    trees = asked.family in ("tree", "forest", "boosting")
    proves = bool(trees and rng.random() < 0.8) or bool(rng.random() < 0.05)
    thoroughly = proves and asked.seed % 2 == 1
    options = Options(prove=thoroughly or ("auto" if proves or not trees else False))
    kind = pick(
        rng, ("plain", 8), ("k", 1.5), ("sparse", 1.5), ("levers", 1), ("few", 1.5), ("plausible", 1),
        ("ball", 1), ("margin", 1), ("both", 1),
    )  # fmt: skip
    complete = not np.isnan(asked.data).any() and reaching >= 8
    match kind:
        case "k":
            k = int(rng.integers(2, 4))
            options = replace(options, k=k, diversity="columns" if k == 3 else "distance")
        case "sparse":
            options = replace(options, sparsity="balanced" if rng.random() < 0.5 else "strong")
        case "levers":
            options = replace(options, k=2, diversity="levers")
        case "few":
            options = replace(options, max_changes=int(rng.integers(1, 3)))
        case "plausible" if complete:
            options = replace(options, plausible=True)
        case "ball":
            options = replace(options, ball=float(rng.choice([0.05, 0.2, 0.5])))
        case "margin" if asked.judge.scores(asked.data[:1]) is not None:
            options = replace(options, score_margin=float(rng.choice([0.01, 0.1])))
        case "both":
            options = replace(
                options, max_changes=2, k=2, sparsity="balanced" if rng.random() < 0.5 else "none"
            )
    if rng.random() < 0.15:
        options = replace(options, evidence=int(rng.choice([0, 10, 500])))
    if rng.random() < 0.15:
        options = replace(options, rows=int(rng.choice([1, 5, 30, 100, 500])))
    elif asked.family != "table" and rng.random() < 0.8:
        # A model behind a pipeline takes milliseconds a call, and many ways to obey rules take many calls.
        options = replace(options, rows=USUAL_ROWS)
    if rng.random() < 0.05:
        options = replace(options, seconds=float(rng.choice([0.05, 0.3])))
    return options


def _extras(rng: Rng) -> frozenset[Extra]:
    """Return which further checks this world gets; each takes some more queries."""
    shares: dict[Extra, float] = dict.fromkeys(get_args(Extra), 0.1)
    shares |= {"budgets": 0.15, "certificate": 0.15, "batch": 0.08, "ranges": 0.08}
    return frozenset(name for name, share in shares.items() if rng.random() < share)
