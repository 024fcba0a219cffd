"""Manifests of a boundary index: what they say, and how they are written and checked.

A manifest is canonical JSON that holds the sha256 of itself. Nothing here touches a disk, and no
value is trusted before it was checked: see docs/boundary-format.md for the rules and their reasons.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from hashlib import sha256
from typing import Any, NoReturn

FORMAT = 1
HEADER_BYTES = 128
_CELL_BYTES = 8
_MOST_ROWS = 10**12
_MOST_COLUMNS = 10**6
_SHA256 = re.compile("[0-9a-f]{64}")

Fact = str | int | float


class UnreadableManifest(ValueError):
    """The bytes are no manifest that this version can read; the message says why."""


class NewerManifest(UnreadableManifest):
    """The manifest is intact, yet its format is newer than this version of ssba."""


@dataclass(frozen=True)
class Identity:
    """What all points of an index are about: the columns, the model and the target."""

    schema_hash: str
    columns: tuple[str, ...]
    kinds: tuple[str, ...]
    model_name: str
    model_fingerprint: str
    target: str

    def differences(self, other: "Identity") -> tuple[str, ...]:
        """Say how `other`, what is at hand, differs from this, what the index holds; nothing if it does not.

        >>> heart = Identity("5e", ("age",), ("integer",), "SVC", "a1", "'healthy'")
        >>> heart.differences(heart)
        ()
        >>> heart.differences(Identity("5e", ("age",), ("integer",), "SVC", "b2", "'healthy'"))
        ("the model: SVC with fingerprint 'a1' in the index, SVC with fingerprint 'b2' here",)
        """
        found = [*_column_differences(self, other)]
        if not found and self.schema_hash != other.schema_hash:
            found.append("levels, steps or types of the columns: the schema hash is another one")
        if self.model_fingerprint != other.model_fingerprint:
            found.append(f"the model: {_model(self)} in the index, {_model(other)} here")
        if self.target != other.target:
            found.append(f"the target: {self.target} in the index, {other.target} here")
        return tuple(found)


def _column_differences(index: Identity, here: Identity) -> list[str]:
    if set(index.columns) != set(here.columns):
        missing = sorted(set(index.columns) - set(here.columns))
        extra = sorted(set(here.columns) - set(index.columns))
        said = [f"{missing} only in the index"] * bool(missing) + [f"{extra} only here"] * bool(extra)
        return [f"the columns: {', '.join(said)}"]
    if index.columns != here.columns:
        return ["the order of the columns"]
    return [
        f"column {name!r}: {one} in the index, {other} here"
        for name, one, other in zip(index.columns, index.kinds, here.kinds, strict=True)
        if one != other
    ]


def _model(identity: Identity) -> str:
    return f"{identity.model_name} with fingerprint {identity.model_fingerprint[:12]!r}"


@dataclass(frozen=True)
class Shard:
    """One file of points. `about` holds free facts that the store keeps and does not interpret."""

    rows: int
    bytes: int
    sha256: str
    about: Mapping[str, Fact]

    @property
    def name(self) -> str:
        """The name of its file, which follows from its content."""
        return f"{self.sha256}.npy"


@dataclass(frozen=True)
class Manifest:
    """One version of an index: its number, what its points are about, and its shards."""

    number: int
    identity: Identity
    shards: tuple[Shard, ...]

    @property
    def rows(self) -> int:
        """How many points all shards hold together."""
        return sum(shard.rows for shard in self.shards)


def shard_bytes(rows: int, columns: int) -> int:
    """How long the file of a shard is."""
    return HEADER_BYTES + _CELL_BYTES * rows * columns


def manifest_bytes(manifest: Manifest) -> bytes:
    """Write a manifest as canonical JSON, with the sha256 of the rest of itself."""
    body = {
        "format": FORMAT,
        "number": manifest.number,
        "identity": vars(manifest.identity),
        "shards": [vars(shard) | {"about": dict(shard.about)} for shard in manifest.shards],
    }
    return _canonical(body | {"sha256": _body_sha256(body)})


def read_manifest(raw: bytes, number: int) -> Manifest:
    """Check the bytes of the manifest of this number, and read them.

    Raises
    ------
    UnreadableManifest
        If anything about them is not as it should be.
    """
    body = _intact(raw)
    found = body.get("format")
    if isinstance(found, int) and found > FORMAT:
        raise NewerManifest(f"it has format {found}, and this version of ssba reads up to {FORMAT}")
    if found != FORMAT or isinstance(found, bool):
        _refuse(f"its format is {found!r:.40}")
    _has_keys(body, {"format", "number", "identity", "shards"}, "the manifest")
    if _whole(body["number"], "the number", 10**18) != number:
        _refuse(f"it says that its number is {body['number']}")
    identity = _read_identity(body["identity"])
    listed = _listed(body["shards"], "the shards")
    return Manifest(number, identity, tuple(_read_shard(one, len(identity.columns)) for one in listed))


def _intact(raw: bytes) -> dict[str, Any]:
    """What was written, if not a bit of it has changed since; the same for all formats."""
    try:
        body = json.loads(raw)
        is_canonical = raw == _canonical(body)
    except (ValueError, RecursionError):
        _refuse("it is no JSON" if raw else "it is empty")
    if not isinstance(body, dict) or not isinstance(body.get("sha256"), str):
        _refuse("it has no sha256")
    if not is_canonical or body.pop("sha256") != _body_sha256(body):
        _refuse("its sha256 does not fit its content")
    return body


def _canonical(body: Mapping[str, Any]) -> bytes:
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.encode("ascii") + b"\n"


def _body_sha256(body: Mapping[str, Any]) -> str:
    return sha256(_canonical(body)).hexdigest()


def _read_identity(given: Any) -> Identity:
    _has_keys(given, {field.name for field in fields(Identity)}, "the identity")
    lists = {key: tuple(_text(one, key) for one in _listed(given[key], key)) for key in ("columns", "kinds")}
    texts = {key: _text(value, key) for key, value in given.items() if key not in lists}
    if not 1 <= len(lists["columns"]) <= _MOST_COLUMNS or len(lists["columns"]) != len(lists["kinds"]):
        _refuse("columns and kinds are not equally many")
    return Identity(**texts, **lists)  # type: ignore[arg-type]  # the keys were checked to be the fields


def _read_shard(given: Any, columns: int) -> Shard:
    _has_keys(given, {field.name for field in fields(Shard)}, "a shard")
    rows = _whole(given["rows"], "the rows of a shard", _MOST_ROWS)
    if _whole(given["bytes"], "the bytes of a shard", 10**18) != shard_bytes(rows, columns):
        _refuse(f"a shard of {rows} rows cannot have {given['bytes']} bytes")
    if not _SHA256.fullmatch(_text(given["sha256"], "sha256")):
        _refuse("the sha256 of a shard is not one")
    return Shard(rows, given["bytes"], given["sha256"], checked_facts(given["about"]))


def checked_facts(about: Any) -> dict[str, Fact]:
    """Return the facts about a shard if they can be written: texts and finite numbers under texts."""
    if not isinstance(about, Mapping):
        _refuse(f"what it says about a shard is {about!r:.80}, not a mapping")
    for key, value in about.items():
        is_fact = isinstance(value, Fact) and not isinstance(value, bool)
        if not isinstance(key, str) or not is_fact or (isinstance(value, float) and not math.isfinite(value)):
            _refuse(f"{key!r:.80}: {value!r:.80} is neither a text nor a finite number")
    return dict(about)


def _has_keys(given: Any, keys: set[str], what: str) -> None:
    """Refuse missing keys and unknown ones: a reader that skips what it does not know may skip a rule."""
    if not isinstance(given, dict) or set(given) != keys:
        _refuse(f"{what} does not have the keys of format {FORMAT}")


def _listed(given: Any, what: str) -> list[Any]:
    if not isinstance(given, list):
        _refuse(f"{what} are {given!r:.40}, not a list")
    return given


def _text(given: Any, what: str) -> str:
    if not isinstance(given, str):
        _refuse(f"{what} holds {given!r:.40}, not a text")
    return given


def _whole(given: Any, what: str, most: int) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or not 0 <= given <= most:
        _refuse(f"{what} is {given!r:.40}, not a whole number from 0 to {most}")
    return given


def _refuse(reason: str) -> NoReturn:
    raise UnreadableManifest(reason)
