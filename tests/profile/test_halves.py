"""The first and the second half of a file: another unit in the middle, and groups one behind the other."""

import numpy as np
import pytest

from premortem.profile.arrays import rows_of
from premortem.profile.between import along
from tests.profile.making import sampled


@pytest.mark.parametrize(
    ("groups", "how"), [(8, []), (800, ["rescaled"])], ids=["sorted by a group", "a running number"]
)
def test_a_column_that_is_wider_in_the_second_half(groups, how):
    draw = np.random.default_rng(0)
    table = draw.normal(size=(800, 3))
    table[400:, 1] *= 40
    table[:, 0] = np.arange(800) * groups // 800
    sample, kind = sampled(table)
    assert [shift.how for shift in along(sample, kind)] == how


def test_targets_that_do_not_count_are_no_values():
    tokens = np.random.default_rng(1).integers(3, 23, (50, 20))
    tokens[:, 5:] = -100
    tokens[::5] = -100
    rows = rows_of(tokens, len(tokens))
    lowest, highest = rows.values[:, 0], rows.values[:, 1]
    assert np.isnan(lowest[::5]).all()
    assert np.nanmin(lowest) >= 3
    assert np.nanmax(highest) < 23
