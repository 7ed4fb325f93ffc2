"""A key of two splits: the same things, numbered anew in one of them, or something that only looks so."""

import numpy as np
import pytest

from tests.preflight.data.test_truths import found, table

KEYS = 24


def rows(rng, count, effects, noise=0.4):
    shop, hour = rng.integers(0, KEYS, count), rng.normal(0, 1, count).round(3)
    return {
        "shop": shop,
        "hour": hour,
        "sales": (effects[shop] + 0.5 * hour + rng.normal(0, noise, count)).round(3),
    }


def splits(world, rng, change):
    effects = rng.normal(0, 1, KEYS)
    table(world / "train.csv", rows(rng, 1600, effects))
    table(world / "val.csv", change(rng, effects))


def test_keys_that_were_numbered_anew(world, rng):
    splits(world, rng, lambda rng, effects: rows(rng, 800, rng.permutation(effects)))
    (said,) = found(world, "PM744")
    assert "the 24 values of `shop`" in said.message
    assert not found(world, "PM744", "open('other.csv')\n")


def test_in_arrays(world, rng):
    effects = rng.normal(0, 1, KEYS)
    for split, own in (("train", effects), ("test", np.roll(effects, 7))):
        for name, values in rows(rng, 1600, own).items():
            np.save(world / f"{name}_{split}.npy", values)
    assert "`shop`" in found(world, "PM744")[0].message


def words(made):
    return made | {"shop": [f"shop {at}" for at in made["shop"]]}


HEALTHY = {
    "the same keys": lambda rng, e: rows(rng, 800, e),
    "other subjects": lambda rng, e: rows(rng, 800, rng.normal(0, 1, KEYS)),
    "no effect any more": lambda rng, e: rows(rng, 800, 0 * e),
    "effects that drift": lambda rng, e: rows(rng, 800, e + rng.normal(0, 0.6, KEYS)),
    "turned round": lambda rng, e: rows(rng, 800, -e),
    "fewer keys": lambda rng, e: {
        n: c[rows["shop"] < 20] for rows in [rows_of(rng, e)] for n, c in rows.items()
    },
    "names": lambda rng, e: words(rows(rng, 800, e)),
}


def rows_of(rng, effects):
    return rows(rng, 800, rng.permutation(effects))


@pytest.mark.parametrize("name", HEALTHY)
def test_what_only_looks_so(world, rng, name):
    splits(world, rng, HEALTHY[name])
    assert not found(world, "PM744")


def test_a_key_without_effect(world, rng):
    table(world / "train.csv", rows(rng, 1600, np.zeros(KEYS)))
    table(world / "val.csv", rows(rng, 800, np.zeros(KEYS)))
    assert not found(world, "PM744")


def test_hours_are_no_keys_of_things(world, rng):
    """An ordered column whose effect is another one in winter."""
    hours = np.sin(np.arange(KEYS) / KEYS * 2 * np.pi)
    table(world / "train.csv", rows(rng, 1600, hours))
    table(world / "val.csv", rows(rng, 800, np.roll(hours, 6)))
    assert not found(world, "PM744")
