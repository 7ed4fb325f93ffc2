"""Two tables with a common key: do the rows of the one follow what the other says of their key, or of another key?

What one table measures is averaged for each key and explained by a straight rule from what the other table says of that key. Where the
rule is worth nothing with the keys as they are, and a lot once they are moved by one or numbered without gaps, the keys of one table are
not those of the other.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from premortem.preflight.data.cells import is_key
from premortem.preflight.data.relations import columns, partners
from premortem.preflight.data.tables import Table, is_id

_KEYS = 60  # that are compared
_MOST_KEYS = 20_000
_JOINED = 0.5  # of the keys find a partner as they are
_MOST_COLUMNS = 24
_PARTS = 5  # each of them is asked by the rule of the others
_TIME = frozenset(
    "day days week weeks month months quarter quarters year years hour hours minute minutes second seconds period periods step steps time times "
    "date dates t frame frames epoch epochs round rounds turn turns season seasons game games trial trials order lap laps".split()
)
_CHANCE = 4.0  # standard errors of a correlation with the row before
_NOTHING = 0.1  # of the spread is explained as it is,
_MUCH = 0.3  # ... and once the keys are put right


class Moved(NamedTuple):
    table: Table
    listed: Table
    column: str
    measure: str  # what does not follow its key
    how: str
    as_is: float
    put_right: float


def moved(tables: tuple[Table, ...]) -> Iterator[Moved]:
    if not columns.counts():
        return
    for table, listed, column in partners.pairs(tables):
        if partners.is_list(listed, column):
            found = compared(table, listed, column)
            if found is not None:
                yield found


def compared(table: Table, listed: Table, column: str) -> Moved | None:
    import numpy as np

    keys, listed_keys = whole(table, column), whole(listed, column)
    said = list(columns.measured(listed).values())[:_MOST_COLUMNS]
    if keys is None or listed_keys is None or not said or not _KEYS <= len(set(listed_keys)) <= _MOST_KEYS:
        return None
    facts = np.stack([np.nan_to_num(each) for each in said], 1)
    if _TIME & set(re.split(r"[^a-z]+", column.lower())) or is_series(facts[np.argsort(listed_keys)]):
        return None  # what follows the row before follows the day before: no fault
    row_of = {key: at for at, key in enumerate(listed_keys)}
    own = sorted(set(keys))
    ways: dict[str, Callable[[int], int | None]] = {"": lambda key: key}
    if max(row_of) - min(row_of) >= len(
        row_of
    ):  # else each key has a neighbour, which may be the one before in time
        ways |= {"one less": lambda key: key - 1, "one more": lambda key: key + 1}
    ranks = dict(zip(own, sorted(row_of), strict=False)) if len(own) <= len(row_of) else {}
    if len({there - key for key, there in ranks.items()}) > 1:
        ways["numbered without gaps"] = ranks.get
    if sum(key in row_of for key in own) < max(_KEYS, _JOINED * len(own)):
        return None  # two lists of other things, or two parts of one
    for name, values in wanted_of(table, column).items():
        mean = averages(keys, values)
        worth = {how: explained(mean, row_of, facts, way) for how, way in ways.items()}
        best = max(worth, key=lambda how: worth[how])
        if best and worth[""] < _NOTHING and worth[best] > _MUCH:
            return Moved(table, listed, column, name, best, worth[""], worth[best])
    return None


def is_series(facts: Any) -> bool:
    """Whether a row is like the one before it: (keys in their order, columns)."""
    import numpy as np

    made = facts - facts.mean(0)
    spread = (made**2).sum(0)
    alike = (made[1:] * made[:-1]).sum(0) / np.where(spread > 0, spread, np.inf)
    return bool((np.abs(alike) > _CHANCE / len(facts) ** 0.5).any())


def wanted_of(table: Table, column: str) -> dict[str, Any]:
    """Columns of numbers that may follow their key: measures, and labels too."""
    import numpy as np

    made = {name: table.numbers(name) for name in table.cells if name not in table.times}
    return {
        name: np.array(values)
        for name, values in made.items()
        if values is not None and name != column and not is_key(name) and not is_id(name, values)
    }


def whole(table: Table, column: str) -> list[int] | None:
    return table.once("whole", column, lambda: whole_in(table.numbers(column)))


def whole_in(values: Sequence[float] | None) -> list[int] | None:
    if values is None or not all(map(float.is_integer, values)):
        return None
    return [int(value) for value in values]


def averages(keys: list[int], values: Any) -> dict[int, float]:
    import numpy as np

    found, places = np.unique(np.array(keys), return_inverse=True)
    good = np.isfinite(values)
    total = np.bincount(places[good], values[good], len(found))
    number = np.bincount(places[good], minlength=len(found))
    return {int(key): float(t / n) for key, t, n in zip(found, total, number, strict=True) if n}


def explained(
    mean: Mapping[int, float], row_of: Mapping[int, int], facts: Any, way: Callable[[int], int | None]
) -> float:
    """The share of the spread that a straight rule explains, of keys that it was not learnt from."""
    import numpy as np

    found = ((way(key), value) for key, value in mean.items())
    pairs = [(row_of[key], value) for key, value in found if key is not None and key in row_of]
    if len(pairs) < max(_KEYS, 4 * facts.shape[1]):
        return 0.0
    return learnt(facts[[at for at, _ in pairs]], np.array([value for _, value in pairs]))


def learnt(rows: Any, wanted: Any) -> float:
    """The share of the spread that a straight rule of the columns and their squares explains, of rows that it was not learnt from."""
    import numpy as np

    wide = np.concatenate([rows, rows**2], 1)
    wide = (wide - wide.mean(0)) / np.maximum(wide.std(0), 1e-12)
    wide = np.concatenate([wide, np.ones((len(wide), 1))], 1)
    part = np.arange(len(wanted)) % _PARTS
    missed = 0.0
    for each in range(_PARTS):
        known, asked = part != each, part == each
        rule = np.linalg.solve(
            wide[known].T @ wide[known] + np.eye(wide.shape[1]), wide[known].T @ wanted[known]
        )
        missed += float(((wide[asked] @ rule - wanted[asked]) ** 2).sum())
    return 1.0 - missed / max(float(((wanted - wanted.mean()) ** 2).sum()), 1e-300)
