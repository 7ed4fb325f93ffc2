"""Two series in turns, and one that only looks so."""

import numpy as np
import pytest

from tests.preflight.data.test_truths import found, table

WINDOWS = "rows = open('a.csv')\nwindows = [rows[i:i + 24] for i in range(9)]\n"


def series(rng, count=600, slow=20.0, late=0.0):
    return np.sin(np.arange(count) / slow + late) + 0.1 * rng.normal(0, 1, count)


def turns(one, two):
    return np.stack([one, two], 1).reshape(-1).round(4)


def written(world, values, **more):
    table(world / "a.csv", {"level": values} | more)


def test_two_sensors_in_one_file(world, rng):
    written(world, turns(series(rng), 4 + series(rng, slow=33.0, late=1.0)), t=(np.arange(1200) / 8).round(3))
    assert "`level` follows the one before the last" in found(world, "PM747", WINDOWS)[0].message
    assert found(world, "PM747", WINDOWS + "DataLoader(x, shuffle=True)\n")
    for apart in ("x = rows[::2]\n", "x = level.reshape(-1, 2)\n", "frame.groupby('time')\n"):
        assert not found(world, "PM747", WINDOWS + apart)
    assert not found(world, "PM747", "rows = open('a.csv')\nDataLoader(x, shuffle=True)\n")


def test_a_column_that_says_which_is_which(world, rng):
    values = turns(series(rng), 4 + series(rng, slow=33.0, late=1.0))
    written(world, values, sensor=["a", "b"] * 600)
    assert not found(world, "PM747", WINDOWS)


def swinging(rng):
    made = np.zeros(1200)
    for at in range(1, 1200):
        made[at] = -0.97 * made[at - 1] + rng.normal()
    return made.round(4)


def by_day_and_night(rng):
    day = series(rng)
    return turns(day, 5 + 0.5 * day + 0.1 * rng.normal(0, 1, 600))


@pytest.mark.parametrize(
    "make",
    [
        by_day_and_night,
        swinging,
        lambda rng: series(rng, 1200).round(4),
        lambda rng: rng.normal(0, 1, 1200).round(4),
        lambda rng: turns(series(rng), 4 + series(rng, late=0.7)),  # one cycle in both
    ],
)
def test_one_series(world, rng, make):
    written(world, make(rng))
    assert not found(world, "PM747", WINDOWS)
