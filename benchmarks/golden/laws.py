"""Laws between answers to the same query: to ask for more, or to tell less, gives nothing nearer."""

from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks.golden.table import Answer

SLACK = 1.01
"""Ways of asking take different ways to an answer, and it is written in few digits: 1% says nothing."""


@dataclass(frozen=True)
class Law:
    """The answers of the `easier` way of asking are no farther than those of the `harder` one."""

    text: str
    easier: str
    harder: str

    def compared(self, answers: Iterable[Answer]) -> list[tuple[Answer, Answer]]:
        """The queries that were asked in both ways."""
        known = {one.key: one for one in answers}
        pairs = (
            (one, known.get((one.case, self.harder, one.query)))
            for one in known.values()
            if one.way == self.easier
        )
        return [(easier, harder) for easier, harder in pairs if harder is not None]

    def broken(self, answers: Iterable[Answer]) -> list[Answer]:
        """The easier questions whose answer is farther than that of the harder one, or missing."""
        return [easier for easier, harder in self.compared(answers) if _is_nearer(harder, easier)]


LAWS = (
    Law("labels alone give no nearer answer than scores", "scores", "labels"),
    Law("a probability of at least 0.5 gives no nearer answer than the class", "scores", "scores 0.5"),
    Law("a probability of at least 0.6 gives no nearer answer than 0.5", "scores 0.5", "scores 0.6"),
)


def _is_nearer(harder: Answer, easier: Answer) -> bool:
    if harder.distance is None or easier.distance is None:
        return harder.distance is not None
    return harder.distance * SLACK < easier.distance
