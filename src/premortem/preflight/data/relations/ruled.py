"""Labels and the rows that they belong to, as far as files say which those are: arrays side by side, a table with its columns, a table and
an array of as many rows, a table and pictures that it names."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from premortem.preflight.data import compared, names
from premortem.preflight.data.data_facts import LABELS, Unruly
from premortem.preflight.data.relations import columns, partners
from premortem.preflight.data.relations.follows import Unfollowed, reordered, unfollowed
from premortem.preflight.data.tables import Table

_MOST_WORDS = 200
_MOST_CLASSES = 30
_MOST_ROWS = 20_000
_MOST_LABELS = 3  # columns of one table that may be the label


def unruly(
    held: Mapping[str, Any], tables: Sequence[Table], bands: Mapping[str, tuple[float, ...]]
) -> Iterator[Unruly]:
    if not columns.counts():
        return
    yield from of_arrays(held)
    whole = [t for t in tables if t.cells and "=" not in t.part and 100 <= t.rows <= _MOST_ROWS]
    yield from of_tables(whole)
    for table in whole:
        yield from of_keyed(table, whole, held, bands)


# --- arrays side by side ---------------------------------------------------------------------


def side_by_side(held: Mapping[str, Any]) -> Iterator[tuple[list[str], list[str]]]:
    """signal_0.npy, signal_1.npy, ... and fault_0.npy, fault_1.npy, ...: two families of files with the same numbers."""
    families: dict[str, dict[str, str]] = defaultdict(dict)
    for name in held:
        families[re.sub(r"\d+", "*", name)][" ".join(re.findall(r"\d+", name))] = name
    rows = {
        n: f
        for n, f in families.items()
        if len(f) >= 3 and all(held[p].ndim == 2 and held[p].dtype.kind == "f" for p in f.values())
    }
    wanted = {
        n: f
        for n, f in families.items()
        if len(f) >= 3 and all(held[p].ndim == 1 and held[p].dtype.kind in "iu" for p in f.values())
    }
    for family in rows.values():
        fitting = [other for other in wanted.values() if other.keys() == family.keys()]
        if len(fitting) == 1:
            yield [family[key] for key in sorted(family)], [fitting[0][key] for key in sorted(family)]


def of_arrays(held: Mapping[str, Any]) -> Iterator[Unruly]:
    for xs, ys in side_by_side(held):
        used = [(x, y) for x, y in zip(xs, ys, strict=True) if len(held[x]) == len(held[y])]
        if len(used) < 3 or any(held[y].min(initial=0) < 0 for _, y in used):
            continue
        found = unfollowed(
            [held[x].astype("float64") for x, _ in used], [held[y].astype("int64") for _, y in used]
        )
        if found is not None:
            yield said(found, [y for _, y in used], "")


def uneven(held: Mapping[str, Any]) -> Iterator[tuple[str, int, str, int]]:
    """Of files that belong together, those that have another number of rows than their partner, where the others agree."""
    for xs, ys in side_by_side(held):
        lengths = [(x, len(held[x]), y, len(held[y])) for x, y in zip(xs, ys, strict=True)]
        odd = [each for each in lengths if each[1] != each[3]]
        if odd and len(odd) < len(lengths):
            yield from odd


def said(found: Unfollowed, parts: Sequence[str], column: str, what: str = "") -> Unruly:
    chosen = tuple(parts[at] for at in found.parts)
    return Unruly(
        what=what or ", ".join(chosen[:3]),
        parts=chosen,
        how=found.how,
        here=found.here,
        rest=found.rest,
        chance=found.chance,
        column=column,
    )


# --- tables ----------------------------------------------------------------------------------


def label_of(table: Table) -> str | None:
    return next(labels_of(table), None)


def labels_of(table: Table) -> Iterator[str]:
    """The column that is called so; else those of a few values, the last ones first."""
    named = [name for name in table.cells if name.strip().lower() in LABELS]
    for name in named or list(table.cells)[::-1]:
        values = set(table.cells[name])
        if (
            2 <= len(values) <= _MOST_CLASSES
            and name not in table.times
            and not all(map(names.split_of, values))
        ):
            yield name


def numbered(cells: Sequence[str], words: Sequence[str]) -> Any:
    import numpy as np

    place = {word: at for at, word in enumerate(words)}
    return np.array([place[cell] for cell in cells])


def features(table: Table, label: str, vocabulary: Sequence[str] = ()) -> Any:
    """Numbers of a row: what it measures, its words, and which of the most frequent words its texts have."""
    import numpy as np

    made = [column for name, column in columns.measured(table).items() if name != label]
    made = [np.where(np.isfinite(column), column, np.nanmedian(column)) for column in made]
    for name, cells in columns.words(table).items():
        if name != label and len(set(cells)) <= 8:
            words = np.array(cells)
            made += [(words == word).astype("float64") for word in sorted(set(cells))]
    for name in table.words:
        known = {word: at for at, word in enumerate(vocabulary)}
        counts = np.zeros((len(table.cells[name]), len(known)))
        for row, cell in enumerate(table.cells[name]):
            for word in cell.split():
                if word in known:
                    counts[row, known[word]] += 1
        made += list(counts.T)
    return np.stack(made, axis=1) if made else None


def vocabulary_of(table: Table) -> list[str]:
    """The most frequent words of its texts; each once, also where several columns have it."""
    ranked = zip_longest(*(words for _, words in table.words.values()))
    words = dict.fromkeys(word for rank in ranked for word in rank if word is not None)
    return list(words)[:_MOST_WORDS]


def of_tables(tables: Sequence[Table]) -> Iterator[Unruly]:
    import numpy as np

    done: set[str] = set()
    for pair in compared.splits(tables):
        first, second = pair
        label = label_of(first) if first.cells and second.cells else None
        if label is None or label not in second.cells:
            continue
        words = sorted(set(first.cells[label]) | set(second.cells[label]))
        vocabulary = vocabulary_of(first)
        one, two = features(first, label, vocabulary), features(second, label, vocabulary)
        if one is None or two is None or one.shape[1] != two.shape[1] or len(words) > _MOST_CLASSES:
            continue
        y, z = numbered(first.cells[label], words), numbered(second.cells[label], words)
        cuts, ends = np.array_split(np.arange(len(y)), 6), np.array_split(np.arange(len(z)), 3)
        found = unfollowed(
            [one[c] for c in cuts] + [two[c] for c in ends], [y[c] for c in cuts] + [z[c] for c in ends]
        )
        if found is not None and set(found.parts) == {6, 7, 8}:
            done.add(first.path)
            yield said(found._replace(parts=(0,)), [second.shown], label)
    for table in tables:
        label = label_of(table)
        if label is None or table.path in done:
            continue
        rows = features(table, label, vocabulary_of(table))
        if rows is None:
            continue
        wanted = numbered(table.cells[label], sorted(set(table.cells[label])))
        cuts = np.array_split(np.arange(len(wanted)), 12)
        found = unfollowed([rows[c] for c in cuts], [wanted[c] for c in cuts])
        if found is not None:
            spans = [f"rows {c[0]} to {c[-1]}" for c in cuts]
            yield said(found, spans, label, table.shown)
            continue
        for name, cells in columns.sources(table).items():
            groups = columns.groups(cells)
            if name == label or not 4 <= len(groups) <= 24:
                continue
            found = unfollowed([rows[at] for at in groups.values()], [wanted[at] for at in groups.values()])
            if found is not None and found.how:  # what is another kind of thing may follow other rules
                yield said(found, [f"{name} {word}" for word in groups], label, table.shown)
                break


# --- a table and what it names ---------------------------------------------------------------


def of_keyed(
    table: Table, tables: Sequence[Table], held: Mapping[str, Any], bands: Mapping[str, tuple[float, ...]]
) -> Iterator[Unruly]:
    """The rows lie elsewhere: in an array of as many rows, in pictures, in another table with the same keys."""
    for label in list(labels_of(table))[:_MOST_LABELS]:
        found = list(of_label(table, label, tables, held, bands))
        if found:
            yield from found[:1]
            return


def of_label(
    table: Table,
    label: str,
    tables: Sequence[Table],
    held: Mapping[str, Any],
    bands: Mapping[str, tuple[float, ...]],
) -> Iterator[Unruly]:
    import numpy as np

    wanted = numbered(table.cells[label], sorted(set(table.cells[label])))
    for name, made in held.items():
        if (
            made.ndim == 2
            and made.dtype.kind in "fiu"
            and len(made) == len(wanted)
            and np.isfinite(made.astype("float64")).all()
        ):
            found = reordered(made.astype("float64"), wanted, orders(table, label))
            if found is not None:
                yield _of_part(found, name, f"`{label}` of {table.shown}", label)
    for column, cells in table.cells.items():
        if column == label or len(set(cells)) < 0.95 * len(cells):
            continue
        rows = of_pictures(cells, bands)
        if rows is None:
            rows = of_partners(table, column, tables)
        if rows is not None:
            found = reordered(rows, wanted, moves(len(wanted)))
            if found is not None:
                yield _of_part(found, f"`{label}` of {table.shown}", f"the rows that `{column}` names", label)
                return
    own = features(table, label, vocabulary_of(table))
    if own is not None:
        found = reordered(own, wanted, moves(len(wanted)))
        if found is not None:
            yield _of_part(found, f"`{label}` of {table.shown}", "its rows", label)


def _of_part(found: tuple[str, float, float, float], what: str, other: str, column: str) -> Unruly:
    how, here, there, chance = found
    return Unruly(
        what=what, parts=(), how=f"{how}, beside {other}", here=here, rest=there, chance=chance, column=column
    )


def moves(count: int) -> dict[str, Any]:
    import numpy as np

    places = np.arange(count)
    return {"moved down by one row": np.roll(places, 1), "moved up by one row": np.roll(places, -1)}


def orders(table: Table, label: str) -> dict[str, Any]:
    """Other orders in which rows may have been written: moved by one, or sorted by a column of the table."""
    import numpy as np

    found = moves(table.rows)
    for name, cells in table.cells.items():
        if name == label or len(set(cells)) < 0.95 * len(cells):
            continue
        values = np.array(cells)
        ranks = np.argsort(np.argsort(values, kind="stable"), kind="stable")
        found[f"in the order of `{name}` as text"] = ranks
        try:
            found[f"in the order of `{name}`"] = np.argsort(
                np.argsort(values.astype("float64"), kind="stable"), kind="stable"
            )
        except ValueError:
            continue
    return found


def of_pictures(cells: Sequence[str], bands: Mapping[str, tuple[float, ...]]) -> Any:
    import numpy as np

    found = [bands.get(cell) or bands.get(names.stem(cell.rpartition("/")[2])) for cell in cells]
    sizes = {len(each) for each in found if each is not None}
    if len(sizes) != 1 or any(each is None for each in found):
        return None
    return np.array(found, dtype="float64")


def of_partners(table: Table, column: str, tables: Sequence[Table]) -> Any:
    """The columns of another table that has each of these keys once."""
    for other in tables:
        if other is table or column not in other.cells or not partners.is_list(other, column):
            continue
        place = {key: at for at, key in enumerate(other.cells[column])}
        if all(cell in place for cell in table.cells[column]):
            rows = features(other, column)
            if rows is not None:
                return rows[[place[cell] for cell in table.cells[column]]]
    return None
