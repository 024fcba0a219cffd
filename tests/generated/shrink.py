"""Making a failing world smaller, one part at a time, as long as the same statement still fails."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from tests.generated.functions import HalfSpaces, OutsideBall, Rugged, Shape
from tests.generated.models import Fitted, Model
from tests.generated.running import run
from tests.generated.worlds import Measure, Options, World

_ROUNDS = 4


def shrink(world: World, statement: str) -> World:
    """Return a smaller world in which the same statement fails."""
    for _ in range(_ROUNDS):
        before = world
        for smaller in _smaller(world):
            kept = smaller(world)
            if kept is not None and _fails(kept, statement):
                world = kept
        if world is before:
            break
    return world


def _fails(world: World, statement: str) -> bool:
    try:
        return statement in run(world).failed
    except Exception:
        # A part was dropped that the world cannot do without.
        return False


class _Step:
    """One thing to leave out."""

    def __init__(self, kind: str, value: object) -> None:
        self.kind, self.value = kind, value

    def __call__(self, world: World) -> World | None:
        match self.kind, self.value:
            case "rule", str(text):
                rest = tuple(rule for rule in world.rules if rule.text != text)
                return world.with_rules(rest) if len(rest) < len(world.rules) else None
            case "option", str(name):
                usual = getattr(Options(), name)
                if getattr(world.options, name) == usual:
                    return None
                return replace(world, options=replace(world.options, **{name: usual}))
            case "measure", Measure() as measure:
                return replace(world, measure=measure)
            case "extra", str(extra):
                return replace(world, extras=world.extras - {extra}) if extra in world.extras else None
            case "column", str(name):
                return without_column(world, name)
            case "half", int(half):
                return _with_rows(world, half)
        return None


def _smaller(world: World) -> Iterator[_Step]:
    for extra in sorted(world.extras):
        yield _Step("extra", extra)
    for rule in world.rules:
        yield _Step("rule", rule.text)
    for name in Options.__dataclass_fields__:
        yield _Step("option", name)
    yield _Step("measure", Measure(world.measure.norm, "none"))
    yield _Step("measure", Measure("l2", "none"))
    for name in world.names:
        yield _Step("column", name)
    for half in range(6):
        yield _Step("half", half)


def _with_rows(world: World, half: int) -> World | None:
    """Leave out every other background row, or one half of them."""
    count = len(world.data)
    if count < 6:
        return None
    parts = [np.arange(count) % 2 == 0, np.arange(count) % 2 == 1, np.arange(count) < count // 2]
    kept = parts[half % 3]
    model = world.model
    if isinstance(model, Fitted):
        model = replace(model, y=model.y[kept])
    return replace(world, data=world.data[kept], model=model)


def without_column(world: World, name: str) -> World | None:
    """Leave out a column that no rule speaks about, where the model can do without."""
    if len(world.columns) < 2 or any(name in rule.names for rule in world.rules):
        return None
    j = world.names.index(name)
    columns = tuple(one for one in world.columns if one.name != name)
    if world.as_array:
        return None
    model = _model_without(world.model, j, columns, float(np.nan_to_num(world.query[j])))
    if model is None:
        return None
    scale = world.measure.scale
    kept = scale if isinstance(scale, str) else {one: value for one, value in scale.items() if one != name}
    weights = {one: value for one, value in world.measure.weights.items() if one != name}
    return replace(
        world,
        columns=columns,
        data=np.delete(world.data, j, axis=1),
        query=np.delete(world.query, j),
        others=None if world.others is None else np.delete(world.others, j, axis=1),
        measure=Measure(world.measure.norm, kept, weights),
        model=model,
    )


def _model_without(model: Model, j: int, columns: tuple[object, ...], cell: float) -> Model | None:
    """Return the model with the query's cell in a column's place; a fitted one is fitted without it."""
    if isinstance(model, Fitted):
        if model.weights or hasattr(model.estimator, "steps"):
            return None
        return model
    return replace(model, columns=columns, shape=_shape_without(model.shape, j, cell))  # type: ignore[arg-type]


def _shape_without(shape: Shape, j: int, cell: float) -> Shape:
    def rest(numbers: tuple[float, ...]) -> tuple[float, ...]:
        return numbers[:j] + numbers[j + 1 :]

    match shape:
        case HalfSpaces(weights, thresholds, how):
            moved = tuple(t - own[j] * cell for own, t in zip(weights, thresholds, strict=True))
            return HalfSpaces(tuple(rest(own) for own in weights), moved, how)
        case OutsideBall(center, units, radius):
            return OutsideBall(rest(center), rest(units), radius)
        case Rugged(salt, share, slope):
            return Rugged(salt, share + (slope[j] * cell if slope else 0.0), rest(slope))
