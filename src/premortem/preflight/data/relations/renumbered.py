"""Two tables that are joined, of which one has ids with gaps and the other as many ids without one: it was numbered anew.

The numbers alone say so. Where what the one table says can be explained from the other, an experiment decides: by the ids as they are, and by
the order of both.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

from premortem.preflight.data import names
from premortem.preflight.data.cells import is_key
from premortem.preflight.data.code.joined import Join
from premortem.preflight.data.relations import columns, joins, partners, ruled
from premortem.preflight.data.tables import Table

_FEWEST = 60  # ids
_GAPS = 10  # of them; fewer may be as many rows that are new in one table as are gone from it
_GAPS_PROVED = 3  # ... where what the tables say decides
_JOINED = 0.5  # of the ids are found as they are
_MOST = 64  # columns of one number of ids
_MOST_WANTED = 12  # columns that are explained
_ROLLED = 9  # orders of chance
_CLEAR = 0.02  # of the spread beyond what is explained in an order of chance
_RULED = (4, 40)  # ids for each column of a rule, and columns


class Renumbered(NamedTuple):
    table: Table  # without gaps
    column: str
    other: Table
    other_column: str
    first: int  # of the ids without gaps,
    last: int
    gaps: int  # of these the other table does not have
    begin: int  # from this id on a row has the partner of another
    measure: str = ""  # what follows the order and not the ids
    as_is: float = 0.0
    put_right: float = 0.0


class Side(NamedTuple):
    table: Table
    column: str
    keys: list[int]


def renumbered(tables: Sequence[Table], spoken: Iterable[Join]) -> Iterator[Renumbered]:
    if not columns.counts():
        return
    found: dict[tuple[str, str, str], tuple[Side, list[Side]]] = {}
    for sparse, dense in joined(tables, frozenset(spoken)):
        entry = found.setdefault((dense.table.path, dense.table.part, dense.column), (dense, []))
        entry[1].append(sparse)
    for closed_up, others in found.values():
        made = judged(closed_up, others)
        if made is not None:
            yield made


def joined(tables: Sequence[Table], spoken: frozenset[Join]) -> Iterator[tuple[Side, Side]]:
    """Columns of as many ids, with gaps and without, by which tables are joined: the script does it, they have one name that says whose ids
    they are, or one is the `customer_id` of the `id` of a table of customers."""
    named = {name for each in spoken for name in (each.column, each.other)}
    by_number: dict[int, list[Side]] = defaultdict(list)
    for table in tables:
        if table.cells and "=" not in table.part:
            for column in table.cells:
                asked = column in named or is_key(column) or column.lower() in partners.GENERIC
                keys = joins.whole(table, column) if asked else None
                if keys is not None and (number := len(set(keys))) >= _FEWEST:
                    by_number[number].append(Side(table, column, keys))
    for same in by_number.values():
        full = [side for side in same if without_gaps(side.keys)]
        rest = [side for side in same if max(side.keys) - min(side.keys) >= len(set(side.keys))]
        for dense, sparse in product(full[:_MOST], rest[:_MOST]):
            if are_joined(sparse, dense, spoken) and closed(sparse.keys, dense.keys):
                yield sparse, dense


def without_gaps(keys: Sequence[int]) -> bool:
    return min(keys) in {0, 1} and max(keys) - min(keys) + 1 == len(set(keys))


def closed(keys: Sequence[int], listed: Sequence[int]) -> bool:
    """Whether `listed` may be `keys` once their gaps are closed: most are in both, and one of them is a list."""
    own, known = set(keys), set(listed)
    return (
        len(own - known) >= _GAPS_PROVED
        and len(own & known) >= _JOINED * len(own)
        and (len(known) == len(listed) or len(own) == len(keys))
    )


def are_joined(one: Side, two: Side, spoken: frozenset[Join]) -> bool:
    first, second = one.table, two.table
    if first is second or partners.siblings(first, second):
        return False
    if first.split and second.split and first.split != second.split:
        return False
    if one.column == two.column and is_key(one.column) and one.column.lower() not in partners.GENERIC:
        return True
    return (
        is_foreign(one.column, two.column, second)
        or is_foreign(two.column, one.column, first)
        or says(spoken, first, one.column, second, two.column)
    )


def called(table: Table) -> str:
    return (table.part or names.stem(table.path.rpartition("/")[2])).lower()


def is_foreign(column: str, key: str, table: Table) -> bool:
    """`customer_id`, and `id` of the table `customer` or `customers`."""
    if key.lower() not in partners.GENERIC:
        return False
    thing = re.sub(rf"_?{re.escape(key.lower())}$", "", column.lower())
    return (
        bool(thing)
        and thing != column.lower()
        and called(table) in {thing, f"{thing}s", f"{thing}es", f"{thing[:-1]}ies"}
    )


def says(spoken: frozenset[Join], one: Table, column: str, two: Table, other: str) -> bool:
    return any(
        (
            each.column == a
            and each.other == b
            and each.table.lower() in {"", called(s)}
            and each.other_table.lower() in {"", called(t)}
        )
        for each in spoken
        for s, a, t, b in ((one, column, two, other), (two, other, one, column))
    )


def judged(dense: Side, sparse: list[Side]) -> Renumbered | None:
    own = sorted(set(sparse[0].keys))
    sparse = [side for side in sparse if sorted(set(side.keys)) == own]
    known = sorted(set(dense.keys))
    moved = [key for key, rank in zip(own, known, strict=True) if key != rank]
    begin = next(rank for key, rank in zip(own, known, strict=True) if key != rank)
    gaps = len(set(known) - set(own))
    made = Renumbered(
        dense.table, dense.column, sparse[0].table, sparse[0].column, known[0], known[-1], gaps, begin
    )
    proof = tested(dense, sparse, dict(zip(own, known, strict=True)), set(moved))
    if proof is None:
        return made if gaps >= _GAPS else None
    name, as_is, put_right = proof
    return made._replace(measure=name, as_is=as_is, put_right=put_right) if put_right > as_is else None


def tested(
    dense: Side, sparse: Sequence[Side], rank_of: dict[int, int], moved: set[int]
) -> tuple[str, float, float] | None:
    """What the dense table says, explained from the others by the ids as they are and by their order: the column for which one of them is
    worth more than orders of chance, and the other is not; None where nothing can be explained."""
    import numpy as np

    said = [made for side in sparse if (made := of_keys(side)) is not None]
    if not said:
        return None
    ids = [key for key in sorted(rank_of) if key in moved]
    places = {key: at for at, key in enumerate(sorted(rank_of))}
    facts = np.concatenate(said, 1)[:, : min(_RULED[1], len(ids) // _RULED[0])]
    best: tuple[str, float, float] | None = None
    for name, mean in measures(dense):
        by_id = [(mean[key], places[key]) for key in ids if key in mean]
        by_rank = [(mean[rank_of[key]], places[key]) for key in ids]
        if min(len(by_id), len(by_rank)) < _FEWEST:
            continue
        as_is, put_right = (worth(pairs, facts) for pairs in (by_id, by_rank))
        chance = max(worth(rolled, facts) for rolled in rolls(by_rank))
        low, high = sorted((as_is, put_right))
        if (
            high > max(chance, 0.0) + _CLEAR
            and high > low + _CLEAR
            and (best is None or high > max(best[1:]))
        ):
            best = name, as_is, put_right
    return best


def rolls(pairs: Sequence[tuple[float, int]]) -> Iterator[list[tuple[float, int]]]:
    for number in range(1, _ROLLED + 1):
        by = number * len(pairs) // (_ROLLED + 1)
        yield [(value, pairs[at - by][1]) for at, (value, _) in enumerate(pairs)]


def of_keys(side: Side) -> Any:
    """What a table says of each key, in the order of the keys: averages over its rows."""
    import numpy as np

    rows = ruled.features(side.table, side.column)
    if rows is None:
        return None
    rows = np.nan_to_num(rows)
    found, at = np.unique(np.array(side.keys), return_inverse=True)
    number = np.bincount(at, minlength=len(found))
    return np.stack([np.bincount(at, column, len(found)) / number for column in rows.T], 1)


def measures(side: Side) -> Iterator[tuple[str, dict[int, float]]]:
    """The columns of a table, labels among them, averaged for each key."""
    import numpy as np

    made = dict(joins.wanted_of(side.table, side.column))
    for name, cells in columns.words(side.table).items():
        if name not in made and name != side.column and len(set(cells)) <= 8:
            most = max(sorted(set(cells)), key=list(cells).count)
            made[name] = (np.array(cells) == most).astype("float64")
    for name, values in list(made.items())[-_MOST_WANTED:]:
        mean = joins.averages(side.keys, values)
        if len(mean) >= len(set(side.keys)) and len(set(mean.values())) > 1:
            yield name, mean


def worth(pairs: Sequence[tuple[float, int]], facts: Any) -> float:
    import numpy as np

    wanted = np.array([value for value, _ in pairs])
    return joins.learnt(facts[[place for _, place in pairs]], wanted)
