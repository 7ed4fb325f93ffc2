"""How much of a sample stays from one pass to the next."""

from collections.abc import Sequence
from typing import Any

from premortem.profile.facts import Versions

_FEWEST = 16  # samples of which a likeness is computed
_SOME = 0.05  # of the samples: a rare transform leaves most of them alone


def compared(pairs: Sequence[tuple[Any, Any]], relabelled: int) -> Versions | None:
    """Of both versions of each sample, as arrays of numbers."""
    if len(pairs) < _FEWEST:
        return None
    import numpy as np

    one, two = (np.stack(side) for side in zip(*pairs, strict=True))
    changed = int((one != two).any(1).sum())
    # What all samples have in common says nothing about the likeness of two.
    one, two = one - one.mean(0), two - two.mean(0)
    sizes = np.sqrt((one**2).sum(1) * (two**2).sum(1))
    alike = (one * two).sum(1) / np.where(sizes > 0, sizes, 1.0)
    return Versions(len(pairs), changed, relabelled, float(alike.mean()))


def is_augmented(found: Versions | None) -> bool | None:
    """Whether samples change from one pass to the next; None where that is not known."""
    return None if found is None else found.changed > _SOME * found.compared
