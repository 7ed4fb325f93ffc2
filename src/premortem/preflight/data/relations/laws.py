"""Laws between the columns of one row: one lies above the other, one is the sum or the difference of others. Where a law holds in most rows
and breaks in a part, the part is wrong; where it holds nowhere, there is none."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, permutations
from typing import Any, NamedTuple

_HOLDS = 0.4  # of the rows, exactly: chance is asked for, too
_MOSTLY = 2 / 3  # ... below which those that break it stand together: here and there, columns agree by nature
_LESS = 0.45  # of the rows have two columns exchanged, at most
_ROUGHLY = 0.2  # ... once rounding is left out
_BREAKS = 0.02
_CLEAR = 0.98  # of the other rows, where those that break it are left out: a law, and no habit
_APART = 1.0  # spreads between two columns of which one lies above the other
_BACK = 0.5  # spreads: once they are exchanged, the rows lie where the others do
_BETWEEN = 0.02  # of the rows lie between the two orders
_MOST_COLUMNS = 14
_FEWEST = 200  # rows
_ONE_SIDE = 0.95  # of the rows: of other rows, half lie on each
_VARIES = 0.25  # of its mean: a share that is not the same in all rows


class Exchanged(NamedTuple):
    first: str
    second: str
    rows: int
    of: int


class Broken(NamedTuple):
    column: str
    law: str
    rows: int
    of: int
    begin: int  # the first row that breaks it


def exchanged(columns: Mapping[str, Any]) -> Iterator[Exchanged]:
    """Rows in which two columns stand in each other's place."""
    import numpy as np

    for one, two in combinations(list(columns)[:_MOST_COLUMNS], 2):
        a, b = columns[one], columns[two]
        finite = np.isfinite(a) & np.isfinite(b)
        if finite.sum() < _FEWEST:
            continue
        a, b = a[finite], b[finite]
        above = a > b
        share = float(above.mean())
        if share < 0.5:
            a, b, above, share = b, a, ~above & (a != b), float((b > a).mean())
        below = ~above & (a != b)
        number = int(below.sum())
        if not (_BREAKS <= number / len(a) <= _LESS) or min(number, int(above.sum())) < 20:
            continue
        spread_a, spread_b = a[above].std(), b[above].std()
        if min(spread_a, spread_b) <= 0:
            continue
        gap = abs(np.median(a[above]) - np.median(b[above]))
        if gap < _APART * max(spread_a, spread_b):
            continue
        # A law: rows that keep it stay away from equality, and so do those that break it.
        distance = np.abs(a - b)
        if (distance <= 0.25 * np.median(distance)).mean() > _BETWEEN:
            continue  # one heap about equality, of which each row lies on one side
        if np.quantile(distance[below], 0.1) < 0.5 * np.quantile(distance[above], 0.1):
            continue
        near = (
            abs(np.median(b[below]) - np.median(a[above])) < _BACK * spread_a
            and abs(np.median(a[below]) - np.median(b[above])) < _BACK * spread_b
        )
        if near:
            yield Exchanged(one, two, number, len(a))


def broken(columns: Mapping[str, Any]) -> Iterator[Broken]:
    """c = a + b, a - b, a x b; a total of all columns that share its ending; exact up to rounding in most rows, and not in a part."""
    import numpy as np

    names = list(columns)[:_MOST_COLUMNS]
    seen: set[str] = set()
    allowed = {name: tolerance(columns[name]) for name in names}
    half = {name: 0.505 * rounding(columns[name][np.isfinite(columns[name])]) for name in names}
    for total, parts in sums(names):
        terms = [columns[part] for part in parts]
        rest = {name: values for name, values in columns.items() if name not in (total, *parts)}
        found = judged(
            total,
            " + ".join(parts),
            columns[total],
            allowed[total],
            sum(terms),
            terms,
            [moves] * len(terms),
            sum(half[name] for name in (total, *parts)),
            rest,
        )
        if found is not None and total not in seen:
            seen.add(total)
            yield found
    for one, two in permutations(names, 2):
        for total in names:
            if total in (one, two) or total in seen:
                continue
            a, b, c = columns[one], columns[two], columns[total]
            added = (moves, moves)
            off = half[total] + half[one] + half[two]
            tried = [(f"{one} - {two}", a - b, added, off)]
            if one < two:
                times = (lambda a, b=b: moves(a) * abs(b), lambda b, a=a: moves(b) * abs(a))
                tried += [(f"{one} + {two}", a + b, added, off)]
                tried += [
                    (f"{one} x {two}", a * b, times, half[total] + half[one] * abs(b) + half[two] * abs(a))
                ]
            for law, made, moved, off in tried:
                rest = {name: values for name, values in columns.items() if name not in (total, one, two)}
                found = judged(total, law, c, allowed[total], made, (a, b), moved, off, rest)
                if found is not None:
                    seen |= {total, one, two}
                    yield found
                    break


