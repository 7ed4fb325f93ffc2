"""A column that tells the label in the training rows only."""

import numpy as np
import pytest

from tests.preflight.data.test_truths import found, table

SCRIPT = "open('train.csv'), open('val.csv')\ny = [int(row['left']) for row in rows]\n"


def customers(rng, count, leaks, noise=0.0, alive=1.0):
    age, spent = rng.normal(0, 1, count), rng.gamma(2, 10, count)
    left = (alive * age + rng.normal(0, 1, count) > 0.3).astype(int)
    calls = rng.poisson(2, count) + (leaks * left * rng.poisson(9, count)) + noise * rng.normal(0, 6, count)
    return {
        "age": age.round(3),
        "spent": spent.round(2),
        "calls": calls.round(0).astype(int),
        "left": left,
    }


def test_a_count_that_went_on_after_the_outcome(world, rng):
    table(world / "train.csv", customers(rng, 1200, 1))
    table(world / "val.csv", customers(rng, 500, 0))
    (said,) = found(world, "PM746", SCRIPT)
    assert "`calls` alone puts 9" in said.message
    assert "`age` says the same in both" in said.message
    assert not found(world, "PM746", SCRIPT.replace("val.csv", "other.csv"))


def of_labels(made, rng):
    return made | {"left": rng.permutation(made["left"])}


HEALTHY = {
    "it tells in both": lambda rng: (customers(rng, 1200, 1), customers(rng, 500, 1)),
    "it tells in neither": lambda rng: (customers(rng, 1200, 0), customers(rng, 500, 0)),
    "a little less": lambda rng: (customers(rng, 1200, 1), customers(rng, 500, 1, noise=0.5)),
    "the labels are wrong": lambda rng: (customers(rng, 1200, 1), of_labels(customers(rng, 500, 1), rng)),
    "nothing else says anything": lambda rng: (
        customers(rng, 1200, 1, alive=0),
        customers(rng, 500, 0, alive=0),
    ),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_what_only_looks_so(world, rng, name):
    for split, made in zip(("train", "val"), HEALTHY[name](rng), strict=True):
        table(world / f"{split}.csv", made)
    assert not found(world, "PM746", SCRIPT)


def test_both_grow_with_the_time(world, rng):
    """In years that are divided at one of them, what tells early from late says nothing of the last months."""
    month = np.arange(1800)
    left = (month + rng.normal(0, 60, 1800) > 900 + 300 * (month > 1400) * rng.integers(0, 5, 1800)).astype(
        int
    )
    rows = {"month": month + 10_000, "price": (month + rng.normal(0, 20, 1800)).round(2)}
    rows |= {"age": (left + rng.normal(0, 1, 1800)).round(3), "left": left}
    table(world / "train.csv", {n: c[:1300] for n, c in rows.items()})
    table(world / "val.csv", {n: c[1300:] for n, c in rows.items()})
    assert not found(world, "PM746", SCRIPT)
