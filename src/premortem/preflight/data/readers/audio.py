"""WAV files by their headers: cut off, or with another rate than the rest."""

import struct
from collections.abc import Iterator
from pathlib import Path

from premortem.preflight.data.data_facts import Look
from premortem.preflight.data.readers.around import Around

SUFFIXES = ("wav",)
_OPEN_ENDED = {0, 0xFFFFFFFF, 0x7FFFFFFF}  # what a recorder writes that does not know the length yet
_MOST_CHUNKS = 64


def read(path: Path, relative: str, around: Around) -> Iterator[Look]:
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(12)
        if len(head) < 12 or head[:4] not in {b"RIFF", b"RF64"} or head[8:] != b"WAVE":
            yield Look(path=relative, kind="audio", problem="it does not begin like a WAV file")
            return
        mode = ""
        for _ in range(_MOST_CHUNKS):
            chunk = file.read(8)
            if len(chunk) < 8:
                break
            name, length = struct.unpack("<4sI", chunk)
            if name == b"fmt ":
                _, channels, rate = struct.unpack("<HHI", file.read(length)[:8])
                mode = f"{rate} Hz, {channels} channel{'s' if channels > 1 else ''}"
                file.seek(length % 2, 1)
                continue
            if name == b"data":
                left = size - file.tell()
                if length not in _OPEN_ENDED and length > left:
                    why = f"it is cut off: {left:,} of {length:,} bytes of sound are there"
                    yield Look(path=relative, kind="audio", problem=why)
                    return
                break
            file.seek(length + length % 2, 1)
    yield Look(path=relative, kind="audio", mode=mode)
