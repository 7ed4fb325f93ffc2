"""Whether numbers of rows count from 0: an experiment with the rows themselves.

Labels that belong to their rows go with them, and things that are joined are more alike than others. Where that is not so as the
numbers are, and is clearly so when all of them are moved by one, they are moved.
"""

from typing import Any

_CHANCE = 4.0  # standard errors: what goes together no more than that does not
_CLEAR = 0.2  # correlation
_FEWEST = 100
_MOST = 20_000


def lag(rows: Any, labels: Any) -> tuple[int, float, float] | None:
    """By how many rows labels are moved, how well they go with the rows as they are, and moved: rows (n, columns), labels (n)."""
    import numpy as np

    if len(rows) != len(labels) or len(rows) < _FEWEST or rows.ndim != 2:
        return None
    table, wanted = rows[:_MOST].astype("float64"), labels[:_MOST].astype("float64")
    if not np.isfinite(table).all() or not np.isfinite(wanted).all() or not wanted.std():
        return None
    scores = {step: strongest(table, np.roll(wanted, -step), np) for step in (-1, 0, 1)}
    chance = max(_CHANCE, 3 + table.shape[1] ** 0.5 / 8) / np.sqrt(len(wanted))
    step = max((-1, 1), key=lambda each: scores[each])
    if scores[0] < chance and scores[step] > max(_CLEAR, 2 * chance) and scores[-step] < chance:
        return step, scores[0], scores[step]
    return None


def strongest(table: Any, wanted: Any, np: Any) -> float:
    """The largest correlation of a column with what is wanted."""
    columns = table - table.mean(0)
    wanted = wanted - wanted.mean()
    size = np.sqrt((columns**2).sum(0) * (wanted**2).sum())
    return float(np.abs((columns * wanted[:, None]).sum(0) / np.where(size > 0, size, np.inf)).max())


def joined(edges: Any, things: Any) -> tuple[int, float, float] | None:
    """By how much the ends of edges are moved, and how alike they are as they are, and moved: edges (n, 2), things (m, columns)."""
    import numpy as np

    if len(edges) < _FEWEST or len(things) < _FEWEST:
        return None
    pairs, table = edges[:_MOST].astype("int64"), things.reshape(len(things), -1).astype("float64")
    if not np.isfinite(table).all():
        return None
    table = (table - table.mean(0)) / np.maximum(table.std(0), 1e-12)
    scores = {}
    for step in (0, -1, 1):
        moved = pairs + step
        inside = ((moved >= 0) & (moved < len(table))).all(1)
        if inside.sum() < 0.95 * len(pairs):
            continue
        one, two = table[moved[inside, 0]], table[moved[inside, 1]]
        scores[step] = float((one * two).mean(0).max())
    chance = max(_CHANCE, 3 + table.shape[1] ** 0.5 / 8) / np.sqrt(len(pairs))
    others = [step for step in scores if step]
    if 0 not in scores or not others:
        return None
    step = max(others, key=lambda each: scores[each])
    if abs(scores[0]) < chance and scores[step] > 3 * chance:
        return step, scores[0], scores[step]
    return None
