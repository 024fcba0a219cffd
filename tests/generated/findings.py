"""What came of checking one world."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Failure:
    """A statement that is not so, and what shows it."""

    statement: str
    shown: str

    def __str__(self) -> str:
        return f"{self.statement}: {self.shown}"


@dataclass
class Findings:
    """All checks of one world.

    `over_optimum` is the answer's distance over that of the nearest row, where that is known, of a model that
    gives labels or scores (`by`); `seconds` is the CPU time that it all took.
    """

    seed: int
    family: str
    checks: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    over_optimum: float | None = None
    by: str = ""
    seconds: float = 0.0

    def check(self, statement: str, holds: bool, shown: object = "") -> None:
        """Count a check, and keep what shows that it does not hold."""
        self.checks[statement] += 1
        if not holds:
            self.failures.append(Failure(statement, str(shown)))

    @property
    def failed(self) -> set[str]:
        return {one.statement for one in self.failures}
