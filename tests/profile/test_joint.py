"""Columns that go together: one that belongs to other rows, and one in which hardly anything stands."""

import numpy as np
import pytest

from premortem.profile.joint import unrelated
from tests.profile.making import sampled


def table(seed, many=500):
    draw = np.random.default_rng(seed)
    first = draw.normal(size=(many, 1))
    return np.concatenate([first + 0.4 * draw.normal(size=(many, 3)), draw.normal(size=(many, 3))], 1)


def compared(trained, judged):
    return unrelated(sampled(trained)[0], sampled(judged)[0])


def test_a_column_of_other_rows():
    judged = table(2)
    judged[:, 1] = np.roll(judged[:, 1], 1)
    found = compared(table(1), judged)
    assert found is not None
    assert found.column == "input[:, 1]"


def test_two_columns_in_which_a_handful_of_rows_stand():
    trained, judged = table(1), table(2)
    trained[:, 4:6] = judged[:, 4:6] = 0.0
    trained[:8, 4], trained[100:108, 5], judged[:8, 4:6] = 1.0, 1.0, 1.0
    assert compared(trained, judged) is None


@pytest.mark.parametrize("season", ["autumn", "year"])
def test_the_day_of_the_year_in_one_season(season):
    """Its sine and cosine go together in autumn, in the training too; over a year they do so only where one is another row's."""
    trained, judged = table(1, 1000), table(2, 400)
    for rows, days in ((trained, np.linspace(0, 700, 1000)), (judged, np.linspace(240, 300, 400))):
        angle = (
            2 * np.pi * (days if rows is trained or season == "autumn" else np.linspace(0, 365, 400)) / 365
        )
        rows[:, 4], rows[:, 5] = np.sin(angle), np.cos(angle)
    if season == "year":
        judged[:, 5] = np.roll(judged[:, 5], 91)  # a quarter of a year too late: a cosine that is the sine
    found = compared(trained, judged)
    assert (found is None) is (season == "autumn")
