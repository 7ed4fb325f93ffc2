"""Curves keep their spikes, and what is not finite stays visible."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from premortem.report.curves import BUCKETS, GAPS, Curve, of_values, sparkline
from premortem.report.html import histogram

STEPS = 100_000


def test_a_spike_of_one_step_in_a_hundred_thousand_survives():
    values = [1.0 + 0.1 * math.sin(step) for step in range(STEPS)]
    values[54_321], values[77_777] = 40.0, -3.0
    curve = of_values(range(STEPS), values)
    points = dict(zip(curve.x, curve.y, strict=True))
    assert (points[54_321], points[77_777]) == (40.0, -3.0)
    assert len(curve.x) <= 2 * BUCKETS + 1
    assert curve.count == STEPS


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=400), st.integers(1, 20)
)
def test_the_extremes_and_the_end_are_always_there(values, buckets):
    curve = of_values(range(len(values)), values, buckets)
    assert (curve.low, curve.high) == (min(values), max(values))
    assert (curve.x[-1], curve.last) == (len(values) - 1, values[-1])
    assert curve.x == sorted(curve.x)


@pytest.mark.parametrize(
    ("given", "what"), [(math.nan, "nan"), ("nan", "nan"), (math.inf, "inf"), (-math.inf, "-inf")]
)
def test_what_is_not_finite_is_a_gap_and_not_a_point(given, what):
    values = [1.0] * STEPS
    values[500] = given
    values[90_000:90_010] = [given] * 10
    curve = of_values(range(STEPS), values)
    assert [(gap.first, gap.last, gap.what, gap.values) for gap in curve.gaps] == [
        (500, 500, what, 1),
        (90_000, 90_009, what, 10),
    ]
    assert curve.odd == 11
    broken = [x for x, y in zip(curve.x, curve.y, strict=True) if math.isnan(y)]
    assert broken == [500, 90_000], "the line is interrupted there"


def test_the_mean_runs_through_the_band_and_stops_at_a_nan():
    values = [float(step % 2) for step in range(STEPS)]
    values[600] = math.nan
    curve = of_values(range(STEPS), values)
    means = [mean for _step, mean in curve.middle]
    assert {mean for mean in means if not math.isnan(mean)} == {0.5}
    assert sum(map(math.isnan, means)) == 1
    assert of_values(range(100), [1.0] * 100).middle == []


def test_a_series_of_nothing_but_nan():
    curve = of_values([1, 2, 3], ["nan", math.inf, math.nan])
    assert (curve.x, curve.low, curve.first) == ([], None, None)
    assert [(gap.first, gap.last, gap.what) for gap in curve.gaps] == [(1, 3, "nan, inf")]
    assert set(sparkline(curve)) == {"×"}


def test_not_measured_is_neither():
    curve = of_values([1, 2, 3, 4], [None, 1.0, None, 2.0])
    assert (curve.x, curve.y, curve.gaps, curve.count) == ([2, 4], [1.0, 2.0], [], 2)


def test_gaps_are_bounded():
    values = [1.0, math.nan] * 5000
    curve = of_values(range(len(values)), values)
    assert len(curve.gaps) == GAPS
    assert (curve.odd, curve.gaps[-1].last) == (5000, 9999)


def test_a_line_of_text_shows_fall_spike_and_failure():
    values = [*[10.0] * 16, *[1.0] * 16, *[math.nan] * 16]
    assert sparkline(of_values(range(48), values)) == "█" * 16 + "▁" * 16 + "×" * 16
    assert sparkline(Curve()) == ""
    assert sparkline(of_values([1, 2], [3.0, 3.0])).strip("▄ ") == ""


def test_a_histogram_has_a_bar_for_each_bin_that_is_not_empty():
    drawn = str(histogram((0, 1, 500)))
    assert re.findall(r'height="([\d.]+)"/>', drawn) == ["1.0", "26.0"]
    assert "<title>0, 1, 500</title>" in drawn
    assert str(histogram((0, 0))) == ""
