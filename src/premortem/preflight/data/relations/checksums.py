"""Checksums that are noted for files."""

import hashlib
import posixpath
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from premortem.preflight.data.data_facts import Announced
from premortem.preflight.data.walk import File

DIGESTS = {32: "md5", 40: "sha1", 64: "sha256"}
_MOST_BYTES = 256 << 20  # that are hashed of all files together


class Noted(NamedTuple):
    """What the file `by` says under `key` about another file."""

    by: str
    key: str
    file: File
    kind: str  # of checksum, or "rows"
    value: Any


def is_sure(name: str, kind: str) -> bool:
    """SHA256SUMS, data.md5: a program that wrote checksums of files and nothing else has given the list its name."""
    return not name.endswith((".json", ".yaml", ".yml", ".csv", ".tsv", ".parquet")) and bool(
        re.search(rf"{kind}(?![0-9])", name.rpartition("/")[2].lower())
    )


def is_its(by: str, name: str, file: File) -> bool:
    """Whether a name in a list means this file: beside the list, or below it, or with the folders from the root on."""
    beside = posixpath.normpath(posixpath.join(posixpath.dirname(by), name))
    return file.path == beside or (file.path == name and "/" in name)


def differing(root: Path, noted: Iterable[Noted]) -> Iterator[Announced]:
    """A number of 64 hexadecimal digits can be of another algorithm, of what the file holds, or of the archive that it came in. So of each
    list one file must have its checksum, unless the list is a list of checksums by its name."""
    left = _MOST_BYTES
    wrong: dict[tuple[str, str, str], list[Announced]] = {}
    right: set[tuple[str, str, str]] = set()
    known: dict[tuple[str, str], str] = {}
    seen: set[tuple[str, str]] = set()
    for each in noted:
        if each.kind not in DIGESTS.values():
            continue
        this = (each.file.path, each.kind)
        if (each.by, each.file.path) in seen or (this not in known and each.file.size > left):
            continue
        if this not in known:
            left -= each.file.size
            known[this] = digest(root / each.file.path, each.kind)
        made = known[this]
        if not made:
            continue
        seen.add((each.by, each.file.path))
        of = (each.by, each.key, each.kind)
        wrong.setdefault(of, [])
        said = str(each.value).strip().rpartition(":")[2].lower()
        if made == said:
            right.add(of)
            continue
        if is_sure(each.by, each.kind):
            right.add(of)
        wrong[of].append(
            Announced(
                by=each.by, key=each.key, file=each.file.path, what=each.kind, said=said[:12], found=made[:12]
            )
        )
    for of, found in wrong.items():
        if of in right:
            yield from found


def digest(path: Path, kind: str) -> str:
    try:
        with path.open("rb") as file:
            made = hashlib.new(kind, usedforsecurity=False)
            while block := file.read(1 << 20):
                made.update(block)
    except (OSError, ValueError):
        return ""
    return made.hexdigest()
