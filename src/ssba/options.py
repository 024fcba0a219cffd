"""What a call asks of its answers beside the constraints, and what it may spend: plain, comparable data."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal, TypedDict, final, get_args

from ssba.arguments import meant, number, one_of, whole
from ssba.errors import ArgumentError
from ssba.json_form import JsonForm

Sparsity = Literal["none", "balanced", "strong"]
Diversity = Literal["columns", "distance", "levers"]
Prove = bool | Literal["auto"]
Calls = Literal["many", "few"]

PRICES: dict[Sparsity, float] = {"none": 1.0, "balanced": 1.1, "strong": 1.5}
"""How many times as long as the nearest answer one with fewer changed columns may be."""

SHORTER = 1e-3
"""The share of its length by which a change may grow for the sake of fewer digits."""


@final
@dataclass(frozen=True)
class Ball:
    """Every row within `radius` of the answer reaches the target, too."""

    radius: float

    has_kind: ClassVar[bool] = True

    def __post_init__(self) -> None:
        number("ball(radius=...)", self.radius, "a distance above 0", low=0, high=1e300)

    @property
    def text(self) -> str:
        """The margin as it is written in a call."""
        return f"ball({_digits(self.radius)})"


@final
@dataclass(frozen=True)
class ScoreMargin:
    """The score passes the target's threshold by at least `amount`."""

    amount: float

    has_kind: ClassVar[bool] = True

    def __post_init__(self) -> None:
        number("score_margin(amount=...)", self.amount, "a number above 0", low=0, high=1e300)

    @property
    def text(self) -> str:
        """The margin as it is written in a call."""
        return f"score_margin({_digits(self.amount)})"


Margin = Ball | ScoreMargin


def ball(radius: float) -> Ball:
    """Ask that every row within this distance of an answer reaches the target, too.

    Whether the rows around it are feasible does not matter: they stand for what cannot be controlled.

    >>> ball(0.25)
    Ball(radius=0.25)
    """
    return Ball(radius)


def score_margin(amount: float) -> ScoreMargin:
    """Ask that an answer's score passes the target's threshold by at least so much.

    >>> score_margin(0.1)
    ScoreMargin(amount=0.1)
    """
    return ScoreMargin(amount)


def _digits(value: float) -> str:
    """Write a number in few digits where they say it exactly."""
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value))


@final
@dataclass(frozen=True)
class Budget:
    """What a call may spend: model rows for the search of each query, and seconds for the whole call.

    The best answer so far is returned when it runs out, and with more rows the nearest row found is never
    farther. Checking the query and its answers takes a few rows more, and what an explainer does once is not
    counted: predicting its background rows, and 500 boundary points when the first bounded move needs them.
    Time ends within about one model call and a second; it depends on the machine, rows do not.

    >>> Budget(rows=500)
    Budget(rows=500, seconds=None)
    """

    rows: int = 15_000
    seconds: float | None = None

    def __post_init__(self) -> None:
        whole("Budget(rows=...)", self.rows, at_least=1)
        if self.seconds is not None:
            number("Budget(seconds=...)", self.seconds, "a number of seconds above 0, or None", low=0)


class OptionFields(TypedDict, total=False):
    """The fields of `Options`, as `explain` and `explain_many` take them by name."""

    k: int
    sparsity: Sparsity
    diversity: Diversity
    max_changes: int | None
    plausible: bool
    margin: float | Margin | None
    evidence: int
    prove: Prove
    calls: Calls | None


