"""A key that two splits have in common: does it stand for the same things in both?

What a column says of each key is averaged. Three experiments decide: halves of the training rows agree about the keys, by far more than under keys that
are exchanged at random; the judged rows agree with the training rows no more than under such keys; and once the keys of both are put into the order
of these averages, the two lists are the same up to the noise of the averages, which lists of other things are not."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from premortem.preflight.data import compared, names
from premortem.preflight.data.data_facts import Exchanged
from premortem.preflight.data.relations import columns
from premortem.preflight.data.tables import Table

_KEYS = (12, 300)  # fewer can be put into too few orders; of more, each has hardly a row
_ROWS = 6  # of each key in each split, on average
_ORDERS = 999
_LISTS = 199  # of as many other things of the same kind, none of which may be as near
_SAME = 1.5  # standard errors squared, on average: two lists of the same things differ by less than one once both are sorted
_MOST_MEASURES = 12


class Split(NamedTuple):
    shown: str
    path: str
    columns: dict[str, Any]


def exchanged(held: Mapping[str, Any], tables: Sequence[Table]) -> Iterator[Exchanged]:
    if not columns.counts():
        return
    for one, two in (*of_tables(tables), *of_arrays(held)):
        for column in one.columns:
            found = judged(one, two, column) if column in two.columns else None
            if found is not None:
                yield found


def of_tables(tables: Sequence[Table]) -> Iterator[tuple[Split, Split]]:
    import numpy as np

    for pair in compared.splits([t for t in tables if t.cells]):
        made = []
        for table in pair:
            numbers = {name: table.numbers(name) for name in table.cells}
            made.append(
                {
                    name: np.array(cells if (found := numbers[name]) is None else found)
                    for name, cells in table.cells.items()
                    if name not in table.times
                }
            )
        if made[0].keys() & made[1].keys():
            yield tuple(Split(t.shown, t.path, c) for t, c in zip(pair, made, strict=True))  # type: ignore[misc]


def of_arrays(held: Mapping[str, Any]) -> Iterator[tuple[Split, Split]]:
    """Arrays of as many rows, of one split each: their columns side by side."""
    found: dict[tuple[str, int], dict[str, Any]] = {}
    paths: dict[tuple[str, int], str] = {}
    for name, array in held.items():
        split = names.split_of(re.sub(r"\.np[yz]", "", name.rpartition("/")[2]))
        if not split or array.dtype.kind not in "iuf" or array.ndim > 2 or not array.ndim:
            continue
        wide = array.reshape(len(array), -1)
        for at in range(min(wide.shape[1], 2 * _MOST_MEASURES)):
            column = names.without_split(re.sub(r"\.np[yz]|\]", "", name.replace("[", "_")))
            place = f"{column}[:, {at}]" if array.ndim == 2 else column
            found.setdefault((split, len(array)), {})[place] = wide[:, at]
        paths.setdefault((split, len(array)), name.partition("[")[0])
    for (split, rows), first in found.items():
        for (other, more), second in found.items():
            if split == "train" and other != "train" and first.keys() == second.keys():
                one, two = paths[split, rows], paths[other, more]
                yield Split(one, one, first), Split(two, two, second)


def judged(one: Split, two: Split, column: str) -> Exchanged | None:
    import numpy as np

    keys, there = one.columns[column], two.columns[column]
    if keys.dtype.kind != there.dtype.kind or (keys.dtype.kind == "f" and not is_whole(keys, there)):
        return None
    known, places = np.unique(keys, return_inverse=True)
    if not _KEYS[0] <= len(known) <= _KEYS[1] or _ROWS * len(known) > min(len(keys), len(there)):
        return None
    asked, others = np.unique(there, return_inverse=True)
    if len(asked) != len(known) or (asked != known).any():
        return None
    tried = 0
    for measure in [name for name in one.columns if name != column and name in two.columns][::-1]:
        values, more = one.columns[measure], two.columns[measure]
        if values.dtype.kind not in "iuf" or more.dtype.kind not in "iuf" or tried >= _MOST_MEASURES:
            continue
        tried += 1
        rest = [name for name in one.columns if name not in {column, measure} and name in two.columns]
        values, more = unexplained(
            (values.astype("float64"), beside(one, rest)), (more.astype("float64"), beside(two, rest)), places
        )
        proof = tested(places, values, others, more, len(known))
        if proof is not None:
            inner, between, put_right = proof
            return Exchanged(
                path=one.path,
                first=one.shown,
                other_path=two.path,
                second=two.shown,
                column=column,
                measure=measure,
                keys=len(known),
                within=inner,
                between=between,
                put_right=put_right,
            )
    return None


def is_whole(*columns: Any) -> bool:
    import numpy as np

    return all(bool(np.isfinite(each).all() and (each % 1 == 0).all()) for each in columns)


def beside(split: Split, rest: Sequence[str]) -> list[Any]:
    """The other columns of numbers that are not the same in all rows."""
    wanted = [split.columns[name] for name in rest[: 2 * _MOST_MEASURES]]
    return [each.astype("float64") if each.dtype.kind in "iuf" else None for each in wanted]


def unexplained(one: tuple[Any, list[Any]], two: tuple[Any, list[Any]], places: Any) -> tuple[Any, Any]:
    """What a straight rule of the other columns leaves of a column: it is learned within the keys of the training rows, and says nothing of them."""
    import numpy as np

    used = [
        (a, b)
        for a, b in zip(one[1], two[1], strict=True)
        if a is not None and b is not None and np.isfinite(a).all() and np.isfinite(b).all() and a.std() > 0
    ]
    if not used or not np.isfinite(one[0]).all():
        return one[0], two[0]
    first, second = (np.stack(side, 1) for side in zip(*used, strict=True))
    middle, spread = first.mean(0), first.std(0)
    first, second = (first - middle) / spread, (second - middle) / spread
    inside = np.column_stack([within(column, places) for column in (*first.T, one[0])])
    square = inside[:, :-1].T @ inside[:, :-1]
    rule = np.linalg.solve(square + np.eye(len(square)), inside[:, :-1].T @ inside[:, -1])
    return one[0] - first @ rule, two[0] - second @ rule


def within(values: Any, places: Any) -> Any:
    import numpy as np

    return values - (np.bincount(places, values) / np.bincount(places))[places]


def tested(places: Any, values: Any, others: Any, more: Any, count: int) -> tuple[float, float, float] | None:
    import numpy as np

    rng = np.random.default_rng(0)
    half = rng.permutation(len(values)) % 2 == 0
    early = np.arange(len(values)) < len(values) // 2
    sides = [averages(places[part], values[part], count) for part in (half, ~half, early, ~early)]
    whole, judged = averages(places, values, count), averages(others, more, count)
    if judged is None or whole is None or any(side is None for side in sides):
        return None
    agreed = min(alike(sides[0][0], sides[1][0]), alike(sides[2][0], sides[3][0]))  # type: ignore[index]
    between = alike(whole[0], judged[0])
    chance = [alike(whole[0], judged[0][rng.permutation(count)]) for _ in range(_ORDERS)]
    # Where neighbours are alike, the key is a quantity or a time, whose effect may well be another one elsewhere.
    if roughness(whole[0]) < np.quantile([roughness(rng.permutation(whole[0])) for _ in range(_LISTS)], 0.05):
        return None
    if agreed <= max(chance) or between > np.quantile(chance, 0.95):
        return None
    first, second = (np.argsort(each[0]) for each in (whole, judged))
    noise = whole[1][first] + judged[1][second]
    apart = ((whole[0][first] - judged[0][second]) ** 2 / noise).mean()
    if apart > _SAME:
        return None
    for _ in range(_LISTS):
        drawn = np.sort(whole[0][rng.integers(0, count, count)] + rng.normal(0, judged[1] ** 0.5))
        if ((whole[0][first] - drawn) ** 2 / noise).mean() <= apart:
            return None
    return agreed, between, alike(whole[0][first], judged[0][second])


def averages(places: Any, values: Any, count: int) -> tuple[Any, Any] | None:
    """The mean of each key, and the square of its standard error; None where some key has hardly a row."""
    import numpy as np

    good = np.isfinite(values)
    places, values = places[good], values[good]
    number = np.bincount(places, minlength=count)
    if (number < 2).any():
        return None
    mean = np.bincount(places, values, count) / number
    spread = float(((values - mean[places]) ** 2).sum()) / max(len(values) - count, 1)
    return (mean, spread / number) if spread > 0 else None


def roughness(mean: Any) -> float:
    import numpy as np

    return float((np.diff(mean) ** 2).sum())


def alike(one: Any, other: Any) -> float:
    import numpy as np

    one, other = one - one.mean(), other - other.mean()
    size = float(np.sqrt((one**2).sum() * (other**2).sum()))
    return float((one * other).sum()) / size if size > 0 else 0.0
