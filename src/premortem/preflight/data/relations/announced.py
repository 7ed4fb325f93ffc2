"""What files say about other files: how many rows they have, and their checksums."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from premortem.preflight.data import names
from premortem.preflight.data.data_facts import Announced, Look
from premortem.preflight.data.given import text_lines
from premortem.preflight.data.relations.checksums import DIGESTS, Noted, is_its
from premortem.preflight.data.statistics import contents
from premortem.preflight.data.tables import Table
from premortem.preflight.data.walk import File

_MOST_FILES = 32
_MOST_RECORDS = 4096
_SMALL = 4 << 20  # bytes of a list of files
# A count of rows and of nothing else: the whole name, and not a word of it. `n_estimators` and `num_words` count other things; lines are
# more than rows where a header or a text has some of them, and samples may be those of a signal.
_ROWS = re.compile(
    r"(n|num|number_of|total|total_number_of|count_of)?_?(rows|examples|records|instances)(_count|_total)?"
)
_EDGES = re.compile(r"(n|num|number_of|total)?_?edges(_count)?")
_NODES = re.compile(r"(n|num|number_of|total)?_?nodes(_count)?")
# Files that describe data; a number in the settings of a program is a wish.
_DESCRIBES = frozenset(
    "meta metadata manifest info infos index catalog catalogue summary stats statistics counts contents datasheet dataset datapackage "
    "shards splits about".split()
)
_FEWEST = 20  # rows
_NEARLY = 1  # row: a header that was counted, or not
_HEX = re.compile(r"^[0-9a-fA-F]+$")
_LINE = re.compile(r"^([0-9a-fA-F]{32,64}) [ *](.+)$")
_SUMS = re.compile(r"(md5|sha1|sha256|checksum)s?(ums?)?", re.IGNORECASE)


def shorter(
    root: Path,
    files: Sequence[File],
    noted: Iterable[Noted],
    looks: Sequence[Look],
    edges: Mapping[str, int],
) -> Iterator[Announced]:
    """`noted`: the records; `edges`: the files that list edges, and how many."""
    lengths = lengths_of(looks)
    counts = [
        Count(each.by, each.key, (each.file.path,), each.value) for each in noted if each.kind == "rows"
    ]
    yield from too_few([*counts, *counted(root, files, lengths, edges)], lengths, edges)


class Length(NamedTuple):
    rows: int
    sides: frozenset[int]  # of its arrays, one of which may be meant; of a table its rows


class Count(NamedTuple):
    """So many rows, as `by` says under `key`, have these files together."""

    by: str
    key: str
    files: tuple[str, ...]  # none where any file may be meant
    rows: int
    edges: bool = False


def too_few(
    noted: Iterable[Count], lengths: Mapping[str, Length], edges: Mapping[str, int]
) -> Iterator[Announced]:
    """Files that have fewer rows than is noted, in lists that are right about another file: what is counted there are rows, and these files
    are meant."""
    right: set[str] = set()
    wrong: list[tuple[Count, int]] = []
    for count in noted:
        if count.edges:
            there = sum(edges[path] for path in count.files)
            fits, known = count.rows in (there, 2 * there), True
        else:
            found = [lengths[path] for path in count.files or lengths if path in lengths]
            there, known = sum(each.rows for each in found), len(found) == len(count.files) > 0
            # Of an array any side may be meant; arrays of one split stand side by side, its shards one after the other.
            sides = {there}.union(*(each.sides for each in found))
            fits = any(abs(count.rows - side) <= _NEARLY for side in sides)
        if fits:
            right.add(count.by)
        elif known and there < count.rows - _NEARLY:
            wrong.append((count, there))
    for count, there in wrong:
        if count.by in right:
            yield Announced(
                by=count.by,
                key=count.key,
                file=count.files[0],
                what="rows",
                said=f"{count.rows:,}",
                found=f"{there:,}",
            )


def lengths_of(looks: Iterable[Look]) -> dict[str, Length]:
    """How long each file is, where all of it was counted."""
    found: dict[str, Length] = {}
    unknown: set[str] = set()
    for look in looks:
        whole = [table.rows for table in look.tables if "=" not in table.part]
        if look.problem or look.cut or look.widths or look.heads or max(whole, default=0) >= _FULL:
            unknown.add(look.path)
        sides = look.shape if look.kind in {"array", "hdf5", "tensor"} else whole
        if sides:
            known = found.get(look.path, Length(0, frozenset()))
            found[look.path] = Length(max(known.rows, sides[0]), known.sides.union(sides))
    return {path: length for path, length in found.items() if path not in unknown}


_FULL = 200_000  # rows: of more, readers count only these


def counted(
    root: Path, files: Sequence[File], lengths: Mapping[str, Length], edges: Mapping[str, int]
) -> Iterator[Count]:
    """`{"train": {"rows": 5000}}`, `train_rows: 5000`, `edges: 7400`: counts under the name of a file or of a split, and of a graph."""
    small = [f for f in files if f.size <= 1 << 16 and names.suffix(f.name) in {"json", "yaml", "yml"}]
    for file in [f for f in small if describes(f.name)][:_MOST_FILES]:
        for key, value in plain_numbers(contents(root / file.path)):
            if value < _FEWEST:
                continue
            parts = key.lower().split(".")
            if _EDGES.fullmatch(parts[-1]) and len(edges) == 1:
                yield Count(file.path, key, tuple(edges), value, edges=True)
            elif _NODES.fullmatch(parts[-1]):
                yield Count(file.path, key, (), value)
            for called in about(parts):
                named = tuple(path for path in lengths if path != file.path and is_called(path, called))
                if named:
                    yield Count(file.path, key, named, value)
                    break


def about(parts: Sequence[str]) -> Iterator[list[str]]:
    """Whose rows are counted: `train` of `train.rows`, `splits.train.num_examples`, `rows.train` and `train_rows`."""
    for one, other in ((parts[-1], parts[-2:-1]), (parts[-2] if len(parts) > 1 else "", parts[-1:])):
        if _ROWS.fullmatch(one):
            yield [word for part in other for word in re.split(r"[^a-z]+", part) if word]
    first, _, last = parts[-1].partition("_")
    if _ROWS.fullmatch(last):
        yield [first]


def describes(name: str) -> bool:
    return bool(set(re.split(r"[^a-z]+", names.stem(name).lower())) & _DESCRIBES)


def is_called(path: str, words: Sequence[str]) -> bool:
    stem = names.stem(path.rpartition("/")[2]).lower()
    own = [word for word in re.split(r"[^a-z]+", stem) if word]
    return bool(own) and own == list(words)


def plain_numbers(value: Any, key: str = "", depth: int = 0) -> Iterator[tuple[str, int]]:
    if type(value) is int:
        yield key, value
    elif isinstance(value, Mapping) and depth < 3:
        for name, each in value.items():
            yield from plain_numbers(each, f"{key}.{name}" if key else str(name), depth + 1)


def records(root: Path, files: Sequence[File], tables: Iterable[Table]) -> Iterator[Noted]:
    """Entries of lists of files: numbers of rows, and checksums."""
    by_name: dict[str, list[File]] = {}
    for file in files:
        for name in {file.path, file.name}:
            by_name.setdefault(name, []).append(file)
    only = {name: found[0] for name, found in by_name.items() if len(found) == 1}
    small = [f for f in files if f.size <= _SMALL]
    for file in [f for f in small if names.suffix(f.name) in {"json", "yaml", "yml"}][:_MOST_FILES]:
        for at, (name, key, value) in enumerate(about_files(contents(root / file.path), only)):
            if at >= _MOST_RECORDS:
                break
            kind = kind_of(key, value)
            if kind and is_meant(file.path, kind, name, only[name]):
                yield Noted(file.path, key, only[name], kind, value)
    for sums in sums_in(root)[:_MOST_FILES]:
        for line in text_lines(sums)[:_MOST_RECORDS]:
            match = _LINE.match(line)
            kind = DIGESTS.get(len(match[1]), "") if match else ""
            name = match[2].strip().removeprefix("./") if match else ""
            if match and kind and name in only and is_its(sums.name, name, only[name]):
                yield Noted(sums.name, kind, only[name], kind, match[1])
    for table in tables:
        if "=" in table.part or not table.cells or table.rows > _MOST_RECORDS:
            continue
        named = next(
            (c for c, cells in table.cells.items() if cells and all(cell in only for cell in cells)), None
        )
        for column, cells in table.cells.items() if named else ():
            for name, cell in zip(table.cells[named or ""], cells, strict=True):
                value = int(cell) if cell.isdecimal() and len(cell) < 16 else cell
                kind = kind_of(column, value)
                if kind and is_meant(table.path, kind, name, only[name]):
                    yield Noted(table.path, column, only[name], kind, value)


def is_meant(by: str, kind: str, name: str, file: File) -> bool:
    """Whether `by` says this about another file, and about this one for sure."""
    if file.path == by:
        return False
    return describes(by.rpartition("/")[2]) if kind == "rows" else is_its(by, name, file)


def sums_in(root: Path) -> list[Path]:
    """SHA256SUMS, checksums.md5: files that are no samples, and so are not in the list of files."""
    try:
        there = [path for path in root.iterdir() if _SUMS.search(path.name)]
        return sorted(path for path in there if path.is_file() and path.stat().st_size <= _SMALL)
    except OSError:
        return []


def about_files(value: Any, only: Mapping[str, File], depth: int = 0) -> Iterator[tuple[str, str, Any]]:
    """`{"a.npz": {"rows": 5}}`, `{"a.npz": 5}` under `rows`, `[{"file": "a.npz", "rows": 5}]`."""
    if depth > 4:
        return
    if isinstance(value, Mapping):
        named = [v for v in value.values() if isinstance(v, str) and v in only]
        if len(named) == 1:
            yield from ((named[0], str(key), each) for key, each in value.items() if each != named[0])
        for key, each in value.items():
            if str(key) in only and isinstance(each, Mapping):
                yield from ((str(key), str(inner), v) for inner, v in each.items())
            elif str(key) in only and isinstance(each, str):
                yield str(key), "checksum", each
            elif isinstance(each, Mapping) and each and all(str(k) in only for k in each):
                yield from ((str(k), str(key), v) for k, v in each.items() if not isinstance(v, Mapping))
                yield from about_files(each, only, depth + 1)
            else:
                yield from about_files(each, only, depth + 1)
    elif isinstance(value, list):
        for each in value[:_MOST_RECORDS]:
            yield from about_files(each, only, depth + 1)


def kind_of(key: str, value: Any) -> str:
    words = set(re.split(r"[^a-z0-9]+", key.lower()))
    if isinstance(value, str):
        made = value.strip().partition(":")[2] or value.strip()
        kind = DIGESTS.get(len(made), "") if _HEX.match(made) else ""
        return kind if kind in words or words & {"checksum", "digest", "hash"} else ""
    return "rows" if type(value) is int and value >= _FEWEST and _ROWS.fullmatch(key.lower()) else ""
