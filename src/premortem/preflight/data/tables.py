"""What a file holds, as a table with a profile: the same code that profiles what flows into a run."""

import math
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from premortem.preflight.data import names
from premortem.preflight.data.cells import Keys, Notation, keys, notations
from premortem.preflight.data.sentences import words_in
from premortem.preflight.data.times import Times, times_in
from premortem.profile import arrays
from premortem.profile.alone import summarise
from premortem.profile.facts import Profile
from premortem.profile.lying import LEVELS
from premortem.profile.sample import MOST_COLUMNS, Row, Sample, mark
from premortem.profile.weighting import carrying

T = TypeVar("T")
MOST_ROWS = 50_000
MOST_CELLS = 1_000_000
_MOST_CATEGORIES = 300
_EMPTY = frozenset({"", "na", "n/a", "nan", "null", "none", "-", "?"})
_NUMBERS = 0.9  # of the cells, for a column of numbers
_IDS = frozenset({"id", "index", "idx", "uid", "uuid", "row", "key", "name", "file", "path", "filename"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows and columns of one file, of one array in it, or of one folder of images."""

    path: str
    part: str = ""
    rows: int = 0  # in the file
    read: int = 0  # of them
    profile: Profile
    # Columns of words, and of few whole numbers: each value, and how often.
    categories: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    broken: tuple[str, ...] = ()  # columns with text in the wrong encoding
    sample: Sample = field(compare=False, repr=False)
    times: Mapping[str, Times] = field(default_factory=dict)
    # Columns of sentences: how many words, and how often the most frequent ones come.
    words: Mapping[str, tuple[int, Mapping[str, int]]] = field(default_factory=dict)
    codes: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict
    )  # columns of numbered words, in their order
    # Columns of numbers from 0 on: how many are above 0, and the fewest that make nearly all of the sum.
    carried: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    notations: Mapping[str, Notation] = field(default_factory=dict)  # columns of numbers with commas
    keys: Mapping[str, Keys] = field(default_factory=dict)  # columns by which tables are joined
    # The cells themselves, of a table that is not too large: for what is asked of several columns or tables at once.
    cells: Mapping[str, Sequence[str]] = field(default_factory=dict, compare=False, repr=False)
    columns: tuple[str, ...] = ()  # all of them, of a table of text
    series: str = ""  # the dataset that it is a split of
    split: str = ""
    _kept: dict[tuple[str, str], Any] = field(init=False, default_factory=dict, compare=False, repr=False)

    @property
    def shown(self) -> str:
        return f"{self.path}[{self.part}]" if self.part else self.path

    def once(self, what: str, column: str, make: Callable[[], T]) -> T:
        """What is made of a column, made once: each table is held against each other one, which would make it as often."""
        key = (what, column)
        if key not in self._kept:
            self._kept[key] = make()
        made: T = self._kept[key]
        return made

    def numbers(self, column: str) -> Sequence[float] | None:
        """As `numbers_in` has them."""
        return self.once("numbers", column, lambda: packed(numbers_in(self.cells[column])))

    def values(self, column: str) -> frozenset[str]:
        """The different cells."""
        return self.once("values", column, lambda: frozenset(self.cells[column]))


def packed(values: Sequence[float] | None) -> Sequence[float] | None:
    """In eight bytes each."""
    return None if values is None else array("d", values)


def whole_and_parts(columns: Mapping[str, Sequence[str]], path: str) -> Iterator[Table]:
    """A table of text, and one more for each split that a column of it names."""
    table = of_columns(columns, path)
    if table is not None:
        yield table
        yield from split_by_column(table, columns)


def of_columns(columns: Mapping[str, Sequence[str]], path: str, part: str = "") -> Table | None:
    """A table of text: CSV, JSON lines, Parquet as words."""
    total = len(next(iter(columns.values()), ()))
    if total < 2:
        return None
    every = max(1, -(-total // MOST_ROWS))
    cells = {name: column[::every] for name, column in list(columns.items())[:256]}
    numbers = {name: made for name, column in cells.items() if (made := numbers_in(column)) is not None}
    kept = list(numbers)[:MOST_COLUMNS]
    sample = Sample(kept)
    count = len(next(iter(cells.values())))
    every_row = zip(*cells.values(), strict=True)
    telling = [name for name in cells if not is_id(name, numbers.get(name))] or list(cells)
    places = [list(cells).index(name) for name in telling]
    for at, row in enumerate(every_row):
        code = mark("\x1f".join(row[place] for place in places).encode("utf-8", "replace"))
        sample.rows += 1
        if sample.wants(code) or code in sample.kept:
            sample.add(code, Row(tuple(numbers[name][at] for name in kept), None, at * every))
    spans = [[v for v in numbers[name] if math.isfinite(v)] for name in kept]
    sample.spans(
        [min(s, default=math.inf) for s in spans],
        [max(s, default=-math.inf) for s in spans],
        [count - len(s) for s in spans],
    )
    counted = {
        name: Counter(column)
        for name, column in cells.items()
        if name not in numbers or is_whole(numbers[name])
    }
    categories = {name: dict(n) for name, n in counted.items() if 2 <= len(n) <= _MOST_CATEGORIES}
    broken = tuple(
        name for name, column in cells.items() if name not in numbers and has_wrong_letters(column)
    )
    return Table(
        path=path,
        part=part,
        rows=total,
        read=count,
        profile=summarise(sample, path, source=path, dtype="text"),
        categories={name: n for name, n in categories.items() if not is_id(name, numbers.get(name))},
        broken=broken,
        times=times_in(cells, numbers) if every == 1 else {},
        carried=carried_in(numbers),
        notations=notations(cells),
        keys=keys(cells) if every == 1 else {},
        words=words_in({name: column for name, column in cells.items() if name not in numbers}),
        sample=sample,
        columns=tuple(columns),
        cells=cells if every == 1 and len(cells) * count <= MOST_CELLS else {},
    )


def carried_in(numbers: Mapping[str, Sequence[float]]) -> dict[str, tuple[int, int]]:
    try:
        import numpy as np
    except ImportError:
        return {}
    found = {name: carrying(np.array(values)) for name, values in numbers.items()}
    return {name: each for name, each in found.items() if each is not None}


def holds_masks(array: Any) -> bool:
    """Pictures of a few whole numbers, each of which stands for something: a mean of them says nothing."""
    import numpy as np

    return (
        array.ndim == 3
        and array.dtype.kind in "iub"
        and len(np.unique(array[:: max(1, len(array) // 64)])) <= LEVELS
    )


def of_array(array: Any, path: str, part: str = "", labels: Any = None) -> Table | None:
    """An array with a row for each sample; a list of classes is a table with categories and no columns."""
    if array.dtype.kind in "iub" and array.ndim == 1 and len(array) >= 2:
        every = max(1, -(-len(array) // (16 * MOST_ROWS)))
        found = Counter(str(int(v)) for v in array[::every].tolist())
        if len(found) > _MOST_CATEGORIES:
            return None
        sample = Sample(())
        return Table(
            path=path,
            part=part,
            rows=len(array),
            read=len(array[::every]),
            profile=Profile(path, source=path),
            categories={part or names.stem(path.rpartition("/")[2]): dict(found)},
            sample=sample,
        )
    weights = None
    if array.ndim == 1 and array.dtype.kind == "f" and len(array) >= 2:
        weights = carrying(array)
        array = array[:, None]
    most = (
        max(64, min(MOST_ROWS // 4, (1 << 25) // max(1, int(array[0].size))))
        if array.ndim > 1 and len(array)
        else 0
    )
    called = (names.without_split(part) if names.split_of(part) else part) or "array"
    rows = arrays.rows_of(array, most, called) if most and not holds_masks(array) else None
    if rows is None:
        return None
    sample = Sample(rows.names)
    made = arrays.labels_of(labels, rows.total) if labels is not None else None
    arrays.put(sample, rows, made[0] if made else None, 0)
    sample.discrete = bool(made and made[1])
    return Table(
        path=path,
        part=part,
        rows=rows.total,
        read=len(rows.marks),
        profile=summarise(sample, path, source=path, kind=rows.kind, dtype=rows.dtype),
        carried={part or names.stem(path.rpartition("/")[2]): weights} if weights else {},
        sample=sample,
    )


def of_images(samples: Iterable[tuple[str, tuple[float, ...]]], path: str, total: int) -> Table | None:
    """Of images as (name, mean and deviation of each band); only those with as many bands as the first."""
    sample: Sample | None = None
    width = 0
    for at, (name, statistics) in enumerate(samples):
        if sample is None:
            width = len(statistics)
            bands = [f"channel {band}" for band in range(width // 2)]
            sample = Sample([*bands, *(f"deviation of {band}" for band in bands)])
        if len(statistics) == width and width:
            sample.rows += 1
            sample.add(mark(name.encode("utf-8", "replace")), Row(statistics, None, at, name))
    if sample is None or not sample.kept:
        return None
    profile = summarise(sample, path, source=path, kind="channels", dtype="uint8")
    return Table(path=path, rows=total, read=sample.rows, profile=profile, sample=sample)


def split_by_column(table: Table, columns: Mapping[str, Sequence[str]]) -> list[Table]:
    """A table in which a column says to which split each row belongs becomes one for each split."""
    for name, cells in columns.items():
        found = {value: names.split_of(value) for value in set(cells)} if len(set(cells[:2000])) <= 4 else {}
        if len(found) < 2 or not all(found.values()) or "train" not in found.values():
            continue
        parts = []
        for value, split in sorted(found.items()):
            chosen = [at for at, cell in enumerate(cells) if cell == value]
            rest = {key: [column[at] for at in chosen] for key, column in columns.items() if key != name}
            part = of_columns(rest, table.path, f"{name}={value}")
            if part is not None:
                parts.append(replace(part, split=split, series=f"{table.path}:{name}"))
        return parts
    return []


# --- columns ---------------------------------------------------------------------------------


def numbers_in(cells: Sequence[str]) -> list[float] | None:
    """The numbers of a column, NaN for what is none; None for a column of words."""
    made, good, filled = [], 0, 0
    for cell in cells:
        try:
            made.append(float(cell))
            good += 1
            filled += 1
        except ValueError:
            made.append(math.nan)
            filled += cell.strip().lower() not in _EMPTY
    return made if good >= 2 and good >= _NUMBERS * filled else None


def is_whole(values: Sequence[float]) -> bool:
    return all(v.is_integer() for v in values if math.isfinite(v))


def is_id(name: str, values: Sequence[float] | None) -> bool:
    """A number or name that tells rows apart and says nothing else."""
    words = set(re.split(r"[^a-z]+", name.lower()))
    if words & _IDS or name.lower().startswith("unnamed"):
        return True
    if values is None or len(values) < 20 or not is_whole(values):
        return False
    return len(set(values)) == len(values)


def has_wrong_letters(cells: Sequence[str]) -> bool:
    """Text that was written in one encoding and read in another: `Ã¤` for ä, or the sign for what cannot be read."""
    wrong = sum(bool(re.search("Ã[\x80-\xbf©¤¶¼Ÿ¨]|â€|\ufffd", cell)) for cell in cells[:5000])
    return wrong >= 3 and wrong >= 0.002 * len(cells[:5000])
