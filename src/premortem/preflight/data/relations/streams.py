"""Long files of tokens: how high their numbers go, which come how often, and passages that two of them share."""

from collections.abc import Iterator
from typing import Any

from premortem.preflight.data import names, splits
from premortem.preflight.data.data_facts import Stream
from premortem.preflight.data.walk import Tree

_MOST = 2_000_000  # tokens
_FEWEST = 2000
_PASSAGE = 32  # tokens in a row
_LIVELY = 6  # of them are different
_KEPT = 20_000  # passages, those with the smallest numbers
_MOST_FILES = 8
_TOKENS = 70_000  # the largest number of a token, where a stream is not taken for measurements


def streams(tree: Tree, raw: str) -> Iterator[Stream]:
    """Whole numbers without an end to their rows: `.bin` of the type that the code names, and arrays of one dimension."""
    files = [f for f in tree.files if f.kind == "raw" or names.suffix(f.name) == "npy"]
    try:
        import numpy as np
    except ImportError:
        return
    for file in files[:_MOST_FILES]:
        path = tree.root / file.path
        try:
            if file.kind == "raw":
                made: Any = np.memmap(path, dtype=raw, mode="r") if raw and file.size >= 2 else None
            else:
                made = np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, TypeError):
            continue
        if made is None or made.ndim != 1 or made.dtype.kind not in "iu" or len(made) < _FEWEST:
            continue
        some = np.asarray(made[:_MOST]).astype("int64")
        if some.min() < 0 or some.max() > _TOKENS or some.max() < 8:
            continue
        marks, repeated = passages(some, np)
        yield Stream(
            path=file.path,
            split=splits.of(file).split,
            tokens=len(made),
            highest=int(some.max()),
            counts=tuple(np.bincount(some).tolist()),
            marks=frozenset(marks.tolist()),
            repeated=repeated,
        )


def passages(some: Any, np: Any) -> tuple[Any, float]:
    """The marks of a part of all passages, the same part in each stream; and the share of passages that have come before. Without what comes
    several times in one file: the licence at the head of each text is in both splits by nature."""
    bits = (some.astype("uint64") + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    made = np.zeros(len(some) - _PASSAGE + 1, dtype="uint64")
    with np.errstate(over="ignore"):
        for at in range(_PASSAGE):
            made = made * np.uint64(0x100000001B3) + bits[at : at + len(made)]
    changes = np.concatenate([[0], np.cumsum(some[1:] != some[:-1])])
    lively = changes[_PASSAGE - 1 :] - changes[: len(changes) - _PASSAGE + 1] >= _LIVELY
    made = made[lively]
    own, times = np.unique(made, return_counts=True)
    share = 1 - len(own) / len(made) if len(made) else 0.0
    return own[times == 1][:_KEPT], float(share)
