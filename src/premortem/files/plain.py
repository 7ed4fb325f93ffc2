"""Any value as strictly valid JSON: for the journal, and for files that other tools read.

Secrets are left out, except in orders to a process of ours.
"""

import json
import math
import numbers
import os
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from enum import Enum
from typing import Any

from premortem import redaction

DEPTH = 20  # deeper than any evidence; ends cycles


def dumps(value: Any, *, indent: int | None = None) -> str:
    """JSON text that every parser accepts, without secrets. Never raises, whatever the value is."""
    return json.dumps(redaction.record(plain(value)), allow_nan=False, indent=indent)


def exact(value: Any, *, indent: int | None = None) -> str:
    """The same with secrets: for what only premortem reads again, and for digests."""
    return json.dumps(plain(value), allow_nan=False, indent=indent)


def plain(value: Any, depth: int = 0) -> Any:
    """Only dicts, lists, strings, finite numbers, booleans and None.

    JSON has no NaN and no infinity: they become "nan", "inf" and "-inf". What has no counterpart
    becomes its repr.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Enum):
        return plain(value.value, depth + 1)
    if isinstance(value, str):
        return _encodable(value)
    if isinstance(value, int):
        # Python refuses to write very long numbers in decimal, and other parsers to read them.
        return value if value.bit_length() <= 1024 else hex(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if depth >= DEPTH:
        return _repr(value)
    if isinstance(value, Mapping):
        return {_key(key): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, depth + 1) for item in value]
    if isinstance(value, AbstractSet):
        return [plain(item, depth + 1) for item in sorted(value, key=repr)]
    if isinstance(value, os.PathLike):
        return _encodable(str(os.fspath(value)))
    if isinstance(value, numbers.Integral):  # numpy's scalars are registered as numbers
        return int(value)
    if isinstance(value, numbers.Real):
        return plain(float(value), depth + 1)
    return _repr(value)


def _key(key: Any) -> str:
    return _encodable(key) if isinstance(key, str) else str(plain(key, DEPTH))


def _encodable(text: str) -> str:
    # A file name that is not UTF-8 has lone surrogates, which strict parsers refuse.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _repr(value: Any) -> str:
    try:
        return _encodable(repr(value))
    except Exception:  # noqa: BLE001 - it is the user's object, and its repr may do anything
        return f"<{type(value).__name__}>"
