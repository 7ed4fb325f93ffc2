"""One and the same row in place of many samples."""

import numpy as np

from premortem.profile.alone import stands_for_many, summarise
from premortem.profile.arrays import put, rows_of
from premortem.profile.sample import Sample


def profiled(pictures, labels):
    rows = rows_of(pictures, len(pictures))
    sample = Sample(rows.names)
    put(sample, rows, [float(label) for label in labels], 0)
    sample.count(f"{label:g}" for label in labels)
    return summarise(sample, "`train`", phase="training", kind=rows.kind)


def pictures(same, colours=250):
    """300 pictures, of which every second is `same` or its own."""
    draw = np.random.default_rng(0)
    made = draw.integers(0, colours, (300, 3, 8, 8)).astype("float32")
    if same:
        made[::2] = made[0]
    return made


def test_a_placeholder_under_all_labels():
    found = stands_for_many(profiled(pictures(same=True), [at // 2 % 5 for at in range(300)]))
    assert (found.rows, found.of, found.labels) == (150, 300, 5)


def test_a_placeholder_of_two_colours():
    found = stands_for_many(profiled(pictures(same=True, colours=2), [at // 2 % 5 for at in range(300)]))
    assert (found.rows, found.labels) == (150, 5)


def test_what_is_one_class_is_a_class():
    assert stands_for_many(profiled(pictures(same=True), [at % 2 for at in range(300)])) is None


def test_pictures_of_their_own():
    assert stands_for_many(profiled(pictures(same=False), [at % 5 for at in range(300)])) is None
