"""What an explanation can be asked further, by whoever can still ask the model."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from ssba.results.certificate.document import Certificate
    from ssba.results.explanation import Explanation
    from ssba.results.levers import Menu
    from ssba.results.plan import Plan
    from ssba.results.ranges import Ranges
    from ssba.results.trial import Trial
    from ssba.results.why_not import WhyNot


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