@final
@dataclass(frozen=True)
class Options(JsonForm):
    """What a call asks of its answers, besides the constraints.

    Frozen and comparable, with a JSON form. ``explain(row, k=3)`` is short for
    ``explain(row, options=ssba.Options(k=3))``.

    Parameters
    ----------
    k : int
        How many different answers to return at most; the first is the one that ``k=1`` gives.
    sparsity : {"none", "balanced", "strong"}
        Whether to look for fewer changed columns, at a price: an answer at most 10% ("balanced") or 50%
        ("strong") longer than the nearest one found. A changed category counts as a column.
    diversity : {"columns", "distance", "levers"}
        What makes `k` answers different. "columns": after the best come the nearest that change other sets of
        columns; only where these are fewer than `k` further rows, of these sets or larger, that lie apart.
        "distance": that they lie apart, or cross: each changes a column that the other leaves. "levers": only
        other sets of columns, without superfluous ones, which are left out as by ``sparsity="balanced"``; a
        set that contains another only if it is at least 10% nearer, as in ``Explainer.levers``.
    max_changes : int, optional
        How many columns may change at most.
    plausible : bool
        Whether answers must lie where the data live: no further from the nearest background row on the
        target's side than 95% of these rows are from their own nearest neighbours.
    margin : float, ``ssba.ball(radius)`` or ``ssba.score_margin(amount)``, optional
        Room to spare: every row within this distance of an answer must reach the target, too (a number is
        the radius of a ball), as checked in over 100 directions; or the score must pass the threshold by
        some amount.
    evidence : int
        How many feasible rows nearer than the best answer to draw at random and ask about once the search
        has ended: 59 bound the share of them that reaches the target below 5% (at 95% confidence), 1000
        below 0.3%. Where there are few such rows all are asked. 0: no evidence.
    prove : {"auto", True, False}
        Whether to open tree ensembles, to find the nearest row from their inside and prove it. "auto": where
        little work is enough, which is counted, not timed: about 0.2 s a query; what it leaves open is
        searched. True: in the time it takes, mostly seconds (with the extra ``exact`` also for many free
        columns); where nothing could be proved ``evidence.unproved`` says why. False: never. Linear models
        are always opened, and a pipeline's last step may be searched without the steps before it. Unless this
        is False, scikit-learn's networks and kernel machines are opened, too, to be led by their slopes.
    calls : {"many", "few"}, optional
        "few": where a call of the model is dear however few rows it has, as over a network: more rows are
        asked about at once. The plain question takes at most 25 calls by scores and 40 by labels where it is
        answered; a bounded move, `max_changes`, `sparsity`, levers and a ball as `margin` take more. None:
        "few" for ``ssba.Costly(model)``, else "many".

    Examples
    --------
    >>> Options(k=3, margin=0.5).to_dict()["margin"]
    {'kind': 'ball', 'radius': 0.5}
    """

    k: int = 1
    sparsity: Sparsity = "none"
    diversity: Diversity = "columns"
    max_changes: int | None = None
    plausible: bool = False
    margin: Margin | None = None
    evidence: int = 59
    prove: Prove = "auto"
    calls: Calls | None = None

    derived: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        one_of("sparsity", self.sparsity, get_args(Sparsity))
        one_of("diversity", self.diversity, get_args(Diversity))
        if self.calls is not None:
            one_of("calls", self.calls, get_args(Calls))
        if not isinstance(self.plausible, bool):
            raise ArgumentError(f"plausible is {self.plausible!r:.80}; give True or False")
        if not isinstance(self.prove, bool) and not (isinstance(self.prove, str) and self.prove == "auto"):
            raise ArgumentError(f"prove is {self.prove!r:.80}; give 'auto', True or False")
        most = self.max_changes
        self._set(
            k=whole("k", self.k, at_least=1),
            evidence=whole("evidence", self.evidence, at_least=0),
            max_changes=None if most is None else whole("max_changes", most, at_least=1),
            margin=_margin(self.margin),
        )

    def _set(self, **checked: Any) -> None:
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def limits(self) -> tuple[str, ...]:
        """What narrows the answers down and may be relaxed, in the words of the call."""
        said = []
        if self.max_changes is not None:
            said.append(f"max_changes={self.max_changes}")
        if self.plausible:
            said.append("plausible=True")
        if self.margin is not None:
            said.append(f"margin={self.margin.text}")
        return tuple(said)

    @property
    def price(self) -> float:
        """How many times as long as the nearest an answer with fewer changed columns may be.

        Levers are sets of columns, so that superfluous ones are left out where sparsity is not asked for,
        too. What is kept back is what an answer in few digits may add.
        """
        wants_sets = self.diversity == "levers" and self.k > 1
        price = PRICES["balanced" if wants_sets and self.sparsity == "none" else self.sparsity]
        return max(1.0, price / (1 + SHORTER))

    @property
    def asks_only_for_goal(self) -> bool:
        """Whether a row that reaches the goal gives all that is asked for, but for a ball around it."""
        by_score = isinstance(self.margin, ScoreMargin)
        return self.max_changes is None and not self.plausible and not by_score

    @property
    def asks_for_more(self) -> bool:
        """Whether more is to be searched for than the nearest row."""
        return self.price > 1 or self.radius is not None or (self.k > 1 and self.diversity != "distance")

    @property
    def wants_nearest_only(self) -> bool:
        """Whether the one nearest row is all that is asked for."""
        return self.k == 1 and not self.asks_for_more and not self.wants_few

    @property
    def wants_few(self) -> bool:
        """Whether the number of changed columns matters."""
        return self.price > 1 or self.max_changes is not None

    @property
    def radius(self) -> float | None:
        """The radius of the ball around each answer; None where none was asked for."""
        return self.margin.radius if isinstance(self.margin, Ball) else None


def _margin(given: Any) -> Margin | None:
    if given is None or isinstance(given, Ball | ScoreMargin):
        return given
    allowed = "a distance above 0, ssba.ball(radius) or ssba.score_margin(amount)"
    return Ball(number("margin", given, allowed, low=0, high=1e300))


def options_from(options: Options | None, named: Mapping[str, Any]) -> Options:
    """Return options with some fields named in a call; refuse names that are none."""
    if options is not None and not isinstance(options, Options):
        raise ArgumentError(f"options is {options!r:.80}; give ssba.Options(k=..., ...)")
    known = [one.name for one in fields(Options)]
    if strangers := [name for name in named if name not in known]:
        if "target" in strangers:
            raise ArgumentError("this call takes no target; write toward(target).explain_many(...)")
        near = meant(strangers[0], known)
        raise ArgumentError(f"{strangers[0]!r} is not an option{near}; the options are {', '.join(known)}")
    return replace(options or Options(), **named) if named else options or Options()
