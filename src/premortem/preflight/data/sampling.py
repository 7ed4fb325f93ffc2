"""Which files are read: all of them, or a sample that is the same in every run and takes partners together."""

import hashlib
from collections import defaultdict

from premortem.preflight.data import pairs, readers, splits
from premortem.preflight.data.walk import File

ALL_UP_TO = 1024  # files
SAMPLE = 512
_LARGE = {"table", "tar", "zip", "hdf5", "text"}  # many samples in one file
_MOST_LARGE = 64
_SEED = b"premortem"


def choose(files: list[File]) -> list[File]:
    """The files to open, drawn by lot: what is read when the time is up is still a fair sample."""
    readable = [file for file in files if file.size and readers.reads(file.name)]
    groups: dict[tuple[str, str], list[File]] = defaultdict(list)
    for file in readable:
        if file.kind not in _LARGE:
            groups[splits.of(file).group, file.kind].append(file)
    chosen: set[str] = set()
    small = sum(map(len, groups.values()))
    share = SAMPLE / small if small > ALL_UP_TO else 1.0
    for members in groups.values():
        count = len(members) if share == 1.0 else max(1, round(share * len(members)))
        chosen |= {file.path for file in sorted(members, key=_lot)[:count]}
    large = [file for file in readable if file.kind in _LARGE]
    chosen |= {file.path for file in sorted(large, key=_told)[:_MOST_LARGE]}
    return sorted((file for file in readable if file.path in chosen), key=_lot)


def _lot(file: File) -> bytes:
    return hashlib.blake2b(_SEED + pairs.key_of(file).encode("utf-8", "replace"), digest_size=8).digest()


def _told(file: File) -> tuple[bool, int, bytes]:
    """Split files and those near the top first: they describe the rest."""
    return not splits.of(file).split, file.path.count("/"), _lot(file)
