"""Boundary points as Arrow tables and Parquet files in the user's columns, and back (extra `arrow`)."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from os import PathLike, fspath
from typing import Any

import narwhals as nw
import numpy as np

from ssba.arguments import file_to_write
from ssba.columns import frames
from ssba.columns.space import Matrix
from ssba.engine import Engine
from ssba.errors import ArgumentError
from ssba.extras import require
from ssba.index.identity import identity_of
from ssba.index.point_store import Block

_METADATA = b"ssba"


def arrow_table(engine: Engine, blocks: Sequence[Block]) -> Any:
    """Return all points as one Arrow table."""
    require("pyarrow", "arrow", "to_arrow()")
    import pyarrow as pa

    tables = [_table(engine, rows) for rows in _loaded(engine, blocks)]
    return pa.concat_tables(tables).replace_schema_metadata(_metadata(engine))


def write_parquet(engine: Engine, blocks: Sequence[Block], file: str | PathLike[str]) -> None:
    """Write all points to a Parquet file, block by block."""
    require("pyarrow", "arrow", "to_parquet()")
    import pyarrow.parquet as pq

    path = file_to_write("to_parquet(file)", file)
    rows = _loaded(engine, blocks)
    first = _table(engine, next(rows)).replace_schema_metadata(_metadata(engine))
    with pq.ParquetWriter(path, first.schema) as writer:
        writer.write_table(first)
        for more in rows:
            writer.write_table(_table(engine, more).cast(first.schema))


def read_points(engine: Engine, source: Any) -> Iterator[Matrix]:
    """Yield the encoded rows of a frame, or of a Parquet file in chunks."""
    if not isinstance(source, str | PathLike):
        if not frames.is_frame(source) and not isinstance(source, np.ndarray):
            raise ArgumentError(
                f"{source!r:.80} is neither a frame nor the name of a Parquet file; give boundary points as "
                "a pandas, polars or pyarrow frame with the explainer's columns, or a file of to_parquet()"
            )
        yield engine.space.encode(source)
        return
    require("pyarrow", "arrow", "reading a Parquet file")
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(fspath(source))
    except (OSError, pa.ArrowInvalid) as error:
        raise ArgumentError(f"{fspath(source)!r} cannot be read as Parquet: {error}") from None
    with file:
        for batch in file.iter_batches():
            yield engine.space.encode(pa.Table.from_batches([batch]))


def _loaded(engine: Engine, blocks: Sequence[Block]) -> Iterator[Matrix]:
    if not blocks:
        yield engine.background.rows[:0]
    for block in blocks:
        yield block.load()


def _table(engine: Engine, rows: Matrix) -> Any:
    import pyarrow as pa

    written = engine.space.decode(rows)
    if frames.is_frame(written):
        return nw.from_native(written, eager_only=True).to_arrow().replace_schema_metadata(None)
    return pa.table({name: written[:, i] for i, name in enumerate(engine.space.names)})


def _metadata(engine: Engine) -> dict[bytes, bytes]:
    return {_METADATA: json.dumps(asdict(identity_of(engine))).encode()}
