"""Columns that have changed places, and columns that are nearly empty, which look alike."""

import numpy as np
import pytest

from premortem.profile.between import shifts
from tests.profile.making import profiled


def rows(seed, many):
    draw = np.random.default_rng(seed)
    return draw.normal((52.0, 13.0, 0.0, 3.0), (1.0, 2.0, 1.0, 1.0), (many, 4))


def test_latitude_and_longitude_have_changed_places():
    found = shifts(profiled(rows(1, 500), "training"), profiled(rows(2, 300)[:, [1, 0, 2, 3]], "evaluation"))
    assert [(shift.how, shift.column, shift.other) for shift in found] == [
        ("exchanged", "input[:, 0]", "input[:, 1]")
    ]


@pytest.mark.parametrize("lit", [1, 2, 3])
def test_the_rim_of_a_picture_is_lit_in_one_row_here_and_in_another_there(lit):
    trained, judged = rows(1, 500), rows(2, 300)
    trained[:, 2:] = judged[:, 2:] = 0.0
    trained[:lit, 2], judged[:lit, 3] = 0.06, 0.06
    assert shifts(profiled(trained, "training"), profiled(judged, "evaluation")) == []


@pytest.mark.parametrize("exchanged", [False, True])
def test_two_of_many_columns_that_all_drift(exchanged):
    """Among forty that drift, some two drift towards each other; what has changed places stands out."""
    draw = np.random.default_rng(4)
    drift = draw.normal(0.0, 0.4, 40)
    drift[:2] = 0.6, -0.6
    middle = np.r_[0.0, 0.6, draw.normal(0.0, 1.0, 38)]
    if exchanged:
        middle[1], drift[:2] = 6.0, (6.0, -6.0)
    one = draw.normal(middle, 1.0, (600, 40))
    other = draw.normal(middle + drift, 1.0, (600, 40))
    found = shifts(profiled(one, "training"), profiled(other, "evaluation"))
    assert [shift.column for shift in found if shift.how == "exchanged"] == ["input[:, 0]"] * exchanged
