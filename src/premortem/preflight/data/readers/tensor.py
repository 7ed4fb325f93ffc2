"""Tensors in .pt, .pth and .safetensors, through the vault's readers: nothing in the file is run."""

from collections.abc import Iterator
from math import prod
from pathlib import Path

from premortem.errors import Refused, VaultError
from premortem.preflight.data.data_facts import Look
from premortem.preflight.data.readers import numbers
from premortem.preflight.data.readers.around import Around, Damaged
from premortem.vault.contents import Stored, open_contents
from premortem.vault.dtypes import BYTES
from premortem.vault.stubs import TensorStub, strides

SUFFIXES = ("pt", "pth", "safetensors")
_KINDS = frozenset("float64 float32 float16 int64 int32 int16 int8 uint8".split())  # that numpy has, too
_MOST_TENSORS = 16
_MOST_BYTES = 64 << 20


def read(path: Path, relative: str, around: Around) -> Iterator[Look]:
    try:
        with open_contents(path) as contents:
            damage = next(iter(contents.damaged(lambda _count: None)), None)
            if damage is not None:
                raise Damaged("`{}`: {}".format(*damage))
            for name, stub in list(contents.stubs.items())[:_MOST_TENSORS]:
                yield _look(contents, name, stub, relative)
    except Refused:
        return  # it would run code: `ckpt verify` reports that, and it is not damage
    except VaultError as error:
        raise Damaged(str(error).replace(str(path), path.name)) from error


def _look(contents: object, name: str, stub: TensorStub, relative: str) -> Look:
    plain = Look(path=relative, kind="tensor", part=name, shape=stub.shape, mode=stub.dtype)
    if (
        stub.dtype not in _KINDS
        or not isinstance(contents, Stored)
        or stub.storage is None
        or contents.big_endian
    ):
        return plain
    if stub.stride != strides(stub.shape):
        return plain
    width, count = BYTES[stub.dtype], prod(stub.shape)
    if not 0 < count * width <= _MOST_BYTES:
        return plain
    try:
        import numpy as np
    except ImportError:
        return plain
    raw = contents.fetch(stub.storage.key, stub.offset * width, count * width)
    return numbers.about(np.frombuffer(raw, dtype=stub.dtype).reshape(stub.shape), relative, "tensor", name)
