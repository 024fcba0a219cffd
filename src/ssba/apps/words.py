"""What each way in calls what the library's sentences name as one writes it in Python."""

from dataclasses import dataclass, fields, replace


@dataclass(frozen=True)
class Words:
    """How one says in some way in what may be asked otherwise, or further.

    Attributes
    ----------
    more_rows, more_seconds
        A larger budget.
    many_calls
        No limit on the calls of the model.
    ball
        Room around an answer.
    margins
        All that a margin may be.
    why_not
        The question what is in the way.
    rows, seconds
        The parts of a budget.
    """

    more_rows: str
    more_seconds: str
    many_calls: str
    margins: str
    ball: str
    why_not: str
    rows: str
    seconds: str

    def instead_of(self, other: "Words", text: str) -> str:
        """Return a text with these words instead of others.

        >>> COMMAND_LINE.instead_of(PYTHON, "allow more with budget=ssba.Budget(rows=...).")
        'allow more with --budget-rows.'
        """
        for field in fields(self):
            text = text.replace(getattr(other, field.name), getattr(self, field.name))
        return text


PYTHON = Words(
    more_rows="budget=ssba.Budget(rows=...)",
    more_seconds="budget=ssba.Budget(seconds=...)",
    many_calls="calls='many'",
    margins="a distance above 0, ssba.ball(radius) or ssba.score_margin(amount)",
    ball="ssba.ball(radius)",
    why_not="explainer.why_not(explanation)",
    rows="Budget(rows=...)",
    seconds="Budget(seconds=...)",
)

COMMAND_LINE = Words(
    more_rows="--budget-rows",
    more_seconds="--budget-seconds",
    many_calls="--calls many",
    margins="a distance above 0, or score:0.1",
    ball="a distance",
    why_not="`ssba explain --why-not`",
    rows="--budget-rows",
    seconds="--budget-seconds",
)

HTTP = Words(
    more_rows="budget.rows",
    more_seconds="budget.seconds",
    many_calls='options.calls = "many"',
    margins='a distance above 0, {"kind": "ball", "radius": 0.2} or {"kind": "score_margin", "amount": 0.1}',
    ball='{"kind": "ball", "radius": 0.2}',
    why_not="/api/why-not",
    rows="budget.rows",
    seconds="budget.seconds",
)

AGENT = replace(HTTP, why_not="why_not")
