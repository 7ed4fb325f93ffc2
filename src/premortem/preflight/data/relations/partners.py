"""Keys, looked up in each other: of two tables, of a list and a table, of names and files."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from premortem.preflight.data import names
from premortem.preflight.data.cells import is_key, plain
from premortem.preflight.data.data_facts import Entries
from premortem.preflight.data.given import text_lines
from premortem.preflight.data.statistics import contents
from premortem.preflight.data.tables import Table
from premortem.preflight.data.walk import File

_MOST_BYTES = 16 << 20
_MOST_FILES = 32
_MOST_LISTS = 64
_FEWEST = 20  # keys
SOME = 0.005  # of the keys are found: they are names of the same things
_SAME = 0.5  # of the things of two lists that are meant to be the same
_UNIQUE = 0.95  # of the rows have a key of their own: a list of things, and none of events
GENERIC = frozenset(
    {"id", "idx", "index", "row", "row_id", "key", "uid", "uuid", "code", "pk", "rowid", "ids"}
)


class Lost(NamedTuple):
    """Rows of one table whose key the other does not have."""

    table: Table
    column: str
    listed: Table
    rows: int
    of: int
    begin: int | None = None  # from this row of `listed` on none has a partner
    example: str = ""


def entries(root: Path, files: Iterable[File]) -> Iterator[Entries]:
    """Lists of names and numbers in files of their own."""
    small = [
        f for f in files if f.size <= _MOST_BYTES and names.suffix(f.name) in {"json", "yaml", "yml", "txt"}
    ]
    for file in small[:_MOST_FILES]:
        if names.suffix(file.name) == "txt":
            lines = text_lines(root / file.path)
            if len(lines) >= 2 and all(len(line) <= 64 for line in lines[:1000]):
                yield Entries(path=file.path, key="", values=tuple(lines), types=frozenset({"str"}))
            continue
        for at, (key, found) in enumerate(lists_in(contents(root / file.path))):
            if at >= _MOST_LISTS:
                break
            values = found if names.suffix(file.name) == "json" else as_switches(found, root / file.path)
            kinds = frozenset(type(value).__name__ for value in values)
            yield Entries(path=file.path, key=key, values=tuple(map(str, values)), types=kinds)


def numbers(root: Path, files: Iterable[File]) -> Iterator[tuple[str, str, int]]:
    """Whole numbers with a name, such as the size of a vocabulary."""
    small = [f for f in files if f.size <= 1 << 16 and names.suffix(f.name) in {"json", "yaml", "yml"}]
    for file in small[:_MOST_FILES]:
        found = contents(root / file.path)
        for key, value in found.items() if isinstance(found, Mapping) else ():
            if type(value) is int:
                yield file.path, str(key), value


def as_switches(values: list[Any], path: Path) -> list[Any]:
    """As PyYAML reads them: words without quotation marks that it takes for true or false."""
    switches = {"yes": True, "on": True, "true": True, "no": False, "off": False, "false": False}
    if not any(str(value).lower() in switches for value in values):
        return values
    text = path.read_text(encoding="utf-8", errors="replace")
    return [
        switches[str(value).lower()]
        if str(value).lower() in switches
        and re.search(rf"(?:^\s*-|[\[,:])\s*{re.escape(str(value))}\s*(?:$|[\],#])", text, re.MULTILINE)
        else value
        for value in values
    ]


def lists_in(value: Any, key: str = "", depth: int = 0) -> Iterator[tuple[str, list[Any]]]:
    if isinstance(value, list):
        if len(value) >= 2 and all(isinstance(each, (str, int)) for each in value):
            yield key, value
    elif isinstance(value, Mapping) and depth < 3:
        for name, each in value.items():
            yield from lists_in(each, f"{key}.{name}" if key else str(name), depth + 1)


def keyed(table: Table) -> Iterator[str]:
    """Columns by which tables are joined."""
    for name in table.cells:
        if is_key(name) and name.lower() not in GENERIC:
            yield name


def is_list(table: Table, column: str) -> bool:
    return len(table.values(column)) >= _UNIQUE * len(table.cells[column])


def lost(table: Table, listed: Table, column: str) -> Lost | None:
    """Rows of the table that find no partner in the list; and the part of the list that nothing in the table belongs to."""
    cells, known, own = table.cells[column], listed.values(column), table.values(column)
    if len(own) < 3 or not is_list(listed, column):
        return None
    if len(known & own) < max(2, SOME * len(own)):
        return None  # other things, or another part of them: what is held out has no row among what is trained on
    missing = [cell for cell in cells if cell not in known]
    if written_otherwise(missing, listed, column):
        return None  # written otherwise: PM629
    # Two lists of things may be two parts of one, or one a part of the other: only where most of both is the same is the rest lost.
    part = is_list(table, column) and not _SAME * max(len(known), len(own)) <= len(known & own) < 0.8 * min(
        len(known), len(own)
    )
    if len(missing) > 0.2 * len(cells) and not part:
        return Lost(table, column, listed, len(missing), len(cells), example=missing[0])
    return None


def written_otherwise(missing: list[str], listed: Table, column: str) -> bool:
    """Most of these keys are in the list once all are written in one way."""
    if not missing:
        return False
    bare = listed.once("bare", column, lambda: {plain(key) for key in listed.values(column)})
    return sum(number for key, number in Counter(missing).items() if plain(key) in bare) > 0.5 * len(missing)


def ended(table: Table, listed: Table, column: str) -> Lost | None:
    """The list goes on where the table has ended: things up to one row have partners, and none behind it has."""
    known = table.values(column)
    there = [cell in known for cell in listed.cells[column]]
    if not is_list(listed, column) or is_list(table, column) or sum(there) < _FEWEST:
        return None
    begin = len(there) - there[::-1].index(True)
    before, behind = there[:begin], len(there) - begin
    if behind < max(_FEWEST, 0.1 * len(there)) or sum(before) < 0.7 * len(before):
        return None
    return Lost(table, column, listed, behind, len(there), begin, listed.cells[column][begin])


def siblings(one: Table, two: Table) -> bool:
    """station_01.csv and station_02.csv: tables of the same columns are pieces of one, and none is the list that the other is looked up in."""
    return len(one.columns) > 1 and one.columns == two.columns


def pairs(tables: Iterable[Table]) -> Iterator[tuple[Table, Table, str]]:
    whole = [table for table in tables if "=" not in table.part and table.cells]
    for table in whole:
        for listed in whole:
            if (
                table is listed
                or siblings(table, listed)
                or (table.split and listed.split and table.split != listed.split)
            ):
                continue
            for column in keyed(table):
                if column in listed.cells:
                    yield table, listed, column


def places(table: Table, column: str) -> Mapping[str, int]:
    """The row of each key, the last one where it stands twice."""
    return table.once("places", column, lambda: {key: at for at, key in enumerate(table.cells[column])})


def renamed(first: Table, second: Table, column: str) -> tuple[str, str, int, int, str] | None:
    """Two columns with the same words, which go with other keys in each table: their names, keys that disagree, keys in both, one of them."""
    one_of, two_of = places(first, column), places(second, column)
    both = [key for key in one_of if key in two_of]
    if len(both) < 10:
        return None
    for one, cells in first.cells.items():
        words = first.values(one)
        if one == column or not len(words) >= 5 or one in first.times:
            continue
        for two, others in second.cells.items():
            if two == column or len(words & second.values(two)) < 0.8 * min(
                len(words), len(second.values(two))
            ):
                continue
            if not any(any(map(str.isalpha, word)) for word in list(words)[:20]):
                continue
            # A name belongs to its key: in the table itself one key has one of them.
            named: dict[str, str] = {}
            if any(
                named.setdefault(key, word) != word
                for key, word in zip(first.cells[column], cells, strict=True)
            ):
                continue
            wrong = [key for key in both if cells[one_of[key]] != others[two_of[key]]]
            if len(wrong) > 0.2 * len(both):
                return one, two, len(wrong), len(both), wrong[0]
    return None
