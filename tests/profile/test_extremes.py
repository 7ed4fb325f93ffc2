"""The lowest and the highest value of a series or a picture lie at the ends of its range by nature."""

import math
import random

import pytest

from premortem.profile.alone import is_apart, passes, placeholders
from premortem.profile.arrays import CHANGES
from premortem.profile.between import differs
from premortem.profile.facts import Column
from premortem.profile.sample import Row, Sample

NAMES = ("channel 0", "deviation of channel 0", "lowest of channel 0", "highest of channel 0")


def rows(series):
    made = []
    for at, one in enumerate(series):
        mean = sum(one) / len(one)
        spread = math.sqrt(sum((v - mean) ** 2 for v in one) / len(one))
        made.append(Row((mean, spread, min(one), max(one)), None, at))
    return made


def half_waves(many):
    return [
        [round(math.sin(math.pi * (row + k / 10) + 1e-5 * row), 5) for k in range(10)] for row in range(many)
    ]


def named(series):
    return {found.column for found in placeholders(NAMES, rows(series))}


def test_a_wave_that_goes_to_minus_one_in_every_other_window_has_no_placeholder():
    waves = half_waves(200)
    lowest = sorted(min(row) for row in waves)
    assert is_apart(-1.0, lowest.count(-1.0), lowest)  # as a column of a table, it would have one
    assert named(waves) == set()


@pytest.mark.parametrize("where", [slice(3, 6), slice(0, 10)], ids=["a gap", "whole rows"])
def test_a_gap_that_is_filled_with_a_number_far_outside_has_one(where):
    generator = random.Random(0)
    series = [[generator.gauss(0, 1) for _ in range(10)] for _ in range(200)]
    for row in series[::20]:
        row[where] = [-9999.0] * len(row[where])
    assert "lowest of channel 0" in named(series)


@pytest.mark.parametrize(("name", "how"), [("highest of channel 0", ""), ("channel 0", "constant")])
def test_pictures_that_all_have_something_white_are_not_one_number(name, how):
    varied = Column(name, counted=500, missing=0, mean=0.8, spread=0.1, low=0.5, high=1.0, distinct=200)
    flat = Column(name, counted=500, missing=0, mean=1.0, spread=0.0, low=1.0, high=1.0, distinct=1)
    assert differs(varied, flat, 4.0, 6.0) == how


def test_how_often_a_row_changes_is_nothing_that_anyone_wrote():
    changes = [*(float(2300 + at % 50) for at in range(300)), *[0.0] * 4]
    made = [Row((20.0 + at, 99.0 + at, value), None, at) for at, value in enumerate(changes)]
    names = ("lowest of the row", "highest of the row", CHANGES)
    assert not any(found.column == CHANGES for found in placeholders(names, made))
    assert [found.column for found in placeholders((*names[:2], "step"), made)] == ["step"]


def test_one_row_that_comes_in_three_epochs_is_no_value_that_is_repeated():
    """Targets of one number have no contents to know a row by, so each epoch counts all of them anew."""
    chance = random.Random(0)
    values = [200.0, *(round(chance.gauss(3.0, 0.5), 3) for _ in range(47))]
    made = [Row((value,), None, 48 * epoch + at) for epoch in range(3) for at, value in enumerate(values)]
    assert [found.times for found in placeholders(("target",), made)] == [3]
    sample = Sample(("target",))
    sample.rows = len(made)
    assert not list(placeholders(("target",), made, passes(sample, 48)))
    assert list(placeholders(("target",), made, passes(sample, 144))), "three rows of one pass are three"


def test_rows_that_are_known_again_are_counted_once():
    sample = Sample(("target",))
    sample.rows, sample.repeated = 144, 96
    assert passes(sample, 48) == 1.0
