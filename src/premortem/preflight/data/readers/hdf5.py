"""HDF5, where h5py is present."""

import importlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from premortem.preflight.data.data_facts import Look
from premortem.preflight.data.readers import numbers
from premortem.preflight.data.readers.around import Around, Damaged, MissingLibrary

SUFFIXES = ("h5", "hdf5")
_MOST = 32  # arrays of one file


def read(path: Path, relative: str, around: Around) -> Iterator[Look]:
    try:
        h5py: Any = importlib.import_module("h5py")
    except ImportError:
        raise MissingLibrary("h5py") from None
    try:
        with h5py.File(path, "r") as file:
            found: list[tuple[str, Any]] = []
            file.visititems(lambda name, item: found.append((name, item)) if hasattr(item, "dtype") else None)
            for name, item in found[:_MOST]:
                notes = tuple((str(k), str(v)) for k, v in {**file.attrs, **item.attrs}.items())[:_MOST]
                yield replace(numbers.about(item, relative, "hdf5", name), attributes=notes)
    except OSError as error:
        if error.errno:
            raise
        raise Damaged(f"it is damaged or cut off ({error})") from error
