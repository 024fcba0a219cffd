"""All numbers that steer the search, by move."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class RaceSettings:
    """Brackets on rays."""

    most_steps: int = 24
    few_columns: int = 8
    sections: int = 7
    not_beyond: float = 0.98
    inside: tuple[float, float] = (0.08, 0.92)
    edge: float = 0.02
    aside: tuple[tuple[float, ...], ...] = ((-0.1, 0.0, 0.1), (-0.02, 0.0, 0.02))
    around: tuple[float, ...] = (-0.002, 0.002)
    halvings_at_once: int = 3
    sections_at_once: int = 63
    aside_at_once: tuple[float, ...] = (-0.2, -0.1, -0.05, -0.02, 0.0, 0.02, 0.05, 0.1, 0.2)


@dataclass(frozen=True)
class StartSettings:
    """Rows to begin with."""

    nearest: int = 48
    known: int = 16
    second: int = 2
    enough: int = 3
    beyond: float = 1.15
    parts: tuple[float, ...] = (0.35, 1.0)
    far: float = 1e6
    farther: int = 128
    random: int = 128
    few_corners: int = 4
    climbs: int = 30
    shrink: float = 0.4
    finest: float = 1e-3
    crossed: int = 96
    reach: float = 6.0


@dataclass(frozen=True)
class Look:
    """How closely labels are looked at: over what width, up to which slope, in how many halvings."""

    width: float
    steepest: float
    halvings: int


@dataclass(frozen=True)
class DescentSettings:
    """The way down the boundary."""

    starts: int = 3
    rounds: int = 8
    gain: float = 2e-3
    close: float = 1.25
    fan: tuple[float, ...] = (0.3, 0.7, 1.0)
    edge_fan: tuple[float, ...] = (0.5, 1.0)
    aside: tuple[float, ...] = (0.02, 0.06, 0.2)
    farther: float = 1.3
    tree_step: float = 0.2
    near: float = 1e-3
    halvings: int = 4
    first_look: Look = Look(width=0.05, steepest=2.0, halvings=5)
    quick_look: Look = Look(width=0.05, steepest=1.6, halvings=3)
    next_look: Look = Look(width=0.05, steepest=0.6, halvings=3)
    last_look: Look = Look(width=0.02, steepest=0.3, halvings=3)
    straight: float = 0.9999
    tight: float = 4e-4
    roughly: float = 5e-3
    closely: float = 2e-5
    last_guess: float = 0.997
    first_tolerance: float = 0.03


@dataclass(frozen=True)
class NarrowSettings:
    """Few of many columns."""

    columns: int = 150
    share: float = 0.5
    width: float = 0.15
    more: int = 50


@dataclass(frozen=True)
class ColumnSettings:
    """Columns taken back."""

    at_once: tuple[int, ...] = (1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377)
    between: tuple[float, ...] = (0.25, 0.5, 0.75)
    disorder: float = 0.5


@dataclass(frozen=True)
class StepSettings:
    """How steps are told, and gone down."""

    starts: int = 6
    tolerance: float = 0.02
    by_labels: int = 2
    by_scores: int = 4
    widths: tuple[float, ...] = (0.3, 0.2, 0.1)
    fan: tuple[float, ...] = (0.15, 0.3, 0.6, 1.0, 1.5)
    look: Look = Look(width=0.3, steepest=1.5, halvings=4)
    sections: int = 4
    doubts: int = 3
    little: float = 0.008
    less: float = 0.02
    large: float = 0.05
    more: float = 0.1
    surplus: float = 0.005
    face_columns: int = 6
    surely: int = 4
    counts: float = 0.1
    before: float = 2e-3
    more_than_enough: float = 2.0
    rounded: float = 1e-5
    most_of_it: float = 0.7


@dataclass(frozen=True)
class SwapSettings:
    """Exchanges by trial."""

    rounds: int = 4
    offspring: int = 96
    followed: int = 24
    parents: int = 8
    apart: float = 0.05
    favour: float = 1.5
    stays: tuple[float, ...] = (0.0, 0.0, 0.5)
    stretch: tuple[float, ...] = (0.5, 0.8, 1.1, 1.4)
    taken: tuple[float, float] = (0.2, 0.7)
    near: float = 1.2
    far: float = 2.2
    worthwhile: float = 1.1
    rarely: float = 0.02


@dataclass(frozen=True)
class TradeSettings:
    """Trades between two columns."""

    rounds: int = 8
    followed: int = 8
    shares: tuple[float, ...] = (0.98, 0.4, 0.1)
    left: tuple[float, ...] = (0.25, 0.5, 0.75)
    most: int = 1000
    near: int = 40
    several: int = 2
    columns: int = 6
    each: int = 3


@dataclass(frozen=True)
class BuySettings:
    """Columns chosen by what they gain and cost."""

    points: int = 10
    reach: float = 1.0
    prices: tuple[float, float] = (1e-3, 1e4)
    halvings: int = 10
    rounds: int = 12
    idle: int = 3
    tried: int = 200
    followed: int = 8
    more: float = 0.4
    wrong: float = 0.4
    at_most: float = 1.1


@dataclass(frozen=True)
class AroundSettings:
    """Directions that no slope shows."""

    along: float = 0.99
    directions: int = 96
    tries: int = 3
    out: float = 1.5
    balls: tuple[float, ...] = (0.2, 0.06, 0.02)
    in_a_ball: int = 24
    nearer: float = 0.1


@dataclass(frozen=True)
class LevelSettings:
    """Other levels and whole numbers."""

    stretch: float = 2.0
    donors: int = 3
    far_sets: int = 8
    far_share: float = 0.98
    sets: int = 48
    followed: int = 6
    rounds: int = 2
    paired: int = 24
    parents: int = 16


@dataclass(frozen=True)
class StoredSettings:
    """Planes through stored boundary points."""

    fewest: int = 2
    most: int = 20
    fading: int = 4
    ridge: float = 1e-6
    beyond: tuple[float, ...] = (1.03, 1.15, 1.5)
    ends: int = 15
    runners: int = 2


@dataclass(frozen=True)
class SearchSettings:
    """All of them."""

    race: RaceSettings = field(default_factory=RaceSettings)
    starts: StartSettings = field(default_factory=StartSettings)
    descent: DescentSettings = field(default_factory=DescentSettings)
    narrow: NarrowSettings = field(default_factory=NarrowSettings)
    columns: ColumnSettings = field(default_factory=ColumnSettings)
    steps: StepSettings = field(default_factory=StepSettings)
    swaps: SwapSettings = field(default_factory=SwapSettings)
    trades: TradeSettings = field(default_factory=TradeSettings)
    buy: BuySettings = field(default_factory=BuySettings)
    around: AroundSettings = field(default_factory=AroundSettings)
    levels: LevelSettings = field(default_factory=LevelSettings)
    stored: StoredSettings = field(default_factory=StoredSettings)


SETTINGS = SearchSettings()
