"""Pairs of rows that lie beside the model, on its own device, and are bisected there.

Everything between a pair's rows and its boundary point stays on the device: rows are gathered, walked and
asked about where the model is. Only what became of all of them is looked at from the host.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ssba.arrays import Array, like, namespace, to_numpy
from ssba.boundary.bisection import Path
from ssba.boundary.points import Sides, Stream, answered
from ssba.engine.background import Background
from ssba.models.on_device import OnDevice, is_out_of_memory
from ssba.models.oracle import Oracle
from ssba.models.targets import Goal, Leave, Reach, Reply, ValueBetween

# Cells of rows that are walked at a time: what fits a processor's cache; elsewhere enough to outweigh the
# latency of a device, a few arrays of which (half a gigabyte each in 32 bits) have room on most.
_CELLS_IN_CACHE, _CELLS_ON_DEVICE = 1 << 17, 1 << 27
# Where there is no room for so few pairs, there is none at all.
_FEWEST_PAIRS = 1024
# Shares of a way are exact sums of halves down to this one in 32 bits.
_FINEST_IN_32_BITS = 2.0**-20


@dataclass
class Beside:
    """A stream of pairs on the model's device, and how it is asked there.

    `pairs_at_once` falls where the device has no room for as many. `total` is the sum of all answers, which
    is no number where one of them is not: to look at each, the host would have to wait.
    """

    stream: Stream
    device: OnDevice
    reached: Callable[[Array], Array]
    oracle: Oracle
    pairs_at_once: int
    total: Array = 0.0

    def points(self, positions: range) -> Array | None:
        """Return the boundary points of pairs at some positions; on the host where it took several steps.

        None where the model fails, or answers with what is no number: the host knows what to say about that.
        """
        self.total = 0.0
        parts, done = list[Array](), 0
        while done < len(positions):
            some = positions[done : done + self.pairs_at_once]
            try:
                parts.append(answered(self.stream.points_of(some), self._ask))
            except Exception as error:
                if not is_out_of_memory(error) or len(some) <= _FEWEST_PAIRS:
                    return None
                self.pairs_at_once = len(some) // 2
                # What was found makes room.
                parts = [to_numpy(part) for part in parts]
            else:
                done += len(some)
        if not math.isfinite(float(self.total)):
            return None
        return parts[0] if len(parts) == 1 else np.concatenate([to_numpy(part) for part in parts])

    def _ask(self, rows: Array) -> Reply:
        self.oracle.rows_asked += rows.shape[0]
        self.oracle.calls += 1
        raw = self.device.answer(rows)
        self.total = self.total + namespace(raw).sum(raw)
        return Reply(self.reached(raw), None)


def beside_model(background: Background, stream: Stream, oracle: Oracle) -> Beside | None:
    """Return a stream beside its model; None where the model, the target or the columns need the host."""
    device = background.judging.model.on_device
    how = stream.sampling
    if device is None or how.resolution > 1:
        return None
    reached = _reached(device, stream.sides.goal, background.judging.model.classes)
    if reached is None:
        return None
    kept, place = background.beside, device.place()
    key = (stream.key, *place)
    if key not in kept:
        if not background.are_numbers:
            return None
        kept.clear()
        kept[key] = _brought(background, stream, device)
    cells = _CELLS_IN_CACHE if place[0] == "cpu" else _CELLS_ON_DEVICE
    pairs = max(_FEWEST_PAIRS, cells // len(background.judging.space.features))
    return Beside(kept[key], device, reached, oracle, pairs)


def _brought(background: Background, stream: Stream, device: OnDevice) -> Stream:
    """Return the stream with its rows and the way between them on the device.

    In the model's own 32 bits, where every number that these hold is legal; else in 64.
    """
    sides, grid = stream.sides, background.judging.space.grid
    background.judging.row_check.check(sides.leaving)
    background.judging.row_check.check(sides.reaching)
    free = not (grid.stepped.any() or background.metric.discrete.any())
    narrow = free and device.place()[1] == "float32" and stream.sampling.tolerance >= _FINEST_IN_32_BITS
    wide = not (narrow or (free and device.place()[1] == "float64" and grid.trivial))
    leaving, reaching = (device.bring(side, wide) for side in (sides.leaving, sides.reaching))
    plain = Path(background.metric.discrete, lambda Z: Z, plain=True)
    walked = Path(like(background.metric.discrete, leaving), grid.beside(leaving).snap, plain=False)
    return Stream(
        Sides(leaving, reaching, sides.goal),
        replace(stream.sampling, path=walked if wide else plain),
    )


def _reached(
    device: OnDevice, goal: Goal, classes: tuple[object, ...] | None
) -> Callable[[Array], Array] | None:
    """Return the function from raw answers to which of them reach a goal.

    None for probabilities, which are read from scores on the host.
    """
    label = device.label
    match goal:
        case Reach(wanted) if label is not None and classes is not None:
            number = classes.index(wanted)
            return lambda raw: label(raw) == number
        case Leave(left) if label is not None and classes is not None:
            number = classes.index(left)
            return lambda raw: label(raw) != number
        case ValueBetween(low, high) if label is None:
            return lambda raw: _between(raw[:, 0] if raw.ndim == 2 else raw, low, high)
        case _:
            return None


def _between(values: Array, low: float, high: float) -> Array:
    return (values >= low) & (values <= high)
