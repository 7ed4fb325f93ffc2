"""Amounts of memory: as people write them, as people read them, and as this machine has them."""

import re

from premortem.amounts import free

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_AMOUNT = re.compile(r"\s*([0-9.]+)\s*(?:(%)|([kmgt]?)(i?)b?)\s*", re.IGNORECASE)


def in_bytes(amount: float | str) -> int:
    """`8GiB`, `500 MB`, a number of bytes; `50%`, or a number up to 1, of the memory that is free."""
    if isinstance(amount, str):
        found = _AMOUNT.fullmatch(amount)
        if found is None or found[1].count(".") > 1 or found[1] == ".":
            raise ValueError(
                f"`{amount}` is not an amount of memory; write 8GiB, 500MB, 50% or a number of bytes"
            )
        number = float(found[1])
        if found[2]:
            return int(number / 100 * free())
        return int(number * (_BINARY if found[4] else _UNITS)[found[3].lower()])
    if 0 < amount <= 1 and isinstance(amount, float):
        return int(amount * free())
    return int(amount)
