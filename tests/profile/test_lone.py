"""One column that differs, where all others agree up to chance."""

import random

import pytest

from premortem.profile.lone import between_splits, two_groups
from premortem.profile.sample import Row, Sample

NAMES = ("temperature", "humidity", "wind", "sun")


def drawn(seed, rows=300, change=lambda row, at: row):
    rng = random.Random(seed)
    sample = Sample(NAMES)
    for at in range(rows):
        row = (rng.gauss(8, 7), rng.uniform(30, 95), rng.gammavariate(2, 2), rng.uniform(0, 14))
        sample.add(rng.getrandbits(64), Row(tuple(change(row, at)), None, at))
    return sample


def fahrenheit(row, at):
    return (row[0] * 1.8 + 32, *row[1:])


def test_another_unit_is_seen_below_the_usual_thresholds():
    found = between_splits(drawn(1), drawn(2, change=fahrenheit))
    assert found is not None
    assert (found.column, found.how) == ("temperature", "shifted")


@pytest.mark.parametrize("seed", range(8))
def test_two_draws_of_the_same_agree(seed):
    assert between_splits(drawn(seed), drawn(seed + 100, 150)) is None
    assert two_groups([drawn(100 * seed + n, 120) for n in range(8)]) is None


def test_a_column_that_goes_on_growing_is_left_alone():
    def grows(start):
        return lambda row, at: (row[0] + (start + at) / 12, *row[1:])

    assert between_splits(drawn(1, 400, grows(0)), drawn(2, 200, grows(400))) is None


def test_another_place_differs_in_several_columns():
    assert (
        between_splits(drawn(1), drawn(2, change=lambda row, at: (row[0] + 15, row[1] * 0.4, *row[2:])))
        is None
    )


def test_half_of_the_files_in_another_unit():
    found = two_groups([drawn(n, 200, fahrenheit if n % 2 else lambda row, at: row) for n in range(9)])
    assert found is not None
    shift, few = found
    assert (shift.column, few) == ("temperature", [1, 3, 5, 7])
    assert shift.first == pytest.approx(8, abs=1.5)
    assert shift.second == pytest.approx(46.4, abs=2)


def test_stations_on_mountains_are_no_two_groups():
    """Each file lies elsewhere by nature: there is a largest gap, and no two units."""
    heights = [0.0, 1.0, 2.5, 4.0, 16.0, 18.0, 19.5]
    files = [
        drawn(n, 200, lambda row, at, up=up: (row[0] - up * 1.5, *row[1:])) for n, up in enumerate(heights)
    ]
    assert two_groups(files) is None
