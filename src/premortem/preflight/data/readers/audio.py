"""WAV files: cut off, with another rate than the rest, or with samples at the ends of their type."""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from premortem.preflight.data.data_facts import Look
from premortem.preflight.data.readers.around import Around, Damaged
from premortem.preflight.data.relations import columns, limits

SUFFIXES = ("wav",)
_OPEN_ENDED = {0, 0xFFFFFFFF, 0x7FFFFFFF}  # what a recorder writes that does not know the length yet
_MOST_CHUNKS = 64
_MOST_BYTES = 1 << 20  # of sound
_WHOLE = 1  # the code of samples that are whole numbers


def read(path: Path, relative: str, around: Around) -> Iterator[Look]:
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(12)
        if len(head) < 12 or head[:4] not in {b"RIFF", b"RF64"} or head[8:] != b"WAVE":
            raise Damaged("it does not begin like a WAV file")
        mode, wide, many, clipped, round_, rough = "", 0, 1, 0.0, False, None
        each_second, seconds = 0, 0.0  # bytes
        for _ in range(_MOST_CHUNKS):
            chunk = file.read(8)
            if len(chunk) < 8:
                break
            name, length = struct.unpack("<4sI", chunk)
            if name == b"fmt ":
                head = file.read(length)
                code, many, rate = struct.unpack("<HHI", head[:8])
                each_second = struct.unpack("<I", head[8:12])[0] if code == _WHOLE and len(head) >= 12 else 0
                wide = struct.unpack("<H", head[14:16])[0] if code == _WHOLE and len(head) >= 16 else 0
                mode = f"{rate} Hz, {many} channel{'s' if many > 1 else ''}"
                file.seek(length % 2, 1)
                continue
            if name == b"data":
                left = size - file.tell()
                if length not in _OPEN_ENDED and length > left:
                    raise Damaged(f"it is cut off: {left:,} of {length:,} bytes of sound are there")
                known = each_second and length not in _OPEN_ENDED
                seconds = length / each_second if known else 0.0
                clipped, round_, rough = _limits(file, min(length, left), wide, many)
                break
            file.seek(length + length % 2, 1)
    yield Look(
        path=relative, kind="audio", mode=mode, ends=clipped, goes_round=round_, rough=rough, seconds=seconds
    )


def _limits(
    file: BinaryIO, length: int, bits: int, channels: int
) -> tuple[float, bool, tuple[float, float, float] | None]:
    """The share of samples at the ends of their type, whether the sound goes round there, and how rough it is."""
    if bits not in {16, 32} or not 1 <= channels <= 64 or not columns.counts():
        return 0.0, False, None
    import numpy as np

    frame = bits // 8 * channels
    data = file.read(min(length, _MOST_BYTES) // frame * frame)
    samples = np.frombuffer(data[: len(data) // frame * frame], f"<i{bits // 8}").reshape(-1, channels)
    return limits.at_the_ends(samples), limits.goes_round(samples), limits.roughly(samples.T)
