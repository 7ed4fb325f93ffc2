"""Rows of the split that is judged, beside those that are trained on: no closer than these lie to each other."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from premortem.preflight.data import compared, names
from premortem.preflight.data.data_facts import Near
from premortem.preflight.data.relations import columns
from premortem.preflight.data.tables import Table

_ASKED = 300  # rows
_KNOWN = 20_000
_FEWEST = 100
_NARROWEST = 4  # columns
_MOST_COLUMNS = 64
_CLOSE = 0.2  # of the usual distance between a row and its nearest
_SAME = 1e-6  # ... below which it is the very row: PM663
_SHARE = 0.2  # of the judged rows are so close,
_BY_NATURE = 0.02  # ... where hardly any of the trained ones are


def near(held: Mapping[str, Any], tables: Sequence[Table]) -> Iterator[Near]:
    if not columns.counts():
        return
    import numpy as np

    for first, second in compared.splits([t for t in tables if t.cells]):
        one, two = columns.measured(first), columns.measured(second)
        used = [name for name in one if name in two][:_MOST_COLUMNS]
        if len(used) >= _NARROWEST and len(used) >= 0.8 * len(one):
            trained, judged = (np.stack([side[name] for name in used], 1) for side in (one, two))
            found = closer(trained, judged, np)
            if found is not None:
                yield Near(
                    first=first.shown, second=second.shown, rows=found[0], of=found[1], distance=found[2]
                )
    flat = {n: a for n, a in held.items() if a.dtype.kind == "f" and a.ndim == 2 and a.shape[1] >= _NARROWEST}
    for name, array in flat.items():
        if names.split_of(_called(name)) != "train":
            continue
        for other, judged in flat.items():
            if (
                names.split_of(_called(other)) in {"val", "test"}
                and names.without_split(_called(other)) == names.without_split(_called(name))
                and judged.shape[1] == array.shape[1]
            ):
                found = closer(array[:, :_MOST_COLUMNS], judged[:, :_MOST_COLUMNS], np)
                if found is not None:
                    yield Near(first=name, second=other, rows=found[0], of=found[1], distance=found[2])


def _called(name: str) -> str:
    """`train.npz[x]` as train_x."""
    return name.rpartition("/")[2].replace("[", "_").rstrip("]").replace(".npz", "").replace(".npy", "")


def closer(trained: Any, judged: Any, np: Any) -> tuple[int, int, float] | None:
    """Judged rows that are far closer to a trained one than trained ones are to each other; rows asked, and how close they are."""
    rng = np.random.default_rng(0)
    known = trained[np.isfinite(trained).all(1)][:_KNOWN].astype("float64")
    asked = judged[np.isfinite(judged).all(1)].astype("float64")
    if min(len(known), len(asked)) < _FEWEST:
        return None
    mean, spread = known.mean(0), known.std(0)
    alive = spread > 0
    if alive.sum() < _NARROWEST:
        return None
    known, asked = ((v[:, alive] - mean[alive]) / spread[alive] for v in (known, asked))
    asked = asked[rng.permutation(len(asked))[:_ASKED]]
    some = rng.permutation(len(known))[:_ASKED]
    usual = nearest(known[some], known, some, np)
    middle = float(np.median(usual))
    if middle <= 0 or (usual < _CLOSE * middle).mean() > _BY_NATURE:
        return None
    found = nearest(asked, known, None, np)
    close = (found < _CLOSE * middle) & (found > _SAME * middle)
    if close.mean() < _SHARE or (found <= _SAME * middle).mean() > _BY_NATURE:
        return None
    return int(close.sum()), len(asked), float(np.median(found[close]) / middle)


def nearest(rows: Any, known: Any, own: Any, np: Any) -> Any:
    """The distance of each row to the nearest of the known ones; `own`: where it stands among them itself."""
    squares = (known**2).sum(1)
    found = np.empty(len(rows))
    for at in range(0, len(rows), 64):
        block = rows[at : at + 64]
        far = squares[None] - 2 * block @ known.T
        if own is not None:
            far[np.arange(len(block)), own[at : at + 64]] = np.inf
        best = far.argmin(1)
        found[at : at + 64] = np.sqrt(((block - known[best]) ** 2).sum(1))
    return found
