"""How the cells of a text table are written: numbers with a comma or a point, and keys by which tables are joined."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

# 12,5 and 1.234,56; 12.5 and 1,234.56. Three digits behind one mark may be thousands or thousandths: they say nothing.
_COMMA = re.compile(r"^-?(\d+,(\d{1,2}|\d{4,})|\d{1,3}(\.\d{3})+,\d+)$")
_POINT = re.compile(r"^-?(\d+\.(\d{1,2}|\d{4,})|\d{1,3}(,\d{3})+\.\d+)$")
_GROUPED = re.compile(r"^-?\d{1,3}(,\d{3})+(\.\d+)?$")
_POWER = re.compile(r"^\d(\.\d+)?[eE]\+?\d+$")
_KEY = re.compile(r"(^|[^a-z])(u?u?id|key|code|sku|isbn|ean|barcode)s?([^a-z]|$)|[a-z]Id$")
MOST_KEYS = 50_000
_LONGEST = 64  # letters of a key


class Notation(NamedTuple):
    """How many cells of a column are numbers with a decimal comma, with a decimal point, and with commas between thousands."""

    commas: int
    points: int
    grouped: int
    example: str = ""  # with a comma
    other: str = ""  # with a point


def notations(cells: Mapping[str, Sequence[str]]) -> dict[str, Notation]:
    found = {}
    for name, column in cells.items():
        marked = [cell.strip() for cell in column if "," in cell]
        commas = [cell for cell in marked if _COMMA.match(cell)]
        if not commas:
            continue
        points = [cell for cell in map(str.strip, column) if _POINT.match(cell)]
        grouped = sum(bool(_GROUPED.match(cell)) for cell in marked)
        if len(commas) + len(points) + grouped > 0.5 * len(column):
            found[name] = Notation(len(commas), len(points), grouped, commas[0], points[0] if points else "")
    return found


_ZEROS = re.compile(r"0\d")


class Keys(NamedTuple):
    """A column that names each row."""

    values: frozenset[str]
    rows: int
    powers: int  # written as 1.2E+12, of which the last digits are gone


def keys(cells: Mapping[str, Sequence[str]]) -> dict[str, Keys]:
    return {
        name: keys_of(column)
        for name, column in cells.items()
        if (is_key(name) or is_code(column)) and all(len(cell) <= _LONGEST for cell in column[:1000])
    }


def keys_of(column: Sequence[str]) -> Keys:
    powers = sum(bool(_POWER.match(cell)) for cell in column)
    return Keys(frozenset(column[:MOST_KEYS]), len(column[:MOST_KEYS]), powers)


def is_code(column: Sequence[str]) -> bool:
    """Digits with zeros in front are no number, whatever the column is called."""
    some = column[:1000]
    return any(map(_ZEROS.match, some)) and all(cell.isdigit() for cell in some)


def is_key(name: str) -> bool:
    return bool(_KEY.search(name) or _KEY.search(name.lower()))


def plain(key: str) -> str:
    """Without what a spreadsheet adds or takes away: zeros in front, `.0`, spaces, capitals."""
    made = key.strip().casefold()
    return re.sub(r"\.0+$", "", made).lstrip("0") or "0"
