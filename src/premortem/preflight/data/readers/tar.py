"""WebDataset tars: members that are cut off, and samples that lack a member which the others have."""

import functools
import tarfile
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from premortem.preflight.data.data_facts import Look
from premortem.preflight.data.readers import members
from premortem.preflight.data.readers.around import Around, Damaged

SUFFIXES = ("tar", "tgz")
_MOST_MEMBERS = 200_000
_MOST_PACKED = 256 << 20
_MOST_GROWN = 2 << 30  # bytes to which a packed archive may grow without being suspicious
_MOST_TIMES = 50


def read(path: Path, relative: str, around: Around) -> Iterator[Look]:
    packed = not path.name.lower().endswith(".tar")
    whole = path.stat().st_size
    if packed and whole > _MOST_PACKED:
        return
    samples: dict[str, set[str]] = {}
    end, last = 0, ""
    try:
        with tarfile.open(path) as archive:
            for place, member in enumerate(archive):
                if place >= _MOST_MEMBERS:
                    break
                end, last = member.offset_data + member.size, member.name
                if end > max(_MOST_GROWN, _MOST_TIMES * whole):
                    raise Damaged(f"it would grow from {whole:,} to more than {end:,} bytes")
                if member.isfile():
                    _note(samples, member)
                    if not member.size and "." in member.name:
                        problem = f"the member `{member.name}` is empty (0 bytes)"
                        yield Look(path=relative, kind="tar", part=member.name, problem=problem)
    except (tarfile.TarError, EOFError) as error:
        raise Damaged(f"the archive is damaged or cut off ({error})") from error
    if not packed and end > whole:
        raise Damaged(f"it ends in the middle of the member `{last}`")
    yield from _inside(path, relative)
    kinds = Counter(kind for found in samples.values() for kind in found)
    lacking = _lacking(samples, kinds)
    yield Look(
        path=relative,
        kind="tar",
        keys=tuple(kinds.most_common(16)),
        named=len(samples),
        missing=tuple(lacking[:50]),
    )


def _inside(path: Path, relative: str) -> Iterator[Look]:
    with tarfile.open(path) as archive:
        inside = (
            members.Member(member.name, member.size, functools.partial(_content, archive, member))
            for member in islice(archive, _MOST_MEMBERS)
            if member.isfile()
        )
        yield from members.looks(inside, relative, "tar")


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(member)
    return file.read() if file is not None else b""


def _note(samples: dict[str, set[str]], member: tarfile.TarInfo) -> None:
    folder, _, name = member.name.rpartition("/")
    key, dot, kind = name.partition(".")
    if dot and key:
        samples.setdefault(f"{folder}/{key}", set()).add(kind.lower())


def _lacking(samples: dict[str, set[str]], kinds: Counter[str]) -> list[str]:
    """Members that nearly every sample has and these have not."""
    usual = {kind for kind, count in kinds.items() if count >= 0.9 * len(samples)}
    return [f"{key.lstrip('/')}.{kind}" for key, has in samples.items() for kind in sorted(usual - has)]
