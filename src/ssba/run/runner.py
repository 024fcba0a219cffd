"""`Runner`: what an explainer does with many pairs and many rows, for whoever does the work."""

from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Self, Unpack, final, get_args

from ssba.arguments import file_to_write, one_of
from ssba.constraints.lists import Constraints
from ssba.errors import ArgumentError, SchemaError
from ssba.explainer import Crossings, Inside
from ssba.extras import require
from ssba.index.boundary_set import BoundarySet
from ssba.index.open_index import sample
from ssba.index.point_store import PointStore
from ssba.index.sampling import Growth, Watch, add_points, missing_pieces
from ssba.options import Budget, OptionFields, Options
from ssba.progress import bar
from ssba.run.chunks import Chunk, DatasetSource, ParquetSource, Source, Wanted, file_digest, with_digest
from ssba.run.crews import Crew
from ssba.run.digests import ask_digest, explainer_digest
from ssba.run.locks import held
from ssba.run.parts import IN_PYTHON, Parts
from ssba.run.tasks import Explaining, Growing, Pairs, Points
from ssba.run.work import Done, OnError


@final
@dataclass(frozen=True)
class Output:
    """The Parquet file that a run writes, and what it holds.

    Parameters
    ----------
    path : str or path
        The file.
    on_error : {"stop", "row"}
        What to do about a row that cannot be read or scored: stop, or give it the status ``error``.
    with_json : bool
        Whether to add a column with the whole explanation as JSON.
    force : bool
        Whether to begin anew, and overwrite the file if there is one.

    Examples
    --------
    >>> Output("answers.parquet", on_error="row")
    Output(path='answers.parquet', on_error='row', with_json=False, force=False)
    """

    path: str | PathLike[str]
    on_error: OnError = "stop"
    with_json: bool = False
    force: bool = False

    def __post_init__(self) -> None:
        one_of("Output(on_error=...)", self.on_error, get_args(OnError))


@dataclass(frozen=True)
class Written:
    """What a run wrote.

    Attributes
    ----------
    path
        The file.
    rows, rows_before
        How many rows were explained in all, and how many of them by an earlier run that did not finish.
    statuses
        How many rows ended how.
    """

    path: Path
    rows: int
    rows_before: int
    statuses: Mapping[str, int]

    def digest(self) -> str:
        """Return the sha256 of the file."""
        return file_digest(self.path)


