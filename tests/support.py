"""What several test modules share: asking a search by hand, and the same objects on torch."""

import dataclasses
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from ssba.arrays import like
from ssba.columns.distance import Distance, Metric, Norm
from ssba.columns.features import Declaration
from ssba.columns.space import Space, build_space
from ssba.constraints.constraint import Constraint, check, constraint
from ssba.constraints.regions.compile import compile_regions
from ssba.constraints.regions.region import Region
from ssba.models.targets import Reply

Matrix = NDArray[np.float64]
Answer = TypeVar("Answer")

TORCH = torch.zeros(1, dtype=torch.float64)


def every(conditions: Iterable[Any]) -> bool:
    """Tell whether all conditions hold, of which there must be some: nothing is shown by an empty list."""
    found = [bool(one) for one in conditions]
    assert found, "there is nothing to check"
    return all(found)


def answered(search: Generator[Any, Reply, Answer], judge: Callable[[Any], Reply]) -> Answer:
    """Run a search to its end, replying to everything it asks."""
    try:
        rows = next(search)
        while True:
            rows = search.send(judge(rows))
    except StopIteration as end:
        answer: Answer = end.value
        return answer


def labels_only(reached: Callable[[Any], Any]) -> Callable[[Any], Reply]:
    return lambda rows: Reply(reached(rows), None)


def scored(margin: Callable[[Any], Any]) -> Callable[[Any], Reply]:
    return lambda rows: Reply(margin(rows) >= 0, margin(rows))


def on_torch(thing: Any) -> Any:
    """Return the same value or dataclass with every NumPy array in it as a torch tensor."""
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        fields = {field.name: getattr(thing, field.name) for field in dataclasses.fields(thing)}
        return dataclasses.replace(thing, **{name: on_torch(value) for name, value in fields.items()})
    return like(thing, TORCH) if isinstance(thing, np.ndarray) else thing


@dataclasses.dataclass(frozen=True)
class Setting:
    """A space, its encoded background rows and a metric."""

    space: Space
    Z: Matrix
    metric: Metric

    def regions(self, x: Matrix, constraints: Sequence[Constraint]) -> tuple[Region, ...]:
        for one in constraints:
            check(one, self.space.by_name)
        return compile_regions(self.space, self.metric, x, constraints)

    def region(self, query: Any, *texts: str) -> Region:
        """Return the only region that the constraints, given as text, leave around a query."""
        (found,) = self.regions(self.space.encode_row(query), [constraint(text) for text in texts])
        return found


def setting(
    data: Any, features: Mapping[str, Declaration] | None = None, norm: Norm = "l2", **wishes: Any
) -> Setting:
    space, Z = build_space(data, features)
    return Setting(space, Z, Distance(norm, **wishes).metric(space.features, Z))
