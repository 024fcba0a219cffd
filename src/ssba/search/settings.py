"""All numbers that steer the search, by move.

Distances are in the metric's units, shares are of the distance of the best row unless said otherwise.
`benchmarks/SETTINGS.md` shows what half and double of each number do to distances and rows. Most make no
difference between the two: they bound an effort that ends by itself before, or say what is near enough; such
numbers serve several moves. Those that do make one have their measurement here.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class RaceSettings:
    """Brackets on rays, and what counts as few columns and as many."""

    # A race, and a climb, is over after so many steps.
    most_steps: int = 24
    # Up to so many columns that move count as few: rows can be drawn around a row, and normals need no guess.
    # With 16 all cases take 8% more rows.
    few_columns: int = 8
    # Beyond so many free columns only those that matter are searched. 1,000 columns with trees end at a
    # distance of 18.6 without this, and at a tenth of it with it; up to 150 it is not needed.
    many_columns: int = 150
    # By labels the rays of a race are asked about at so many distances together, for fewer calls. 4 and 14
    # end as near, in 3% fewer and 8% more rows.
    sections: int = 7
    # By scores a ray is asked about no nearer to the ends of its bracket than this share of it. Single
    # columns are asked about nearer than the best row by as much, and go back by as much to tell steps, whose
    # crossings are known as closely. With half of that cancer-histgb ends 0.8% farther by labels, with double
    # cancer-forest 4%.
    edge: float = 0.02
    # By scores each step asks at the secant, which is not trusted beyond this share of the bracket from its
    # ends, and to both sides of it by at most as much.
    aside: float = 0.1
    # Each call of a look divides what is left into so many parts: 3, then 2 take as many rows as 3 halvings.
    # With 6 labels take 9% more rows.
    parts: int = 3
    # Where calls are dear: parts of a look, distances of a race and shares beside a secant in one call. Looks
    # at few columns have few rows, and are divided as much: heart-svc takes 47 calls by labels instead of 57,
    # and 12% more rows.
    parts_at_once: int = 8
    sections_at_once: int = 63
    aside_at_once: tuple[float, ...] = (-0.2, -0.1, -0.05, -0.02, 0.0, 0.02, 0.05, 0.1, 0.2)


@dataclass(frozen=True)
class StartSettings:
    """Rows to begin with."""

    # Background rows that are pulled into a region; also rows in balls around the best one, and columns that
    # tell most where there are many. With 24 heart-mixed ends 0.8% farther by
    # labels; 96 take 7% more rows.
    nearest: int = 48
    # Background rows that are feasible as they are, and whose labels are known.
    known: int = 16
    # Rows to which a second way is followed by scores. With 1 or 4 synthetic-20-mlp ends 0.8% farther.
    second: int = 2
    # The slope at the query is followed to these shares of the way to the nearest known row, or to where the
    # score would be high enough.
    parts: tuple[float, ...] = (0.4, 1.15)
    # Rows that are tried where nothing leads: farther background rows, corners, random rows (then four times
    # as many), values that are crossed, directions all around a query, exchanges in each round. 128 end 0.1%
    # nearer on one half of the queries and farther on the other, for 3% more rows.
    trials: int = 96
    # Bounds so many scales away are none: rows are drawn so many scales around the start instead.
    far: float = 1e6
    reach: float = 6.0


@dataclass(frozen=True)
class Look:
    """How closely labels are looked at: over what width, up to which slope, in how many cells."""

    width: float
    steepest: float
    cells: int


@dataclass(frozen=True)
class DescentSettings:
    """The way down the boundary."""

    # Ways begun in each region, and rows that reach that are looked for. 6 take 16% more rows; with 2
    # heart-mixed ends 0.8% farther by labels.
    starts: int = 3
    # Steps on the best way, and rounds of exchanges.
    rounds: int = 4
    # Rounds in vain that end an effort. With 2 trees end 1.5 to 1.8% farther by scores; 6 take 13% more rows.
    patience: int = 3
    # A step is worth it that brings a row nearer by this share; two smaller ones end a way. Where a plane
    # says where a ray crosses, it is asked about by as much before and beyond.
    gain: float = 2e-3
    # Ways within this factor of the best get one more round. Without that (0.63) networks end 1.6% farther by
    # labels. Another face of the boundary is looked for at this factor of the distance.
    close: float = 1.25
    # Unless they lie nearer to it than this share of its distance: then they lead to the same place. With 0.8
    # networks end 1.6% farther by labels.
    apart: float = 0.4
    # A step is asked about at these shares of the way to the plane's projection, or to an edge of planes.
    # Half of each, and double, end 1% farther on networks, and take 4 to 7% more rows.
    fan: tuple[float, ...] = (0.3, 0.7, 1.0)
    # Another face is looked for this far toward the projection. Balls around the best row are as wide, and
    # over the last of these widths scores of trees change that do not change nearby.
    aside: tuple[float, ...] = (0.02, 0.06, 0.2)
    # Slopes of scores are differences over this share of the distance; a climb ends with steps of this share
    # of a column's range.
    near: float = 1e-3
    # Looks by labels: the first, those of further ways, those around the last plane. With half of the second
    # synthetic-20-mlp ends 2% farther, with double 1%.
    first_look: Look = Look(width=0.05, steepest=2.0, cells=32)
    quick_look: Look = Look(width=0.05, steepest=1.6, cells=4)
    next_look: Look = Look(width=0.05, steepest=0.6, cells=6)
    # How closely crossings are known: the first ones by scores; on the way down by labels and by scores; the
    # last one. Columns of the best row on steps are taken back at the end as closely as by scores on the
    # way down: with 0.06 cancer-forest ends 2% farther. Normals whose cosine lacks no more than the last of 1
    # are those of one plane.
    first_tolerance: float = 0.03
    tight: float = 4e-4
    roughly: float = 5e-3
    closely: float = 4e-5


@dataclass(frozen=True)
class BesideSettings:
    """The way down beside a model that tells its slopes."""

    # Background rows from which ways begin, beside the one from the query. On two networks with 50 columns,
    # which it was chosen on, 7 end at 1.0019 and 1.0027 of the best known, 11 at 1.0014 and 1.0017, for a
    # quarter more rows; on two others 7 end at 1.0040 and 1.0018.
    starts: int = 7
    # Steps on each way, and how far each goes toward the foot of its plane, as a share of the one before. On
    # four networks with 50 columns, two of them trained, 200 queries each, 12 of 0.85 end at 1.0020, 1.0030,
    # 1.0061 and 1.0023 of the best known, 8 of 0.8 at 1.0029, 1.0044, 1.0059 and 1.0030 in 30 rows fewer, and
    # two thirds of the time; 8 of 0.7 at 1.0050, 1.0064, 1.0068 and 1.0047.
    steps: int = 8
    pace: float = 0.8
    # Rays to where ways end are asked about at these shares. Four more between 0.9 and 1.3 end 0.01% nearer.
    shares: tuple[float, ...] = (0.97, 0.99, 1.0, 1.003, 1.01, 1.04, 1.2, 2.0)


@dataclass(frozen=True)
class ColumnSettings:
    """Columns taken back."""

    # A column that cannot go back whole is asked about at these shares of what is left. Half of each end 0.2%
    # farther, double 0.7%.
    between: tuple[float, ...] = (0.25, 0.5, 0.75)
    # Of the rows of a move that reach, so many are followed in each round: their columns are taken back,
    # unless they would end beyond this factor of the best distance all the same. With 3 cancer-forest ends
    # 4% farther by labels; without the factor (0.55) 8% by scores, and 2.2 takes 3% more rows.
    followed: int = 6
    worthwhile: float = 1.1


@dataclass(frozen=True)
class StepSettings:
    """How steps are told, and gone down."""

    # Normals are looked at over these shares of the distance, one after the other, and how by labels. Columns
    # are taken back to within the last share of their change. With half of the first cancer-forest ends 8%
    # farther by labels.
    widths: tuple[float, ...] = (0.3, 0.2, 0.1)
    look: Look = Look(width=0.3, steepest=1.5, cells=16)
    # A step is asked about at these shares of the way to the projection: beyond it, too, as steps are rough.
    fan: tuple[float, ...] = (0.15, 0.3, 0.6, 1.0, 1.5)
    # Columns that can go back for a gain below this may only show a way that ended early. With 0.005
    # heart-whole-xgboost ends 4% farther by labels.
    little: float = 0.008
    # Changes below this share of the distance may be needless: a model that asks for sums of 4 of 6 columns
    # was told to change the others, too, in 146 of 157 answers by labels.
    small: float = 0.1
    # A smooth boundary allows for this: a column with a share of the squared distance above `counts` goes
    # back a little, while the others go on by more than enough, this factor of what that takes. By labels,
    # from just before the boundary each column with such a share of the normal crosses it. Without the factor
    # networks are taken for steps, and all cases take 72% more rows.
    counts: float = 0.1
    more_than_enough: float = 2.0


@dataclass(frozen=True)
class SwapSettings:
    """Exchanges by trial."""

    # The mean place of the row that is changed, the nearest being 0.
    favour: float = 1.5
    # What is left of the column that is given up. Half and double of it end 2% farther on cancer-histgb by
    # labels.
    stays: tuple[float, ...] = (0.0, 0.0, 0.5)
    # By what the other row's changes are stretched, if it is not far. Half of each end 3% farther there.
    stretch: tuple[float, ...] = (0.5, 0.8, 1.1, 1.4)


@dataclass(frozen=True)
class TradeSettings:
    """Trades of some changes for others."""

    # Trades drawn in each round, and rounds in vain that end them. On 8 queries of each of 6 heart-whole
    # cases by labels these end at 1.016 on average, in 3,500 rows a query. 1024 end at 1.021 in 2,800, 2048
    # at 1.015 in 4,300; with 3 rounds 1024 end at 1.021 in 3,400, 2048 at 1.012 in 5,300.
    trials: int = 1536
    patience: int = 2


@dataclass(frozen=True)
class BuySettings:
    """Columns chosen by what they gain and cost."""

    # Values to each side of a column, up to the best distance. With 5 cancer-forest ends 1% farther.
    points: int = 10
    # The price of score in distance lies between these, and is halved so often.
    prices: tuple[float, float] = (1e-3, 1e4)
    halvings: int = 10
    # Ideas of how wrong the gains are in each round. With 100 cancer-forest ends 0.8% farther by scores.
    tried: int = 200
    # Gains are wrong by the exponential of this much noise, and may be smaller, losses larger, by this share.
    # Half and double of it end 1% farther by scores on trees.
    wrong: float = 0.4


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
    columns: ColumnSettings = field(default_factory=ColumnSettings)
    steps: StepSettings = field(default_factory=StepSettings)
    swaps: SwapSettings = field(default_factory=SwapSettings)
    trades: TradeSettings = field(default_factory=TradeSettings)
    buy: BuySettings = field(default_factory=BuySettings)
    stored: StoredSettings = field(default_factory=StoredSettings)


SETTINGS = SearchSettings()
