"""Images of two splits that differ no more than a re-encoding does. A suspicion, never more."""

from collections import defaultdict
from collections.abc import Callable, Iterable

from premortem.preflight.data.copies import pairs_of_splits
from premortem.preflight.data.data_facts import Look, Overlap

_NEAR = 1.5  # grey levels, on average, between two thumbnails
_BUSY = 12.0  # levels of deviation: without structure everything looks alike
_MOST = 2048


def near_overlaps(looks: Iterable[Look], split_of: Callable[[Look], tuple[str, str]]) -> list[Overlap]:
    """Only where an image has exactly one lookalike: frames of a video have many, and prove nothing."""
    try:
        import numpy as np
    except ImportError:
        return []
    by_split: dict[tuple[str, str], list[Look]] = defaultdict(list)
    for look in looks:
        if look.thumb and len(by_split[split_of(look)]) < _MOST:
            by_split[split_of(look)].append(look)
    found = []
    for dataset in sorted({name for name, _ in by_split}):
        for one, two in pairs_of_splits(split for name, split in by_split if name == dataset):
            first, second = by_split[dataset, one], by_split[dataset, two]
            train, val = (
                np.stack([np.frombuffer(look.thumb, np.uint8) for look in s]).astype(np.float32)
                for s in (first, second)
            )
            pairs = []
            for place, thumb in enumerate(val):
                if thumb.std() < _BUSY:
                    continue
                apart = np.abs(train - thumb).mean(axis=1)
                nearest = int(apart.argmin())
                alone = np.sort(apart)[1] > 4 * _NEAR if len(apart) > 1 else True
                others = np.abs(val - thumb).mean(axis=1)
                others[place] = np.inf
                if apart[nearest] <= _NEAR and alone and others.min() > 4 * _NEAR:
                    pairs.append((first[nearest], second[place]))
            pairs = [(a, b) for a, b in pairs if a.digest != b.digest]
            if pairs:
                prefix = f"{dataset}/" if dataset else ""
                found.append(
                    Overlap(
                        first=prefix + one,
                        second=prefix + two,
                        shared=len(pairs),
                        of=len(second),
                        how="near",
                        trained=one == "train",
                        examples=tuple((a.path, b.path) for a, b in pairs[:5]),
                    )
                )
    return found
