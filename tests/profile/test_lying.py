"""Masks that say something about their own picture, and those that were cut anew."""

import numpy as np
import pytest

from premortem.profile.lying import falls_apart, own_and_others

SIDE, PAIRS = 32, 32


def blobs(draw):
    rows, columns = np.mgrid[:SIDE, :SIDE]
    y, x, r = draw.uniform(8, 24), draw.uniform(8, 24), draw.uniform(4, 8)
    mask = ((rows - y) ** 2 + (columns - x) ** 2 < r * r).astype("float32")
    return (0.6 * mask + draw.normal(0, 0.35, mask.shape))[None], mask


def pairs(change):
    draw = np.random.default_rng(0)
    return [change(draw, *blobs(draw)) for _ in range(PAIRS)]


def as_they_are(_draw, picture, mask):
    return picture, mask


def noisy(draw, picture, mask):
    return picture + draw.normal(0, 0.5, picture.shape), mask


def moved_together(draw, picture, mask):
    by = draw.integers(0, SIDE, 2)
    return np.roll(picture, by, (1, 2)), np.roll(mask, by, (0, 1))


def moved_apart(draw, picture, mask):
    return np.roll(picture, draw.integers(0, SIDE, 2), (1, 2)), np.roll(
        mask, draw.integers(0, SIDE, 2), (0, 1)
    )


@pytest.mark.parametrize(
    ("change", "apart"),
    [(as_they_are, False), (noisy, False), (moved_together, False), (moved_apart, True)],
)
def test_what_falls_apart(change, apart):
    trained, judged = own_and_others(pairs(change)), own_and_others(pairs(as_they_are))
    assert judged == (PAIRS, PAIRS)
    assert falls_apart(trained, judged) is apart


def test_masks_of_one_level_are_not_compared():
    empty = [(picture, np.zeros_like(mask)) for picture, mask in pairs(as_they_are)]
    assert own_and_others(empty) == (0, 0)
    assert own_and_others([*empty, pairs(as_they_are)[0]]) == (0, 0)  # nothing to compare it with
