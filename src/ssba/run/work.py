"""The work on one chunk, the same in this process, in another one, and on another machine."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ssba.errors import ArgumentError, ModelError, SchemaError
from ssba.results import Explanation
from ssba.run.chunks import Chunk
from ssba.run.parts import Words
from ssba.run.table import Asked, Outcome, TableForm

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

OnError = Literal["stop", "row"]
Explain = Callable[["pd.DataFrame"], Sequence[Explanation]]


@dataclass(frozen=True)
class Done:
    """A chunk that is finished; `digest` is that of its rows."""

    place: int
    rows: int
    table: "pa.Table"
    digest: str = ""


@dataclass(frozen=True)
class ChunkWork:
    """How a chunk becomes rows of the output, and what a row that cannot be read or scored leads to."""

    explain: Explain
    form: TableForm
    on_error: OnError
    words: Words

    def __call__(self, chunk: Chunk) -> Done:
        """Explain a chunk."""
        asked = [
            Asked(number, own, outcome)
            for number, own, outcome in zip(chunk.numbers, chunk.ids, self._outcomes(chunk), strict=True)
        ]
        return Done(chunk.place, len(asked), self.form.table(asked), chunk.digest)

    def _outcomes(self, chunk: Chunk) -> list[Outcome]:
        reasons = {number: f"row {number}: {why}" for number, why in chunk.unreadable.items()}
        if reasons and self.on_error == "stop":
            raise self._stopped(next(iter(reasons.values())))
        readable = [number for number in chunk.numbers if number not in reasons]
        explained = dict(zip(readable, self._explained(chunk.rows, readable), strict=True))
        return [reasons.get(number) or explained[number] for number in chunk.numbers]

    def _explained(self, rows: "pd.DataFrame", numbers: Sequence[int]) -> Sequence[Outcome]:
        if not len(rows):
            return []
        try:
            return self.explain(rows)
        except (SchemaError, ModelError) as error:
            reason = _by_number(str(error), numbers)
            if self.on_error == "stop":
                raise self._stopped(reason) from None
            if len(rows) == 1:
                return [reason]
        alone = (rows.iloc[[i]].reset_index(drop=True) for i in range(len(rows)))
        return [self._explained(row, [number])[0] for row, number in zip(alone, numbers, strict=True)]

    def _stopped(self, reason: str) -> ArgumentError:
        return ArgumentError(f"{reason}; correct the row, or {self.words.on_error} to go on without it")


def _by_number(message: str, numbers: Sequence[int]) -> str:
    """Name a row by its number in the input, where a message names it by its place in the chunk.

    >>> _by_number("row 1, column 'chol': 'abc' is not a number", [64, 65])
    "row 65, column 'chol': 'abc' is not a number"
    >>> _by_number("the model failed", [64, 65])
    'the model failed'
    """
    found = re.match(r"row (\d+)\b", message)
    return message if found is None else f"row {numbers[int(found[1])]}{message[found.end() :]}"
