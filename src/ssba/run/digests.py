"""What tells one run from another, as digests: whether finished chunks belong to it is told by these."""

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from ssba.explainer import Inside
from ssba.index.encoded_points import EncodedPoints
from ssba.index.point_store import FileBlock
from ssba.pipeline.ask import Ask
from ssba.version import __version__

if TYPE_CHECKING:
    import pandas as pd


def digest(facts: Any) -> str:
    """Return a digest of what can be told apart by its representation."""
    return digest_of_bytes(repr(facts).encode())


def digest_of_bytes(content: Any) -> str:
    """Return the sha256 of some bytes."""
    return hashlib.sha256(content).hexdigest()


def frame_digest(table: "pd.DataFrame") -> str:
    """Return a digest of a frame's cells, dtypes and names, whatever its index is."""
    import pandas as pd

    rows = digest_of_bytes(pd.util.hash_pandas_object(table, index=False).to_numpy().tobytes())
    return f"{rows} {list(table.dtypes.astype(str).items())}"


def explainer_digest(inside: Inside) -> str:
    """Return a digest of all that answers depend on in an explainer: settings, data, model."""
    engine = inside.engine
    rows = [_array_digest(one) for one in (engine.background.rows, engine.background.incomplete)]
    facts = (inside.settings, engine.judging.model.fingerprint, engine.space.schema_hash, rows, __version__)
    return digest(facts)


def ask_digest(ask: Ask, **how: Any) -> str:
    """Return a digest of what is asked about every row, and of how the output is made of it."""
    constraints = [str(one) for one in ask.constraints]
    return digest((constraints, ask.options, ask.budget, _points_digest(ask.boundary), sorted(how.items())))


def _points_digest(points: EncodedPoints | None) -> list[str] | None:
    if points is None:
        return None
    return [
        one.shard.sha256 if isinstance(one, FileBlock) else _array_digest(one.load()) for one in points.blocks
    ]


def _array_digest(rows: Any) -> str:
    return digest_of_bytes(np.ascontiguousarray(rows).tobytes())
