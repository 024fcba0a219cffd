"""All numbers that steer the search, by move.

Distances are in the metric's units, shares are of the distance of the best row unless said otherwise.
`benchmarks/SETTINGS.md` shows what half and double of a number do to distances and rows, for those of races,
starts and half of the descent so far (`python -m benchmarks.ablate settings`), and what was tried with those
of other moves. Most make no difference between the two: they bound an effort that ends by itself before, or
say what is near enough. Those that do have their measurement here.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class RaceSettings:
    """Brackets on rays."""

    # A race is over after so many steps; 12 end as near.
    most_steps: int = 24
    # Up to so many columns that move count as few: rows can be drawn around a row, and normals need no guess.
    few_columns: int = 8
    # By labels the rays of a race are asked about at so many distances together, for fewer calls. 4 and 14
    # end as near, in 1.6% fewer and 9% more rows.
    sections: int = 7
    # By scores a ray is asked about no nearer to the ends of its bracket than this share of it.
    edge: float = 0.02
    # A secant is not trusted beyond this share of the bracket from its ends.
    inside: float = 0.08
    # By scores each step asks at the secant and to both sides of it, by shares of the bracket.
    aside: tuple[tuple[float, ...], ...] = ((-0.1, 0.0, 0.1), (-0.02, 0.0, 0.02))
    # Where a plane says where a ray crosses, it is asked about by these shares of the way before and beyond.
    around: tuple[float, ...] = (-0.002, 0.002)
    # Where calls are dear: halvings of a look, distances of a race and shares beside a secant in one call.
    halvings_at_once: int = 3
    sections_at_once: int = 63
    aside_at_once: tuple[float, ...] = (-0.2, -0.1, -0.05, -0.02, 0.0, 0.02, 0.05, 0.1, 0.2)


@dataclass(frozen=True)
class StartSettings:
    """Rows to begin with."""

    # Background rows that are pulled into a region. With 24 heart-mixed ends 0.9% farther by labels, with 96
    # heart-whole-lightgbm 0.8% nearer, for 9% more rows.
    nearest: int = 48
    # Background rows that are feasible as they are, and whose labels are known.
    known: int = 16
    # Rows to which a second way is followed by scores. With 1 or 4 synthetic-20-mlp ends 0.8% farther.
    second: int = 2
    # The slope at the query is followed this share farther than the nearest known row, at two places.
    beyond: float = 1.15
    parts: tuple[float, ...] = (0.35, 1.0)
    # Farther background rows, corners, and random rows (then four times as many), asked about blindly.
    blind: int = 128
    # Bounds so many scales away are none: rows are drawn so many scales around the start instead.
    far: float = 1e6
    reach: float = 6.0
    # A climb takes at most so many steps, which shrink by this factor where none helps, down to this share
    # of a column's range.
    climbs: int = 30
    shrink: float = 0.4
    finest: float = 1e-3
    # Values of the data in each of two columns that are crossed with each other.
    crossed: int = 96


@dataclass(frozen=True)
class Look:
    """How closely labels are looked at: over what width, up to which slope, in how many halvings."""

    width: float
    steepest: float
    halvings: int


@dataclass(frozen=True)
class DescentSettings:
    """The way down the boundary."""

    # Ways begun in each region, and rows that reach that are looked for. With 6 networks end 1% nearer by
    # labels, for 13% more rows; with 2 as near on the whole, for 6% fewer.
    starts: int = 3
    # Steps on the best way.
    rounds: int = 8
    # A step is worth it that brings a row nearer by this share; two smaller ones end a way.
    gain: float = 2e-3
    # Ways within this factor of the best get one more round. Without (0.63) wine ends 1.6% farther by scores,
    # and networks 1% by labels.
    close: float = 1.25
    # A step is asked about at these shares of the way to the plane's projection, or to an edge of planes.
    # Half of them take 8% more rows, double 33%.
    fan: tuple[float, ...] = (0.3, 0.7, 1.0)
    edge_fan: tuple[float, ...] = (0.5, 1.0)
    # Another face is looked for this far toward the projection, at this factor of the distance.
    aside: tuple[float, ...] = (0.02, 0.06, 0.2)
    farther: float = 1.3
    # Over this share of the distance scores of trees change that do not change nearby.
    tree_step: float = 0.2
    # Slopes of scores are differences over this share of the distance.
    near: float = 1e-3
    # Looks by labels: the first, those of further ways, those around the last plane, the last one. On 8
    # smooth cases 3 halvings for further ways take 2% more rows and end 0.1% farther, 2 around the last plane
    # take 9% fewer and end 0.2% farther (second half of the queries).
    first_look: Look = Look(width=0.05, steepest=2.0, halvings=5)
    quick_look: Look = Look(width=0.05, steepest=1.6, halvings=2)
    next_look: Look = Look(width=0.05, steepest=0.6, halvings=3)
    last_look: Look = Look(width=0.02, steepest=0.3, halvings=3)
    # Halvings of further looks where few columns move, without a guess.
    halvings: int = 4
    # Normals whose cosine is above this are those of one plane.
    straight: float = 0.9999
    # How closely crossings are known: the first ones by scores; on the way down by labels and by scores; the
    # last one, which is expected at this share of the best row's distance.
    first_tolerance: float = 0.03
    tight: float = 4e-4
    roughly: float = 5e-3
    closely: float = 2e-5
    last_guess: float = 0.997


@dataclass(frozen=True)
class BesideSettings:
    """The way down beside a model, where a call costs more than its rows."""

    # Steps on a way after the first two, and of a race. 8 and 24 of them ask twice as often one after the
    # other, and end 0.02% nearer on a network with 50 columns; 3 and 2 end 0.1% farther.
    rounds: int = 5
    race_steps: int = 3
    # Ways that are followed beside that of the slope, and where it leads nowhere.
    second: int = 3
    starts: int = 5


@dataclass(frozen=True)
class NarrowSettings:
    """Few of many columns."""

    # Beyond so many free columns only those that matter are searched. 1,000 columns with trees end at a
    # distance of 18.6 without this, and at a tenth of it with it; up to 150 it is not needed.
    columns: int = 150
    # Columns beside those that a row cannot do without: so many, that change the score most.
    more: int = 50


@dataclass(frozen=True)
class ColumnSettings:
    """Columns taken back."""

    # A column that cannot go back whole is asked about at these shares of what is left.
    between: tuple[float, ...] = (0.25, 0.5, 0.75)
    # Of the rows of a move that reach, so many are followed in each round: their columns are taken back,
    # unless they would end beyond this factor of the best distance all the same.
    followed: int = 6
    worthwhile: float = 1.1


@dataclass(frozen=True)
class StepSettings:
    """How steps are told, and gone down."""

    # How closely the crossings of rows on steps are known.
    tolerance: float = 0.02
    # By scores so many of the rows on steps follow labels, and so many slopes of the score.
    by_labels: int = 2
    by_scores: int = 4
    # Normals are looked at over these shares of the distance, one after the other, and how by labels.
    widths: tuple[float, ...] = (0.3, 0.2, 0.1)
    look: Look = Look(width=0.3, steepest=1.5, halvings=4)
    # A step is asked about at these shares of the way to the projection: beyond it, too, as steps are rough.
    fan: tuple[float, ...] = (0.15, 0.3, 0.6, 1.0, 1.5)
    # Columns of the best row are taken back to within 4 to the power of minus this.
    sections: int = 4
    # Columns that can go back for a gain below `little` may only show a way that ended early, unless they can
    # so many times. Without an end to the doubts one query of cancer-forest ends 25% farther, and with
    # 0.005 for `little` heart-whole-xgboost 4%, both by labels.
    doubts: int = 3
    little: float = 0.008
    # A smooth boundary allows for this: a column with a share of the squared distance above `counts` goes
    # back by `less`, while the others go on by more than enough, this factor of what that takes.
    counts: float = 0.1
    less: float = 0.02
    more_than_enough: float = 2.0
    # And for this, by labels: from so far before the boundary each column with such a share of the normal
    # crosses it, if it goes by the same factor of what that takes.
    before: float = 2e-3


@dataclass(frozen=True)
class SwapSettings:
    """Exchanges by trial."""

    # Rounds, trials in each, and rows that are kept between rounds.
    rounds: int = 4
    offspring: int = 96
    parents: int = 8
    # Kept rows lie this share of their distance apart.
    apart: float = 0.05
    # The mean place of the row that is changed, the nearest being 0.
    favour: float = 1.5
    # What is left of the column that is given up.
    stays: tuple[float, ...] = (0.0, 0.0, 0.5)
    # By what the other row's changes are stretched, brought within this factor of the best distance; and the
    # share of columns that are taken over, at least and at most.
    stretch: tuple[float, ...] = (0.5, 0.8, 1.1, 1.4)
    near: float = 1.2
    taken: tuple[float, float] = (0.2, 0.7)


@dataclass(frozen=True)
class TradeSettings:
    """Trades between two columns."""

    # Of what one change saves another column spends these shares.
    shares: tuple[float, ...] = (0.98, 0.4, 0.1)


@dataclass(frozen=True)
class BuySettings:
    """Columns chosen by what they gain and cost."""

    # Values to each side of a column, up to the best distance.
    points: int = 10
    # The price of score in distance lies between these, and is halved so often.
    prices: tuple[float, float] = (1e-3, 1e4)
    halvings: int = 10
    # Rounds without a gain that end it.
    idle: int = 3
    # Ideas of how wrong the gains are in each round.
    tried: int = 200
    # Gains are wrong by the exponential of this much noise, and may be smaller, losses larger, by this share.
    wrong: float = 0.4


@dataclass(frozen=True)
class AroundSettings:
    """Directions that no slope shows."""

    # Single columns are asked about at this share of the best distance.
    along: float = 0.99
    # Directions all around a query, and then in balls around the best row, whose widths are these shares of
    # its distance; again as long as they find something.
    directions: int = 72
    balls: tuple[float, ...] = (0.2, 0.06, 0.02)


@dataclass(frozen=True)
class LevelSettings:
    """Other levels and whole numbers."""

    # Sets of one or two other levels.
    sets: int = 48
    # Steps on each way from there.
    rounds: int = 2


@dataclass(frozen=True)
class StoredSettings:
    """Planes through stored boundary points."""

    # A plane needs so many points for each column.
    fewest: int = 2
    # Points count by the nearness to this power.
    fading: int = 4
    # Rows beyond the plane, in shares of the way to it.
    beyond: tuple[float, ...] = (1.03, 1.15, 1.5)


@dataclass(frozen=True)
class SearchSettings:
    """All of them."""

    race: RaceSettings = field(default_factory=RaceSettings)
    starts: StartSettings = field(default_factory=StartSettings)
    descent: DescentSettings = field(default_factory=DescentSettings)
    beside: BesideSettings = field(default_factory=BesideSettings)
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
