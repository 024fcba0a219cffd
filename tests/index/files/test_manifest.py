"""Manifests: written in one way only, and nothing in them is trusted."""

import json
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssba.index.files.manifest import (
    Identity,
    Manifest,
    NewerManifest,
    Shard,
    UnreadableManifest,
    manifest_bytes,
    read_manifest,
    shard_bytes,
)

TEXT = st.text(max_size=6)
FACTS = st.dictionaries(
    TEXT, TEXT | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False), max_size=3
)


@st.composite
def manifests(draw: st.DrawFn) -> Manifest:
    columns = draw(st.lists(TEXT, min_size=1, max_size=4))
    kinds = draw(st.lists(TEXT, min_size=len(columns), max_size=len(columns)))
    shards = [
        Shard(rows, shard_bytes(rows, len(columns)), sha256(seed).hexdigest(), draw(FACTS))
        for rows, seed in draw(st.lists(st.tuples(st.integers(0, 10**9), st.binary()), max_size=3))
    ]
    texts = [draw(TEXT) for _ in range(4)]
    identity = Identity(texts[0], tuple(columns), tuple(kinds), *texts[1:])
    return Manifest(draw(st.integers(0, 10**15)), identity, tuple(shards))


@given(manifests())
def test_a_manifest_is_read_as_it_was_written(manifest: Manifest) -> None:
    raw = manifest_bytes(manifest)
    assert raw.isascii()
    assert raw.count(b"\n") == 1
    assert read_manifest(raw, manifest.number) == manifest
    assert manifest_bytes(read_manifest(raw, manifest.number)) == raw


@given(manifests(), st.data())
def test_a_manifest_with_any_other_byte_is_refused(manifest: Manifest, data: st.DataObject) -> None:
    raw = manifest_bytes(manifest)
    at = data.draw(st.integers(0, len(raw) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda byte: byte != raw[at]))
    with pytest.raises(UnreadableManifest):
        read_manifest(raw[:at] + bytes([byte]) + raw[at + 1 :], manifest.number)


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_garbage_is_refused(raw: bytes) -> None:
    with pytest.raises(UnreadableManifest):
        read_manifest(raw, 0)


@pytest.mark.parametrize(
    "raw", [b"[" * 100_000, b"9" * 5000, b'{"sha256": 1e999}', b"NaN", b"{}", b"null", b'{"sha256": 3}', b""]
)
def test_what_breaks_a_parser_is_refused_like_any_other_garbage(raw: bytes) -> None:
    with pytest.raises(UnreadableManifest):
        read_manifest(raw, 0)


SHARD = {"about": {"from": 0}, "bytes": 160, "rows": 2, "sha256": "ab" * 32}
BODY = {
    "format": 1,
    "identity": {
        "columns": ["a", "b"],
        "kinds": ["numeric", "integer"],
        "model_fingerprint": "a1",
        "model_name": "SVC",
        "schema_hash": "5e",
        "target": "'yes'",
    },
    "number": 7,
    "shards": [SHARD],
}


def signed(body: dict[str, Any]) -> bytes:
    """A manifest of any content with a sha256 that fits, as somebody might forge it."""

    def canonical(value: dict[str, Any]) -> bytes:
        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode() + b"\n"

    return canonical(body | {"sha256": sha256(canonical(body)).hexdigest()})


@pytest.mark.parametrize(
    ("written", "instead"),
    [
        (b'"number":7', b'"number": 7'),
        (b'"rows":2', b'"rows":9,"rows":2'),
        (b'"SVC"', b'"\\u0053VC"'),
        (b"\n", b""),
        (b"\n", b"\r\n"),
    ],
)
def test_another_way_to_write_the_same_is_refused(written: bytes, instead: bytes) -> None:
    raw = signed(BODY)
    assert json.loads(raw) == json.loads(raw.replace(written, instead))
    with pytest.raises(UnreadableManifest, match="its sha256 does not fit its content"):
        read_manifest(raw.replace(written, instead), 7)


def changed(path: str, value: Any) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(json.dumps(BODY))
    *way, last = path.split(".")
    place: Any = body
    for step in way:
        place = place[int(step) if isinstance(place, list) else step]
    place[last] = value
    return body


def test_a_forged_manifest_of_allowed_content_is_read() -> None:
    read = read_manifest(signed(BODY), 7)
    assert read.shards == (Shard(2, 160, "ab" * 32, {"from": 0}),)
    assert read.shards[0].name == "ab" * 32 + ".npy"


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("format", 0, "its format is 0"),
        ("format", True, "its format is True"),
        ("format", "1", "its format is '1'"),
        ("number", 8, "it says that its number is 8"),
        ("number", -1, "the number is -1"),
        ("number", 7.0, "the number is 7.0"),
        ("number", True, "the number is True"),
        ("shards", {}, "the shards are {}, not a list"),
        ("shards.0.rows", -1, "the rows of a shard is -1"),
        ("shards.0.rows", 10**13, "the rows of a shard is 10000000000000"),
        ("shards.0.rows", 3, "a shard of 3 rows cannot have 160 bytes"),
        ("shards.0.bytes", 161, "a shard of 2 rows cannot have 161 bytes"),
        ("shards.0.bytes", "160", "the bytes of a shard is '160'"),
        ("shards.0.sha256", "../" * 21 + "x", "the sha256 of a shard is not one"),
        ("shards.0.sha256", "AB" * 32, "the sha256 of a shard is not one"),
        ("shards.0.sha256", "ab" * 32 + "\n", "the sha256 of a shard is not one"),
        ("shards.0.sha256", None, "not a text"),
        ("shards.0.about", [], "not a mapping"),
        ("shards.0.about", {"x": None}, "neither a text nor a finite number"),
        ("shards.0.about", {"x": True}, "neither a text nor a finite number"),
        ("shards.0.name", "../../etc/passwd", "a shard does not have the keys"),
        ("identity.target", 3, "target holds 3, not a text"),
        ("identity.columns", [], "not equally many"),
        ("identity.columns", ["a"], "not equally many"),
        ("identity.columns", ["a", 2], "columns holds 2, not a text"),
        ("identity.kinds", "numeric", "not a list"),
        ("identity.extra", 1, "the identity does not have the keys"),
        ("identity", [], "the identity does not have the keys"),
        ("extra", 1, "the manifest does not have the keys"),
    ],
)
def test_forged_values_are_refused(path: str, value: Any, said: str) -> None:
    with pytest.raises(UnreadableManifest, match=said):
        read_manifest(signed(changed(path, value)), 7)


def test_a_newer_format_is_told_from_damage() -> None:
    newer = changed("format", 2) | {"shards": "in another way", "more": []}
    with pytest.raises(NewerManifest, match="it has format 2, and this version of ssba reads up to 1"):
        read_manifest(signed(newer), 7)
    with pytest.raises(UnreadableManifest, match="its sha256 does not fit") as damaged:
        read_manifest(signed(newer).replace(b'"format":2', b'"format":3'), 7)
    assert not isinstance(damaged.value, NewerManifest)