class Runner:
    """Fills indexes and explains files, by this process or a cluster; made by `on_ray` or `locally`.

    What is done already is kept: the same call again, after any kind of end, does what is missing. Used with
    ``with``, it gives back what it took of a cluster; `close` does so, too.
    """

    def __init__(self, inside: Inside, crew: Crew, chunk: int, progress: bool | None) -> None:
        self._inside = inside
        self._crew = crew
        self._chunk = chunk
        self._progress = progress

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the actors, and leave the cluster unless this process had joined it before."""
        self._crew.close()

    def sample_boundary(
        self,
        n_pairs: int = 10_000,
        tolerance: float = 1e-3,
        *,
        path: str | PathLike[str] | None = None,
        labels: Any = None,
        crossings: Crossings = "one",
        resolution: int = 32,
    ) -> BoundarySet:
        """Find boundary points as `Explainer.sample_boundary` does, with the same arguments and points.

        The work is cut at every 32,768th pair. Points travel to this process, which alone writes to `path`.
        """
        growth = self._inside.growth(n_pairs, tolerance, labels, (crossings, resolution))
        task = Growing(
            [one.key for one in growth.streams], tolerance, labels, 1 if crossings == "one" else resolution
        )

        def fill(store: PointStore, growth: Growth, watch: Watch) -> int:
            missing = [Pairs(*one) for one in missing_pieces(store, growth)]
            return _filled(store, growth, self._crew.results(task, missing), watch) if missing else 0

        return sample(self._inside.engine, growth, path, self._progress, fill)

    def explain_many(
        self,
        rows: Any,
        constraints: Constraints = (),
        *,
        out: str | PathLike[str] | Output,
        id: str | None = None,
        options: Options | None = None,
        budget: Budget | None = None,
        boundary: BoundarySet | None = None,
        **fields: Unpack[OptionFields],
    ) -> Written:
        """Explain every row of a Parquet file or Ray Dataset, and write the answers to a Parquet file.

        Each answer is the one that `Explainer.explain_many` would give. Finished chunks are kept in
        ``OUT.parts`` until all are there; the same call again goes on with them. ``docs/batch.md`` has the
        columns.

        Parameters
        ----------
        rows
            The name of a Parquet file with the model's columns, or a Ray Dataset that has them.
        constraints
            Constraint objects or texts, the same for all rows.
        out : str, path or Output
            The Parquet file to write; `Output` also says what becomes of bad rows, whether it holds JSON, and
            whether it may be overwritten.
        id : str, optional
            The column that names rows, which the output then has, too.
        options, budget, boundary, **fields
            As for `Explainer.explain_many`; a budget of seconds is refused, since answers would depend on the
            machine.
        """
        require("pyarrow", "arrow", "writing a Parquet file")
        require("pandas", "ray", "reading rows in chunks")
        made = out if isinstance(out, Output) else Output(out)
        ask = self._inside.ask(constraints, options, budget, boundary, fields)
        if ask.budget.seconds is not None:
            raise ArgumentError(
                "a budget of seconds would make answers depend on the machine that works on them; give "
                "ssba.Budget(rows=...)"
            )
        file = file_to_write("out", made.path)
        source = _source(rows, Wanted(self._inside.engine.columns, id))
        task = Explaining(ask, made.on_error, id is not None, made.with_json)
        about = {
            "explainer": explainer_digest(self._inside),
            "request": ask_digest(
                ask, chunk=self._chunk, on_error=made.on_error, with_json=made.with_json, id=id
            ),
        }
        with held(file):
            return self._written(task, source, Parts(file, about), made.force)

    def _written(self, task: Explaining, source: Source, parts: Parts, force: bool) -> Written:
        finished = parts.begin(force)
        with bar(source.count(), "rows", self._progress, unit=" rows") as shown:
            left = _Left(source.chunks(self._chunk), finished, parts, shown.update)
            # A lazy Dataset is worked on by the cluster itself, which needs a processor for that.
            spare = 1 if isinstance(source, DatasetSource) else 0
            with closing(self._crew.results(task, left, spare)) as results:
                for done in results:
                    assert isinstance(done, Done)
                    parts.add(done.place, done.table, done.digest)
                    shown.update(done.rows)
        left.refuse_more()
        form = task.form(self._inside.engine)
        statuses: Counter[str] = parts.finish(form.schema, form.own("status"))
        return Written(parts.out, left.rows, left.rows_before, dict(statuses))


def _filled(store: PointStore, growth: Growth, results: Generator[Points, None, None], watch: Watch) -> int:
    """Put points on a store as they come; return how many model rows they took."""
    asked = 0
    with closing(results):
        for one in results:
            add_points(store, growth, (one.pairs.stream, one.pairs.positions), one.points)
            asked += one.rows_asked
            watch(len(one.pairs.positions))
    return asked


class _Left:
    """The chunks that are still to be worked on; counts all that it has seen."""

    def __init__(
        self, chunks: Iterable[Chunk], finished: Mapping[int, str], parts: Parts, watch: Watch
    ) -> None:
        self._chunks = chunks
        self._finished = finished
        self._parts = parts
        self._watch = watch
        self.places = self.rows = self.rows_before = 0

    def __iter__(self) -> Iterator[Chunk]:
        for chunk in map(with_digest, self._chunks):
            self.places += 1
            self.rows += len(chunk.numbers)
            if chunk.place not in self._finished:
                yield chunk
                continue
            if self._finished[chunk.place] != chunk.digest:
                raise self._other_rows()
            self.rows_before += len(chunk.numbers)
            self._watch(len(chunk.numbers))

    def refuse_more(self) -> None:
        """Refuse finished chunks of rows that are not there any more."""
        if any(place >= self.places for place in self._finished):
            raise self._other_rows()

    def _other_rows(self) -> ArgumentError:
        return ArgumentError(
            f"{self._parts.folder} holds chunks of other rows than these, or of rows in another order; "
            f"repeat that call to go on with it, choose another out, or {IN_PYTHON.force} to begin anew"
        )


def _source(rows: Any, wanted: Wanted) -> Source:
    """Return the rows of a file or Dataset, or refuse what is neither."""
    if type(rows).__module__.startswith("ray.data."):
        names, source = list(rows.schema().names), DatasetSource(rows, wanted)
        _check_id(wanted, names, "the Ray Dataset")
        return source
    if not isinstance(rows, str | PathLike):
        raise ArgumentError(
            f"rows is of type {type(rows).__name__}; give the name of a Parquet file or a Ray Dataset; rows "
            "in memory are for Explainer.explain_many(rows, workers=...)"
        )
    file = Path(fspath(rows))
    if not file.is_file():
        raise ArgumentError(f"{file}: there is no such file")
    opened = ParquetSource(file, wanted)
    _check_id(wanted, opened.names, file.name)
    return opened


def _check_id(wanted: Wanted, names: Iterable[str], source: str) -> None:
    if wanted.id is not None and wanted.id not in names:
        raise SchemaError(f"{source}: there is no column {wanted.id!r}, which shall name the rows")
