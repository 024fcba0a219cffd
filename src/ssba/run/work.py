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
        names = chunk.names
        reasons = {number: f"{names[number]}: {why}" for number, why in chunk.unreadable.items()}
        if reasons and self.on_error == "stop":
            raise self._stopped(next(iter(reasons.values())))
        readable = [number for number in chunk.numbers if number not in reasons]
        found = self._explained(chunk.rows, [names[number] for number in readable])
        explained = dict(zip(readable, found, strict=True))
        return [reasons.get(number) or explained[number] for number in chunk.numbers]

    def _explained(self, rows: "pd.DataFrame", names: Sequence[str]) -> Sequence[Outcome]:
        if not len(rows):
            return []
        try:
            return self.explain(rows)
        except (SchemaError, ModelError) as error:
            reason = _by_name(str(error), names)
            if self.on_error == "stop":
                raise self._stopped(reason) from None
            if len(rows) == 1:
                return [reason]
        alone = (rows.iloc[[i]].reset_index(drop=True) for i in range(len(rows)))
        return [self._explained(row, [name])[0] for row, name in zip(alone, names, strict=True)]

    def _stopped(self, reason: str) -> ArgumentError:
        return ArgumentError(f"{reason}; correct the row, or {self.words.on_error} to go on without it")


def _by_name(message: str, names: Sequence[str]) -> str:
    """Name a row as it is called in the input, where a message names it by its place in the chunk.

    >>> _by_name("row 1, column 'chol': 'abc' is not a number", ["row 64 (line 66)", "row 65 (line 67)"])
    "row 65 (line 67), column 'chol': 'abc' is not a number"
    >>> _by_name("the model failed", ["row 64", "row 65"])
    'the model failed'
    """
    found = re.match(r"row (\d+)\b", message)
    return message if found is None else f"{names[int(found[1])]}{message[found.end() :]}"
