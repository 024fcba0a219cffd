"""What the documentation says about rows of a world: legal, feasible, how far, whether they are wanted."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from tests.generated.clauses import Linear
from tests.generated.columns import Mask, Matrix
from tests.generated.rules import Rule
from tests.generated.verdicts import EITHER, NO, YES, Asked, Verdicts
from tests.generated.worlds import World

_ENDLESS = 1e12


@dataclass(frozen=True)
class Stretch:
    """How far out a column may surely go for a relation that the ranges cannot meet."""

    low: float = math.inf
    high: float = -math.inf


@dataclass(frozen=True, eq=False)
class Truth:
    """The documented meaning of one world."""

    world: World

    @cached_property
    def is_constant(self) -> Mask:
        low, high = self._data_range
        return np.asarray(~(low < high))

    @cached_property
    def _data_range(self) -> tuple[Matrix, Matrix]:
        present = np.where(np.isnan(self.world.data).all(axis=0), 0.0, self.world.data)
        return np.nanmin(present, axis=0), np.nanmax(present, axis=0)

    @cached_property
    def defaults(self) -> tuple[Matrix, Matrix]:
        """The range of the data and the query, column by column; all levels of columns with levels."""
        low, high = self._data_range
        low, high = np.fmin(low, self.world.query), np.fmax(high, self.world.query)
        for j, one in enumerate(self.world.columns):
            if one.levels:
                low[j], high[j] = one.limits()
        return low, high

    @cached_property
    def may_fill(self) -> Mask:
        named = {rule.fill for rule in self.world.rules}
        return np.array([name in named for name in self.world.names])

    @cached_property
    def asked(self) -> list[Asked]:
        """The tightest sides that rules without a guard ask of each column."""
        found: list[list[Asked]] = [[] for _ in self.world.columns]
        for rule in self.world.rules:
            if not rule.guard:
                for j, sides in self._asked_by(rule).items():
                    found[j].append(sides)
        return [_tightest(sides) for sides in found]

    def _asked_by(self, rule: Rule) -> dict[int, Asked]:
        ground = self.world.ground
        found: dict[int, list[Asked]] = {}
        for clause in rule.clauses:
            for name, sides in clause.asks(ground).items():
                found.setdefault(ground.place(name), []).append(sides)
        return {j: _tightest(sides) for j, sides in found.items()}

    @cached_property
    def opened(self) -> list[tuple[bool, bool]]:
        """Which sides of each column have no end, as a rule without a guard asks for what lies there."""
        low, high = self.defaults
        return [
            (
                least is None and self._contradict(j, low[j], most),
                most is None and self._contradict(j, least, high[j]),
            )
            for j, (least, most) in enumerate(self.asked)
        ]

    @cached_property
    def box(self) -> tuple[Matrix, Matrix]:
        """The range of each column once rules without a guard are read, before grids; infinite where open."""
        low, high = (side.copy() for side in self.defaults)
        for j, (least, most) in enumerate(self.asked):
            column, bounds = self.world.columns[j], self.world.columns[j].limits()
            opens_low, opens_high = self.opened[j]
            own_low = -math.inf if opens_low else low[j] if least is None else least
            own_high = math.inf if opens_high else high[j] if most is None else most
            low[j], high[j] = max(own_low, bounds[0]), min(own_high, bounds[1])
            low[j], high[j] = column.stored(np.array([low[j], high[j]]))
        held = self.is_constant | (np.isnan(self.world.query) & ~self.may_fill)
        return np.where(held, self.world.query, low), np.where(held, self.world.query, high)

    @cached_property
    def stretches(self) -> dict[int, Stretch]:
        """Columns that relations need beyond their range, and how far they surely may go."""
        found: dict[int, Stretch] = {}
        for rule in self.world.rules:
            for clause in rule.clauses:
                if isinstance(clause, Linear) and len(clause.names) > 1:
                    for j, one in self._stretched_by(clause).items():
                        one = Stretch() if rule.guard else one
                        before = found.get(j, Stretch())
                        found[j] = Stretch(min(before.low, one.low), max(before.high, one.high))
        return found

    def _stretched_by(self, clause: Linear) -> dict[int, Stretch]:
        ground, (low, high) = self.world.ground, self.box
        places = [ground.place(name) for name in clause.names]
        right = clause.right_side(ground)
        factors = np.array([float(one) for one in clause.factors(places, ground)])
        if right is None or clause.operator == "!=" or np.isnan(low[places]).any():
            return {}
        ends = np.stack([factors * low[places], factors * high[places]])
        least, most = ends.min(axis=0), ends.max(axis=0)
        below, above = clause.operator in ("<=", "<", "=="), clause.operator in (">=", ">", "==")
        bound = float(right)
        room = 1e-9 * max([abs(bound), *np.abs(ends[np.abs(ends) < _ENDLESS])])
        if (not below or least.sum() < bound - room) and (not above or most.sum() > bound + room):
            return {}
        if clause.operator == "==" or (least.sum() <= bound + room and most.sum() >= bound - room):
            # A tie at the end of the range is enough for some relations.
            return dict.fromkeys(places, Stretch())
        found = {}
        for i, j in enumerate(places):
            others = np.delete(most if below else least, i).sum()
            end = (bound - others) / factors[i] if factors[i] else math.nan
            # Where another column has no end there is no telling how far is far enough.
            fits = math.isfinite(end) and abs(end) < _ENDLESS
            found[j] = Stretch(end, end) if fits else Stretch()
        return found

    @cached_property
    def related(self) -> set[int]:
        """Columns of relations over several columns."""
        ground = self.world.ground
        clauses = [one for rule in self.world.rules for one in rule.clauses if isinstance(one, Linear)]
        return {ground.place(name) for one in clauses if len(one.names) > 1 for name in one.names}

    def legal(self, Z: Matrix, lenient: bool = False) -> Verdicts:
        """Say whether every cell is as it was, or has a legal value within its column's range.

        `EITHER` where a relation that the ranges cannot meet may, or may not, let a column go so far; with
        `lenient` this goes for all columns of relations.
        """
        verdicts = np.full(len(Z), YES, dtype=np.int8)
        for j in range(Z.shape[1]):
            own = self._legal_cells(j, Z, lenient)
            verdicts = np.where((own == NO) | (verdicts == NO), NO, np.maximum(own, verdicts))
        return verdicts.astype(np.int8)

    def _legal_cells(self, j: int, Z: Matrix, lenient: bool) -> Verdicts:
        world, cells = self.world, Z[:, j]
        column, now = world.columns[j], world.query[j]
        same = (cells == now) | (np.isnan(cells) & np.isnan(now))
        free = not self.is_constant[j] and (not math.isnan(now) or self.may_fill[j])
        bounds = column.limits()
        fits = column.on_grid(cells) & (cells >= bounds[0]) & (cells <= bounds[1]) & ~np.isnan(cells)
        inside = self._in_range(j, Z)
        beyond = NO
        if j in self.stretches or (lenient and j in self.related):
            beyond = EITHER
        ranged = np.where(inside, YES, np.where(self._in_stretch(j, cells), YES, beyond))
        return np.where(same, YES, np.where(free & fits, ranged, NO)).astype(np.int8)

    def _in_range(self, j: int, Z: Matrix) -> Mask:
        """Tell cells within the default range, or on a side that a rule that holds has opened."""
        column, cells = self.world.columns[j], Z[:, j]
        if column.levels:
            return np.ones(len(Z), dtype=bool)
        low, high = self.defaults[0][j], self.defaults[1][j]
        least, most = self.asked[j]
        opened_low = np.full(len(Z), least is not None or self._contradict(j, low, most))
        opened_high = np.full(len(Z), most is not None or self._contradict(j, least, high))
        for rule in self.world.rules:
            sides = self._asked_by(rule).get(j) if rule.guard else None
            if sides is not None:
                holds = rule.said(self.world.ground, Z) != NO
                opened_low |= holds & (sides[0] is not None or self._contradict(j, low, sides[1]))
                opened_high |= holds & (sides[1] is not None or self._contradict(j, sides[0], high))
        return np.asarray(((cells >= low) | opened_low) & ((cells <= high) | opened_high))

    def _contradict(self, j: int, low: float | None, high: float | None) -> bool:
        """Tell whether a default and what a rule asks leave a column no value."""
        if low is None or high is None:
            return False
        column, now = self.world.columns[j], self.world.query[j]
        if low > high:
            return True
        return column.is_stepped and not low <= now <= high and not len(column.grid(low, high))

    def _in_stretch(self, j: int, cells: Matrix) -> Mask:
        one = self.stretches.get(j, Stretch())
        if not math.isfinite(one.low):
            return np.zeros(len(cells), dtype=bool)
        low, high = min(self.defaults[0][j], one.low), max(self.defaults[1][j], one.high)
        return np.asarray((cells >= low) & (cells <= high))

    def met(self, Z: Matrix) -> Verdicts:
        """Say whether rows meet every rule."""
        verdicts = np.full(len(Z), YES, dtype=np.int8)
        for rule in self.world.rules:
            own = rule.truth(self.world.ground, Z)
            verdicts = np.where((own == NO) | (verdicts == NO), NO, np.maximum(own, verdicts)).astype(np.int8)
        return verdicts

    def feasible(self, Z: Matrix) -> Mask:
        """Tell rows that are legal and meet every rule beyond doubt."""
        return np.asarray((self.legal(Z) == YES) & (self.met(Z) == YES))

    def changed(self, Z: Matrix) -> Mask:
        query = self.world.query
        return np.asarray((Z != query) & ~(np.isnan(Z) & np.isnan(query)))

    @cached_property
    def scales(self) -> Matrix:
        """What each column's change is divided by."""
        measure, data = self.world.measure, self.world.data
        if not isinstance(measure.scale, str):
            return np.array([float(measure.scale.get(name, 1.0)) for name in self.world.names])
        name = "range" if measure.norm == "gower" and measure.scale == "std" else measure.scale
        if name == "none":
            return np.ones(data.shape[1])
        present = np.where(np.isnan(data).all(axis=0), 0.0, data)
        extent = np.nanmax(present, axis=0) - np.nanmin(present, axis=0)
        spread = extent if name == "range" else np.nanstd(present, axis=0)
        # The deviation of equal numbers may be rounding dust.
        return np.where((extent > 0) & (spread > 0), spread, 1.0)

    @cached_property
    def weights(self) -> Matrix:
        return np.array([float(self.world.measure.weights.get(name, 1.0)) for name in self.world.names])

    def distance(self, Z: Matrix, center: Matrix | None = None) -> Matrix:
        """Return how far rows are from the query, or from another row."""
        x = self.world.query if center is None else center
        category = np.array([one.is_category for one in self.world.columns])
        differs = (Z != x) & ~(np.isnan(Z) & np.isnan(x))
        counted = np.where(category | np.isnan(Z - x), differs, np.abs(Z - x) / self.scales)
        parts = counted * self.weights
        if self.world.measure.norm == "l2":
            return np.asarray(np.sqrt((parts * parts).sum(axis=1)))
        return np.asarray(parts.sum(axis=1))

    @cached_property
    def last_digits(self) -> float:
        """How far one unit of the data's last decimal leads, in all columns of few decimals at once."""
        units = [0.0 if one.decimals is None else 10.0**-one.decimals for one in self.world.columns]
        return float(self.distance(self.world.query[None, :] + np.array(units))[0])

    def obeys_options(self, Z: Matrix) -> Mask:
        """Tell rows that keep to the limits that options set, but for a ball."""
        options = self.world.options
        kept = np.ones(len(Z), dtype=bool)
        if options.max_changes is not None:
            kept &= self.changed(Z).sum(axis=1) <= options.max_changes
        if options.score_margin is not None and len(Z):
            margin = self.world.judge.margin(Z)
            assert margin is not None
            kept &= margin >= options.score_margin
        if options.plausible and len(Z):
            kept &= self.to_data(Z) <= self.usual * (1 + 1e-10)
        return kept

    @cached_property
    def wanted_data(self) -> Matrix:
        """The background rows that the model puts on the target's side."""
        data = self.world.data
        return data[self.world.judge.reaches(data)]

    def to_data(self, Z: Matrix) -> Matrix:
        """Return the distance to the nearest background row on the target's side."""
        near = [self.distance(Z, one) for one in self.wanted_data]
        return np.min(near, axis=0) if near else np.full(len(Z), np.inf)

    @cached_property
    def usual(self) -> float:
        """How far 95% of these background rows, each counted once, are at most from their neighbours."""
        rows = np.unique(self.wanted_data, axis=0)
        apart = np.stack([self.distance(rows, one) for one in rows])
        np.fill_diagonal(apart, np.inf)
        return float(np.quantile(apart.min(axis=1), 0.95))


def _tightest(sides: list[Asked]) -> Asked:
    lows = [low for low, _ in sides if low is not None]
    highs = [high for _, high in sides if high is not None]
    return (max(lows) if lows else None, min(highs) if highs else None)
