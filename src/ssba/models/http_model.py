"""`ssba.http_model`: a model behind an HTTP endpoint, as a function of rows like any other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, final

from ssba.arguments import came, listed, number, whole
from ssba.errors import ArgumentError
from ssba.extras import require
from ssba.models.answers import Array
from ssba.models.remote.address import Address, address
from ssba.models.remote.answers import Read, answers_in, as_answers
from ssba.models.remote.rows import FORMS, Form, batches, body_of
from ssba.models.remote.sending import HttpStats, Sender

_MOST_RETRIES = 20
_DAY = 86_400.0


@final
@dataclass(frozen=True)
class _Settings:
    """All that makes a remote model, and all that a pickle of one holds."""

    where: Address
    columns: tuple[str, ...] | None
    form: Form
    read: Read
    batch_rows: int
    timeout: float
    retries: int


@final
class HttpModel:
    """A function from rows to answers that asks an HTTP endpoint; made by `ssba.http_model`.

    Threads may share one. A pickle holds the URL and the headers, secrets among them, and neither the
    connection nor the counts.
    """

    def __init__(self, settings: _Settings) -> None:
        require("httpx2", "client", "asking a model over HTTP")
        self._settings = settings
        self._sender = Sender(settings.where, settings.timeout, settings.retries)

    def __call__(self, rows: Any) -> Array:
        """Return one answer a row, asked for in as many requests as it takes."""
        given = self._settings
        answers: list[Any] = []
        for batch in batches(rows, given.batch_rows):
            text = self._sender.post(body_of(batch, given.form, given.columns), len(batch))
            answers += answers_in(given.where, text, given.read, len(batch))
        return as_answers(given.where, answers)

    @property
    def stats(self) -> HttpStats:
        """Requests, rows, retries and seconds so far."""
        return self._sender.stats

    def close(self) -> None:
        """Close the connection. The next call opens another one."""
        self._sender.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[type["HttpModel"], tuple[_Settings]]:
        return HttpModel, (self._settings,)

    def __repr__(self) -> str:
        done, shown = self.stats, self._settings.where.shown
        return f"<http_model {shown}: requests={done.requests}, rows={done.rows}, retries={done.retries}>"


def http_model(
    url: str,
    *,
    columns: Sequence[str] | None = None,
    form: Form = "records",
    read: Read = None,
    headers: Mapping[str, str] | None = None,
    batch_rows: int = 1000,
    timeout: float = 10.0,
    retries: int = 3,
) -> HttpModel:
    """Make a model of an HTTP endpoint, for `Explainer` to ask. Needs the extra `client`.

    Rows are sent with POST as JSON: missing cells as null, dates as ISO text. No redirect is followed.

    Parameters
    ----------
    url
        The whole address of the endpoint. Messages show it without user, password and query.
    columns
        Of a frame: the columns to send, in this order, all by default. Of an array: the names of its columns.
    form
        What a request holds: ``"records"`` is ``{"rows": [{column: value}]}``, ``"split"`` is MLflow's
        ``{"dataframe_split": {"columns": [...], "data": [[...]]}}``, ``"instances"`` is the
        ``{"instances": [[...]]}`` of TensorFlow Serving and Vertex AI. Or a function from a batch of rows to
        whatever the endpoint reads.
    read
        Where the answers are in a reply. By default the reply is a list or has one of ``predictions``,
        ``labels``, ``scores``, ``outputs``. Else a path such as ``"result.labels"`` or ``"outputs.0.data"``,
        or a function of the reply. Answers are what a function as a model may give: labels, the probability
        of class 1, a list of class scores, or numbers.
    headers
        Sent with each request, such as ``{"Authorization": "Bearer ..."}``. Never shown; pickles hold them.
    batch_rows
        Rows a request has at most.
    timeout
        Seconds for each wait: for the connection, and for every piece of the reply; content that is still
        arriving so many seconds after the request began is given up, too.
    retries
        How often a request is repeated after connection errors, timeouts and the statuses 429, 502, 503, 504,
        with 0.5 s, 1 s, 2 s, ... between, or as long as the server asks for, at most 30 s.

    Examples
    --------
    >>> model = http_model("https://models.example/predict?version=2", headers={"X-Key": "secret"})
    >>> model
    <http_model https://models.example/predict: requests=0, rows=0, retries=0>
    """
    require("httpx2", "client", "asking a model over HTTP")
    if not callable(form) and not (isinstance(form, str) and form in FORMS):
        raise ArgumentError(
            f"form is {came(form)}; choose one of {', '.join(map(repr, FORMS))}, or give a function from "
            "rows to what the body of a request shall hold"
        )
    if not (read is None or callable(read) or (isinstance(read, str) and read)):
        raise ArgumentError(
            f"read is {came(read)}; give a path in the reply, such as 'result.labels', or a function of it"
        )
    return HttpModel(
        _Settings(
            where=address(url, headers),
            columns=None if columns is None else _names(columns),
            form=form,
            read=read,
            batch_rows=whole("batch_rows", batch_rows, at_least=1),
            timeout=number("timeout", timeout, "seconds, more than 0 and less than a day", 0.0, _DAY),
            retries=whole("retries", retries, at_least=0, at_most=_MOST_RETRIES),
        )
    )


def _names(columns: Sequence[str]) -> tuple[str, ...]:
    wanted = "give a list of column names, each once"
    names = tuple(listed("columns", columns, wanted))
    if (
        not names
        or len(set(map(str, names))) < len(names)
        or not all(isinstance(name, str) for name in names)
    ):
        raise ArgumentError(f"columns is {list(names)!r:.80}; {wanted}")
    return names
