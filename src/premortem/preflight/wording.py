"""Places as people read them."""

from premortem.amounts import short
from premortem.findings import Where


def place(where: Where) -> str:
    """`train.py:12`."""
    if not where.file:
        return ""
    return f"{short(where.file)}:{where.line}" if where.line else short(where.file)
