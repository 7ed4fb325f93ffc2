"""A coordinated sample: what is kept depends on the rows alone, so streams can be merged and compared."""

import random

import pytest

from premortem.profile.alone import collapsed, summarise
from premortem.profile.between import overlap
from premortem.profile.facts import Column, Profile
from premortem.profile.sample import Row, Sample, mark


def sample(values, most=256):
    made = Sample(["a", "b"], most)
    for at, value in enumerate(values):
        made.rows += 1
        made.add(mark(b"%d" % value), Row((float(value), value / 3), None, at))
        made.spans((value, value / 3), (value, value / 3), (0, 0))
    return made


def test_the_order_does_not_matter():
    values = list(range(5000))
    shuffled = random.Random(1).sample(values, len(values))
    assert set(sample(values).kept) == set(sample(shuffled).kept)


def test_two_halves_merge_to_the_whole():
    whole, first = sample(range(5000)), sample(range(2500))
    first.merge(sample(range(2500, 5000)))
    assert set(first.kept) == set(whole.kept)
    assert (first.rows, first.low, first.high) == (whole.rows, whole.low, whole.high)


def test_the_number_of_different_rows_is_estimated():
    assert sample([1, 2, 3] * 50).distinct == 3
    assert abs(sample(list(range(20_000)) * 2).distinct - 20_000) < 4000


def test_a_share_of_common_rows_is_seen_through_small_samples():
    found = overlap(sample(range(20_000)), sample(range(15_000, 25_000)), ("x", "vx"))
    assert abs(found.shared / found.of - 0.5) < 0.12
    assert overlap(sample(range(1000)), sample(range(2000, 3000)), ("x", "vx")) is None


def test_rows_of_small_streams_are_compared_without_exception():
    found = overlap(sample(range(200)), sample(range(190, 250)), ("x", "vx"))
    assert (found.shared, found.of) == (10, 60)
    assert found.example == "row 0 of vx is row 190 of x"


def test_a_profile_is_small_and_plain():
    profile = summarise(sample(range(5000)), "x")
    column = profile.columns[0]
    assert (column.low, column.high, profile.rows) == (0.0, 4999.0, 5000)
    assert sum(column.histogram) == profile.sampled == 256
    assert collapsed(profile) is None
    assert len(repr(profile)) < 4000


@pytest.mark.parametrize(("within", "alike"), [(0.001, True), (0.3, False)])
def test_samples_that_differ_only_within_themselves_are_not_constant(within, alike):
    """A square that moves over a picture changes neither its mean nor its range."""
    columns = [
        Column(name, counted=500, missing=0, mean=mean, spread=0.0, low=mean, high=mean)
        for name, mean in (("channel 0", 0.1), ("deviation of channel 0", within))
    ]
    profile = Profile("x", phase="training", sampled=500, kind="channels", columns=tuple(columns))
    assert (collapsed(profile) is not None) is alike
