"""What an explanation can be asked further, by whoever can still ask the model."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from ssba.answer.certificate import Certificate
    from ssba.answer.levers import Menu
    from ssba.answer.plans import Plan
    from ssba.answer.ranges import Ranges
    from ssba.answer.result import Explanation
    from ssba.answer.trials import Trial
    from ssba.answer.whynot import WhyNot


ADVICE_VERSION = 1
"""Version of the JSON form of what further questions give; see `advice.schema.json` beside this file."""


class Advisor(Protocol):
    """Answers questions about one explanation; each asks the model again, within a budget."""

    def plan(
        self,
        explanation: "Explanation",
        answer: int,
        effort: Mapping[str, float] | None,
        max_step: Mapping[str, float] | None,
    ) -> "Plan": ...

    def ranges(self, explanation: "Explanation", answer: int, samples: int) -> "Ranges": ...

    def why_not(self, explanation: "Explanation") -> "WhyNot": ...

    def levers(self, explanation: "Explanation", most_columns: int) -> "Menu": ...

    def try_values(self, explanation: "Explanation", values: Mapping[str, Any]) -> "Trial": ...

    def certificate(self, explanation: "Explanation") -> "Certificate": ...
