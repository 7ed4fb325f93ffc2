"""Is a loaded file the one that was saved? Checked at every load of a script, and narrower than `verify.py`.

Only positive evidence counts: a checksum that stands in the file itself, or a print that was taken when it was saved.
A file with neither is not reported, nor is an odd file that loads as it was written.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from premortem.errors import Refused, VaultError
from premortem.vault import foreign_checksums
from premortem.vault.formats.distributed import METADATA, Distributed
from premortem.vault.kept_versions import linked, slug, written_at
from premortem.vault.manifest import Manifest
from premortem.vault.mirror import SUFFIX
from premortem.vault.verify import verify
from premortem.vault.zips import MAGIC, Archive


class Alteration(NamedTuple):
    """What is wrong with a file."""

    problem: str
    torn: bool = False  # it has no end: cut off, or still being written


def is_checkable(file: BinaryIO, path: Path, home: Path) -> bool:
    """Whether the file has a checksum to compare with, its own or one taken when it was saved."""
    file.seek(0)
    return file.read(len(MAGIC)) == MAGIC or foreign_checksums.recall(file, path, home) is not None


def file_altered(file: BinaryIO, path: Path, home: Path) -> Alteration | None:
    """A file that one call loads. None when nothing is known to be wrong."""
    known = foreign_checksums.recall(file, path, home)
    if known is not None:
        problem = foreign_checksums.compare(file, known)
        return Alteration(problem) if problem else None
    file.seek(0, 2)
    size = file.tell()
    try:
        found = next(Archive(file, size).altered(), None)
    except Refused as refused:
        return Alteration(str(refused)) if refused.record else None
    except VaultError as error:
        return Alteration(str(error), torn=True)
    return Alteration(f"the record `{found[0]}`: {found[1]}") if found is not None else None


def folder_altered(folder: Path, home: Path) -> Alteration | None:
    """A checkpoint of torch.distributed. None when nothing is known to be wrong."""
    for path in files_of(folder):
        with path.open("rb", buffering=0) as file:
            known = foreign_checksums.recall(file, path, home)
            problem = foreign_checksums.compare(file, known) if known is not None else ""
        if problem:
            return Alteration(f"`{path.name}`, {problem}")
    try:
        with Distributed(folder) as contents:
            found = next(contents.altered(), None)
    except VaultError:  # of another kind, or damaged in a way that torch does not load either
        return None
    return Alteration(f"`{found[0]}`: {found[1]}") if found is not None else None


def files_of(folder: Path) -> list[Path]:
    return [folder / METADATA, *sorted(folder.glob("*.distcp"))]


def newest_whole(runs: Path, path: Path) -> tuple[Path, int | None] | None:
    """The newest earlier version of `path` that this run or an earlier one kept and that is whole, and its step."""
    for version in sorted(_versions(runs, path), key=written_at, reverse=True):
        try:
            manifest = Manifest.read(version.with_name(version.name + SUFFIX))
        except VaultError:
            manifest = Manifest()
        if manifest.health.ok and verify(version, recorded=manifest, numbers=False).ok:
            return version, manifest.step
    return None


def _versions(runs: Path, path: Path) -> Iterator[Path]:
    name = slug(path)
    for room in [*runs.glob(f"*/kept/{name}"), path.parent / ".premortem" / "kept" / name]:
        if room.is_dir() and not linked(room):
            yield from (
                each
                for each in room.iterdir()
                if not each.name.endswith(SUFFIX)
                and not each.is_symlink()
                and (each.is_file() or each.is_dir())
            )
