"""The table of answers as a CSV file, one line a query and way of asking."""

import csv
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Literal

KEPT = Path(__file__).with_name("answers.csv")

Half = Literal["first", "second", "both"]
Key = tuple[str, str, int]


@dataclass(frozen=True)
class Answer:
    """What one query gave.

    `distance` is None where no row was found that is legal and reaches the target. `limit` says whether the
    distance that `over_limit` divides by is proved to be the least. `calls` are model calls, one after the
    other; `rows` leaves out the explainer's own background rows.
    """

    case: str
    way: str
    query: int
    model: str
    status: str
    distance: float | None
    over_limit: float | None
    limit: str
    rows: int
    calls: int

    @property
    def key(self) -> Key:
        return self.case, self.way, self.query

    @property
    def half(self) -> Half:
        """Settings are chosen on the first half, the even-numbered queries, and reported on the second."""
        return "second" if self.query % 2 else "first"


def in_half(query: int, half: Half) -> bool:
    return half == "both" or (half == "second") == bool(query % 2)


def read(path: Path = KEPT) -> dict[Key, Answer]:
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        found = [_answer(line) for line in csv.DictReader(file)]
    return {one.key: one for one in found}


def write(answers: Iterable[Answer], path: Path = KEPT) -> None:
    names = [field.name for field in fields(Answer)]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(_line(one) for one in answers)


def _line(answer: Answer) -> dict[str, object]:
    numbers = {
        "distance": "" if answer.distance is None else f"{answer.distance:.9g}",
        "over_limit": "" if answer.over_limit is None else f"{answer.over_limit:.6f}",
    }
    return asdict(answer) | numbers


def _answer(line: Mapping[str, str]) -> Answer:
    return Answer(
        case=line["case"],
        way=line["way"],
        query=int(line["query"]),
        model=line["model"],
        status=line["status"],
        distance=float(line["distance"]) if line["distance"] else None,
        over_limit=float(line["over_limit"]) if line["over_limit"] else None,
        limit=line["limit"],
        rows=int(line["rows"]),
        calls=int(line["calls"]),
    )
