"""Bytes that were changed, and bytes that follow a grammar: what a reader may be given.

Each strategy draws a few bytes and makes of them what it stands for: that is a hundred times quicker than to draw every number,
and what hypothesis makes shorter and smaller becomes a shorter and plainer file.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

Edit = tuple[str, int, int, bytes]  # what, two places of 65,536, and bytes
_KINDS = ("flip", "cut", "put", "over", "copy", "drop", "repeat")
_TELLING = (
    b"\x00",
    b"\xff",
    b"\xff" * 4,
    b"\x7f" + b"\xff" * 7,
    b"[",
    b"{",
    b'"',
    b"-",
    b"&a *a",
    b"(",
    b"\n",
    b"9" * 40,
)


def _edits(drawn: bytes) -> list[Edit]:
    found = []
    for at in range(0, len(drawn) - 7, 8):
        kind, where, other, *rest = struct.unpack_from("<BHH3B", drawn, at)
        what = _TELLING[rest[1] % len(_TELLING)] if rest[0] % 2 else bytes(rest[1:])
        found.append((_KINDS[kind % len(_KINDS)], where, other, what))
    return found


EDITS = st.binary(min_size=8, max_size=48).map(_edits)


def changed(data: bytes, edits: list[Edit]) -> bytes:
    """Bits flipped, an end cut off, bytes put in, written over, copied from elsewhere, left out or repeated."""
    for kind, where, other, what in edits:
        at, from_ = where * len(data) >> 16, other * len(data) >> 16
        if kind == "flip" and data:
            data = data[:at] + bytes([data[at] ^ (1 << what[0] % 8)]) + data[at + 1 :]
        elif kind == "cut":
            data = data[:at]
        elif kind == "put":
            data = data[:at] + what + data[at:]
        elif kind == "over":
            data = data[:at] + what + data[at + len(what) :]
        elif kind == "copy":
            data = data[:at] + data[from_ : from_ + 64] + data[at:]
        elif kind == "drop":
            data = data[:at] + data[at + what[0] % 64 :]
        elif kind == "repeat":
            data = data[:at] + data[at : at + 16] * (what[0] % 64) + data[at:]
    return data[: 1 << 20]


_LEAVES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2.5, 1 << 31, 1 << 63, 10**400, float("nan"), float("inf"), -0.0, 1e308, "", "a", "x" * 40,
    "PM101", "nan", "error", "measured", "running", "../x", "/dev/zero", "\ud800", "\x00", "9" * 400, "2024-01-01", "é", "tensor",
)  # fmt: skip
_KEYS = (
    "code name family severity certainty step where message evidence shape dtype data_offsets $ v file line terms data "
    "argv event path ranks files tensors a b"
).split()


def _value(drawn: Iterator[int], depth: int = 0) -> Any:
    kind = next(drawn, 0)
    if depth < 5 and kind % 4 == 1:
        return [_value(drawn, depth + 1) for _ in range(next(drawn, 0) % 4)]
    if depth < 5 and kind % 4 == 2:
        return {
            _KEYS[next(drawn, 0) % len(_KEYS)]: _value(drawn, depth + 1) for _ in range(next(drawn, 0) % 4)
        }
    return _LEAVES[next(drawn, 0) % len(_LEAVES)]


VALUES: st.SearchStrategy[Any] = st.binary(min_size=1, max_size=40).map(lambda drawn: _value(iter(drawn)))


def _text(word: str) -> bytes:
    raw = word.encode("utf-8", "surrogatepass")
    return b"X" + struct.pack("<I", len(raw)) + raw


_NAMES = [
    ("collections", "OrderedDict"), ("torch._utils", "_rebuild_tensor_v2"), ("torch", "FloatStorage"),
    ("torch._utils", "_rebuild_sparse_tensor"), ("torch._utils", "_rebuild_from_type_v2"), ("torch", "Size"),
    ("builtins", "set"), ("builtins", "getattr"), ("os", "system"), ("numpy.core.multiarray", "scalar"),
    ("numpy", "dtype"), ("foo", "Bar"), ("copyreg", "_reconstructor"), ("builtins", "bytearray"),
    ("_codecs", "encode"), ("pathlib", "PosixPath"), ("builtins", "object"), ("torch.serialization", "_get_layout"),
]  # fmt: skip
_STORAGE = b"((X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x04tQ"
_TENSOR = (
    b"ctorch._utils\n_rebuild_tensor_v2\n"
    + _STORAGE
    + b"K\x00K\x02K\x02\x86K\x02K\x01\x86\x89ccollections\nOrderedDict\n)RtR"
)
_PLAIN = [
    b"]", b"}", b")", b"(", b"\x8f", b"N", b"\x88", b"\x89", b"2", b"0", b"1", b"a", b"e", b"s", b"u", b"t", b"l", b"d",
    b"\x85", b"\x86", b"\x87", b"R", b"b", b"\x81", b"\x92", b"\x90", b"\x91", b"\x93", b"\x94", b"o", b"Q", b"\x97", b"\x98",
    b"P0\n", b"I1\n", b"L1L\n", b"F1\n", b"S'a'\n", b"Va\n", b"g0\n", b"p0\n", b"\x82\x01", b"ifoo\nBar\n", _STORAGE, _TENSOR,
    b"\x95\x01\x00\x00\x00\x00\x00\x00\x00", b".", b"G\x7f\xf8\x00\x00\x00\x00\x00\x00",
]  # fmt: skip
_WORDS = ["", "a", "state", "param_groups", "_parameters", "_modules", "storage", "\ud800", "latin1", "f8"]


def _opcode(kind: int, value: int) -> bytes:
    match kind % 8:
        case 0:
            return b"q" + bytes([value % 6])
        case 1:
            return b"h" + bytes([value % 6])
        case 2:
            return b"J" + struct.pack("<i", (value - 128) << 20) if value % 2 else b"K" + bytes([value])
        case 3:
            return _text(_WORDS[value % len(_WORDS)])
        case 4:
            return b"c" + "\n".join(_NAMES[value % len(_NAMES)]).encode() + b"\n"
        case 5:
            raw = bytes([value]) * (value % 12)
            return (b"\x8a" if value % 2 else b"C") + bytes([len(raw)]) + raw
        case _:
            return _PLAIN[value % len(_PLAIN)]


def _pickled(drawn: bytes) -> bytes:
    steps = [_opcode(*drawn[at : at + 2]) for at in range(1, len(drawn) - 1, 2)]
    return b"\x80" + (b"\x04" if drawn[0] % 2 else b"\x02") + b"".join(steps) + pickle.STOP


PICKLES = st.binary(min_size=3, max_size=81).map(_pickled)