def sums(names: list[str]) -> Iterator[tuple[str, list[str]]]:
    """`total_cost` beside `ward_cost`, `lab_cost`, ..."""
    for name in names:
        words = set(name.lower().replace("-", "_").split("_"))
        if words & {"total", "sum", "all", "gross"}:
            rest = words - {"total", "sum", "all", "gross"}
            parts = [n for n in names if n != name and rest and rest <= set(n.lower().split("_"))]
            if len(parts) >= 2:
                yield name, parts


def moves(term: Any) -> Any:
    """How far each value lies from the middle one: what a law would not miss if it were always the same."""
    import numpy as np

    return np.abs(term - np.nanmedian(term)) if np.isfinite(term).any() else term


def tolerance(here: Any) -> Any:
    """Whole numbers are exact; others may have been rounded before and after they were added."""
    import numpy as np

    step = rounding(here[np.isfinite(here)])
    return (1.6 * step if step < 1 else 0.01) + 1e-9 * np.abs(here)


def judged(
    column: str,
    law: str,
    here: Any,
    allowed: Any,
    made: Any,
    terms: Sequence[Any],
    moved: Sequence[Callable[[Any], Any]],
    off: Any,
    rest: Mapping[str, Any],
) -> Broken | None:
    """`moved`: by how much each term of a row moves what the law says. `off`: what the digits of all terms are worth. `rest`: the other
    columns. Most laws hold in no row: they are done with first."""
    import numpy as np

    finite = np.isfinite(here) & np.isfinite(made)
    if finite.sum() < _FEWEST:
        return None
    kept = np.abs(here - made) <= allowed
    share = float(kept[finite].mean())
    if share < _ROUGHLY:
        return None
    # Numbers may have been rounded before they were added or multiplied, too.
    rounded = np.abs(here - made) <= off
    if share < 1 and rounded[finite & ~kept].mean() > 0.5:
        allowed = np.maximum(allowed, off)
        kept |= rounded
        share = float(kept[finite].mean())
    if not _HOLDS <= share <= 1 - _BREAKS or not here[finite].std():
        return None
    for term, by in zip(
        terms, moved, strict=True
    ):  # adding (next to) nothing, or multiplying by one, keeps any law
        values, counts = np.unique(term[finite], return_counts=True)
        telling = finite & (term != values[np.argmax(counts)]) & (by(term) > 2 * allowed)
        if telling.sum() < 50 or kept[telling].mean() < _HOLDS:
            return None
    # Whole numbers meet by chance: how often do rows that belong to others keep it?
    order = np.roll(np.flatnonzero(finite), len(here) // 3 + 1)
    chance = float((np.abs(here[finite] - made[order]) <= allowed[finite]).mean())
    if share < 4 * chance + 0.1:
        return None
    turns = float((np.diff(kept[finite].astype(int)) != 0).mean())
    if share < _MOSTLY and turns > share * (1 - share):  # half as often as by chance
        return None
    wrong = np.flatnonzero(finite & ~kept)
    # A case of its own: a prize that is neither shared nor won is zero on both sides. What is damaged differs from row to row.
    if sum(len(np.unique(each[wrong])) == 1 for each in (here, *terms)) >= 2:
        return None
    left = (here - made)[wrong]
    others = [values[wrong] for values in rest.values()]
    if " x " not in law and (is_one_more(left, made[wrong]) or has_columns(left, others, 2 * allowed[wrong])):
        return None
    return Broken(column, law, len(wrong), int(finite.sum()), int(wrong[0]))


def has_columns(left: Any, others: Sequence[Any], allowed: Any) -> bool:
    """Whether what the rows leave over is what one or two more columns say: a discount, that most rows do not have."""
    import numpy as np

    signed = [sign * values for values in others for sign in (1, -1)]
    more = [*signed, *(a + b for a, b in combinations(signed, 2))]
    return any((np.abs(left - each) <= allowed).mean() >= _ONE_SIDE for each in more)


def is_one_more(left: Any, made: Any) -> bool:
    """Whether what the rows leave over may be one more part, which most rows do not have and which has no column: a fee, a discount. It is on
    one side, smaller than the rest, and no share of it, as a tax would be."""
    import numpy as np

    known = made > 0
    if max((left > 0).mean(), (left < 0).mean()) < _ONE_SIDE or (made < 0).any() or not known.any():
        return False
    share = np.abs(left[known]) / made[known]
    return bool(np.median(share) < 1 and share.std() > _VARIES * share.mean())


def rounding(values: Any) -> float:
    """The step in which the numbers are written: 1, 0.1, 0.01, ..."""
    import numpy as np

    some = values[:200]
    for digits in range(5):
        if np.allclose(some, np.round(some, digits), rtol=0, atol=10.0 ** -(digits + 4)):
            return 10.0**-digits
    return 1e-5
