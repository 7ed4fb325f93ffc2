"""How columns go together: two streams of the same things have the same relations between their columns, whatever their scales.

Each column alone may agree in both, and yet belong to other rows in one of them: a column that was sorted by itself, joined by
the wrong key, turned upside down, or filled from the target. Relations of ranks say it; they do not depend on units. How much
relations differ by nature shows in all the other pairs: these have to agree up to chance.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from premortem.profile.alone import ENOUGH, TARGET
from premortem.profile.facts import Unrelated
from premortem.profile.sample import Sample

_SURE = 8.0  # standard errors: among two thousand pairs chance reaches four
_CHANCE = 4.0
_STRONG = 0.5  # correlation in the one,
_LOST = 0.4  # of which so much is lost in the other
_AGREE = 0.95  # of the other pairs agree up to chance
_FEWEST = 30  # rows, for a relation of their own
AS_FAR = 0.7  # as far: of two dozen draws, one that goes nearly so far is enough to say that this happens
_COLUMNS = 4  # with fewer, the other pairs say little
_WHOLE = 0.9  # of the cells of a column are numbers
_VARIES = 0.2  # of them are not its most frequent value: the rim of a picture goes with whatever a handful of rows says


def unrelated(first: Sample, second: Sample, labels: str = TARGET) -> Unrelated | None:
    """The one column that goes with others in one stream, and does not in the other."""
    if first.columns != second.columns or min(len(first.kept), len(second.kept)) < ENOUGH:
        return None
    import numpy as np

    values, others = numbers(first, np), numbers(second, np)
    one, two = ({at: ranks(made, np) for at, made in each.items()} for each in (values, others))
    names = [*first.columns, labels]
    used = [at for at in range(len(names)) if at in one and at in two]
    if first.discrete != second.discrete:  # classes here and amounts there: labels of two tasks
        used = [at for at in used if names[at] != labels]
    if len(used) < _COLUMNS:
        return None
    here, there = (correlations([made[at] for at in used], np) for made in (one, two))
    error = np.sqrt(1 / (len(first.kept) - 3) + 1 / (len(second.kept) - 3))
    apart = np.abs(np.arctanh(here) - np.arctanh(there)) / error
    strong = np.maximum(np.abs(here), np.abs(there)) > _STRONG
    broken = strong & (apart > _SURE) & (np.abs(here - there) > _LOST)
    pairs = [(a, b) for a in range(len(used)) for b in range(a) if broken[a, b]]
    # Of a single pair either may be the one: that without which all others agree.
    agreeing = {
        one: [apart[a, b] < _CHANCE for a in range(len(used)) for b in range(a) if one not in (a, b)]
        for one in culprits(pairs, [names[at] for at in used], labels)
    }
    if not agreeing:
        return None
    blamed, rest = max(agreeing.items(), key=lambda found: sum(found[1]))
    if len(rest) < _COLUMNS - 1 or sum(rest) < _AGREE * len(rest):
        return None
    a, b = max(pairs, key=lambda pair: float(apart[pair]))
    other = b if a == blamed else a
    found = Unrelated(
        names[used[blamed]],
        names[used[other]],
        float(here[a, b]),
        float(there[a, b]),
        len(pairs),
        min(len(first.kept), len(second.kept)),
    )
    x, y = used[blamed], used[other]
    return None if _is_a_part(found, (values[x], values[y]), (others[x], others[y]), np) else found


def _is_a_part(found: Unrelated, first: tuple[Any, Any], second: tuple[Any, Any], np: Any) -> bool:
    """Whether the rows of the first stream that lie where the second lies go together as it does: sine and cosine of the day
    do so in autumn. A column of other rows lies where it always lay."""
    rows = np.ones(len(first[0]), dtype=bool)
    for here, there in zip(first, second, strict=True):
        rows &= (here >= there.min()) & (here <= there.max())
    return int(rows.sum()) < _FEWEST or is_as_far(found, first[0][rows], first[1][rows])


def is_as_far(found: Unrelated, column: Any, other: Any) -> bool:
    """Whether some rows of the first stream are about as unlike it in this relation as the second stream is."""
    import numpy as np

    whole = np.isfinite(column) & np.isfinite(other)
    column, other = column[whole], other[whole]
    if len(column) < _FEWEST or min(np.ptp(column), np.ptp(other)) == 0:
        return False
    there = correlations([ranks(column, np), ranks(other, np)], np)[0, 1]
    return bool(abs(there - found.first) >= AS_FAR * abs(found.second - found.first))


def culprits(pairs: Sequence[tuple[int, int]], names: Sequence[str], labels: str) -> list[int]:
    """The columns that all broken pairs have in common; of a single pair, not the target."""
    counts = Counter(at for pair in pairs for at in pair)
    common = [at for at, number in counts.items() if number == len(pairs)]
    return [at for at in common if names[at] != labels] if len(common) > 1 else common


def numbers(sample: Sample, np: Any) -> dict[int, Any]:
    """Each column that varies and is nearly whole; the labels come last."""
    rows = list(sample.kept.values())
    table = np.array([row.values for row in rows], dtype="float64")
    columns = [table[:, at] for at in range(table.shape[1])] if table.ndim == 2 else []
    columns.append(np.array([np.nan if row.label is None else row.label for row in rows], dtype="float64"))
    found = {}
    for at, values in enumerate(columns):
        finite = np.isfinite(values)
        if finite.sum() < _WHOLE * len(values) or finite.sum() < ENOUGH:
            continue
        filled = np.where(finite, values, np.median(values[finite]))
        most = np.unique(filled, return_counts=True)[1].max()
        if len(filled) - most >= (_VARIES * len(filled) if at < len(columns) - 1 else 1):
            found[at] = filled
    return found


def ranks(values: Any, np: Any) -> Any:
    """From 0 on; equal values share the middle of their places."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts + 1) / 2)[places]


def correlations(columns: Sequence[Any], np: Any) -> Any:
    return np.clip(np.corrcoef(np.stack(columns)), -0.999, 0.999)
