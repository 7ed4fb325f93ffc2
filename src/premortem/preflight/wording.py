"""Places as people read them."""

from premortem.amounts import short
from premortem.findings import Where


def place(where: Where) -> str:
    """`train.py:12`."""
    return where.spot(short)
