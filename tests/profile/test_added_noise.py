"""Noise that is given to all columns in training makes a constant one vary, and is nothing that is wrong with the evaluation."""

import numpy as np
import pytest

from premortem.profile.between import shifts
from tests.profile.making import profiled


def standardised(rows, seed):
    """The first two of eight columns are 0 everywhere."""
    table = np.random.default_rng(seed).normal(size=(rows, 8))
    table[:, :2] = 0.0
    return table


@pytest.mark.parametrize("noise", [0.1, 0.3, 1.0])
def test_a_constant_column_with_noise_in_training(noise):
    draw = np.random.default_rng(5)
    trained = standardised(400, 1) + noise * draw.normal(size=(400, 8))
    assert shifts(profiled(trained, "training"), profiled(standardised(200, 2), "evaluation")) == []


def test_a_column_that_is_empty_in_the_evaluation():
    trained = np.random.default_rng(1).normal(size=(400, 8))
    found = shifts(profiled(trained, "training"), profiled(standardised(200, 2), "evaluation"))
    assert [shift.how for shift in found] == ["constant", "constant"]
