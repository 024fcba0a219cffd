"""Repair of a boundary index: drop what is damaged, remove what is left over, say what was done."""

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from ssba.arguments import counted
from ssba.errors import BoundaryFileError
from ssba.index.files.disk import MOST_TRIES, Folder, is_shard, is_temporary, no_number_left, telling
from ssba.index.files.manifest import Manifest, Shard, UnreadableManifest
from ssba.index.files.shards import DamagedShard, map_shard

# Intact manifests that are kept behind the latest, to go back to; older ones are emptied.
_KEPT = 8


@dataclass(frozen=True)
class Repaired:
    """What a repair did. `str()` gives it in sentences.

    `dropped` maps the names of shards that are no longer part of the index to what is wrong with them,
    `damaged_manifests` are the numbers that were passed over, `removed` the files that nothing refers to.
    """

    manifest: Manifest
    dropped: dict[str, str]
    rows_lost: int
    damaged_manifests: tuple[int, ...]
    removed: tuple[str, ...]
    emptied: int

    @property
    def was_sound(self) -> bool:
        """Whether nothing was damaged."""
        return not self.dropped and not self.damaged_manifests

    def __str__(self) -> str:
        """Say what was done."""
        said = [f"dropped shard {name}: {damage}" for name, damage in self.dropped.items()]
        said += [
            f"manifest-{number}.json is damaged: went back to the one before it, so that shards which only "
            "this one listed are no longer part of the index"
            for number in self.damaged_manifests
        ]
        lost, shards = counted(self.rows_lost, "point"), self.manifest.shards
        said += [f"{lost} lost with what was dropped"] * bool(self.rows_lost)
        said += [f"removed {counted(len(self.removed), 'file')} that nothing refers to"] * bool(self.removed)
        old = "manifest that is" if self.emptied == 1 else "manifests that are"
        said += [f"emptied {self.emptied:,} {old} out of date"] * bool(self.emptied)
        intact = ", all intact" if len(shards) > 1 else ", intact" if shards else ""
        state = f"manifest {self.manifest.number} lists {counted(len(shards), 'shard')}{intact}"
        return "\n".join(
            [*(said or ["nothing to repair"]), f"{state}: {counted(self.manifest.rows, 'point')}"]
        )


def repair(folder: Folder, older_than: float) -> Repaired:
    """Bring an index into a state in which everything it lists is intact.

    Files that nothing refers to are removed once they are `older_than` seconds old, since younger ones may
    belong to a writer that is about to publish them. Where something is damaged, no shard is removed: it
    may be what a rescue by hand needs.
    """
    known: dict[str, str | None] = {}
    for _ in range(MOST_TRIES):
        found, damaged_manifests = _highest_intact(folder)
        columns = len(found.identity.columns)
        for name, shard in _files(found).items():
            if name not in known:
                known[name] = _damage(folder, shard, columns)
        kept = replace(found, shards=tuple(shard for shard in found.shards if not known[shard.name]))
        is_sound = kept == found and not damaged_manifests
        if not is_sound:
            kept = replace(kept, number=max((found.number, *damaged_manifests)) + 1)
        if is_sound or folder.publish(kept):
            return Repaired(
                manifest=kept,
                dropped={name: damage for name in _files(found) if (damage := known[name])},
                rows_lost=found.rows - kept.rows,
                damaged_manifests=damaged_manifests,
                removed=_remove_leftovers(folder, older_than, also_shards=is_sound),
                emptied=_empty_old_manifests(folder, kept.number - _KEPT),
            )
    raise no_number_left(folder.path)


def _highest_intact(folder: Folder) -> tuple[Manifest, tuple[int, ...]]:
    """The manifest to go on from, and the numbers of those above it that do not verify."""
    damaged: list[int] = []
    for number in folder.numbers():
        try:
            return folder.manifest(number), tuple(damaged)
        except UnreadableManifest:
            damaged.append(number)
    raise BoundaryFileError(
        f"cannot repair {folder.path}: none of its manifests is intact ({len(damaged):,} looked at); take a "
        "copy, or make the index anew"
    )


def _files(manifest: Manifest) -> dict[str, Shard]:
    """One shard for each file, since several may be of equal points."""
    return {shard.name: shard for shard in manifest.shards}


def _damage(folder: Folder, shard: Shard, columns: int) -> str | None:
    try:
        map_shard(folder, shard, columns, all_bytes=True)
    except DamagedShard as damage:
        return str(damage)
    return None


def _remove_leftovers(folder: Folder, older_than: float, also_shards: bool) -> tuple[str, ...]:
    in_shards = folder.names(folder.shards)
    in_use = {shard.name for shard in folder.latest().shards}
    left = [folder.path / name for name in folder.names(folder.path) if is_temporary(name)]
    left += [folder.shards / name for name in in_shards if is_temporary(name)]
    if also_shards:
        left += [folder.shards / name for name in in_shards if is_shard(name) and name not in in_use]
    return tuple(path.name for path in left if _removed(folder, path, older_than))


def _removed(folder: Folder, path: Path, older_than: float) -> bool:
    with telling("remove", path), suppress(FileNotFoundError):
        if folder.disk.age(path) >= older_than:
            folder.disk.remove(path)
            return True
    return False


def _empty_old_manifests(folder: Folder, below: int) -> int:
    """Free the room of manifests that are out of date; their names stay taken (docs/boundary-format.md)."""
    old = [folder.manifest_path(number) for number in folder.numbers() if number < below]
    full = [path for path in old if _size(folder, path)]
    for path in full:
        with folder.temporary(folder.path, []) as empty, telling("replace", path):
            folder.disk.replace(empty, path)
    return len(full)


def _size(folder: Folder, path: Path) -> int:
    with telling("read", path):
        return folder.disk.size(path)
