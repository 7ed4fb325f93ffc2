"""Numbers that went round the end of their type, and numbers that only look so."""

import numpy as np
import pytest

from premortem.findings import Severity
from tests.preflight.data.test_truths import found, table


def counts(rng, rows=1500):
    return rng.gamma(9, 20, rows).astype("int64")


def arrays(world, train, val):
    np.save(world / "counts_train.npy", train)
    np.save(world / "counts_val.npy", val)


@pytest.mark.parametrize("which", ["uint8", "int8"])
@pytest.mark.parametrize("swapped", [False, True])
def test_a_split_that_was_stored_in_too_small_a_type(world, rng, which, swapped):
    pair = [counts(rng).astype(which), counts(rng, 900)]
    arrays(world, *(pair[::-1] if swapped else pair))
    (said,) = found(world, "PM743")
    assert said.severity is Severity.ERROR
    assert which in said.message


def test_numbers_that_fill_the_type_evenly_are_a_warning(world, rng):
    """Counts spread over several turns are everywhere once they went round, and so is a hash."""
    wide = [rng.gamma(6, 100, 1500).astype("int64") for _ in range(2)]
    arrays(world, wide[0].astype("uint8"), wide[1])
    (said,) = found(world, "PM743")
    assert said.severity is Severity.WARNING


def test_a_column_of_a_matrix(world, rng):
    wide = [np.stack([counts(rng) * 300, counts(rng)], 1) for _ in range(2)]
    np.savez(world / "train.npz", x=wide[0].astype("int16"))
    np.savez(world / "val.npz", x=wide[1].astype("int32"))
    (said,) = found(world, "PM743")
    assert "x[:, 0]" in said.message


def test_a_table_does_not_say_its_types(world, rng):
    for split, how in (("train", "int64"), ("val", "uint8")):
        made = counts(rng)
        table(
            world / f"{split}.csv",
            {"sold": made.astype(how), "rain": rng.normal(0, 1, 1500).round(3), "y": made % 3},
        )
    (said,) = found(world, "PM743")
    assert said.severity is Severity.WARNING
    assert "`sold` of `val.csv`" in said.message


def test_one_of_several_files(world, rng):
    for at in range(5):
        np.save(world / f"part_{at}.npy", counts(rng).astype("uint8" if at == 3 else "int32"))
    (said,) = found(world, "PM743")
    assert "`part_3.npy`" in said.message


HEALTHY = {
    "each file has the smallest type that holds it": lambda rng: (
        rng.integers(0, 256, 1500).astype("uint8"),
        rng.integers(0, 301, 900).astype("int16"),
    ),
    "another year sold more": lambda rng: (
        rng.gamma(6, 15, 1500).clip(0, 255).astype("uint8"),
        counts(rng),
    ),
    "cut off at the end of the type": lambda rng: (counts(rng).clip(0, 255).astype("uint8"), counts(rng)),
    "rows beyond it were left out": lambda rng: (
        (made := counts(rng, 4000))[made < 256].astype("uint8"),
        counts(rng),
    ),
    "numbers of a hash": lambda rng: (
        rng.integers(0, 256, 1500).astype("uint8"),
        rng.integers(0, 4096, 1500).astype("int16"),
    ),
    "pictures of eight and of sixteen bits": lambda rng: (
        rng.normal(120, 30, 3000).clip(0, 255).astype("uint8"),
        (rng.normal(120, 30, 3000).clip(0, 255) * 257).astype("uint16"),
    ),
    "from another start": lambda rng: (
        rng.normal(40, 9, 1500).clip(0).astype("uint8"),
        (rng.normal(40, 9, 1500).clip(0) + 256).astype("int16"),
    ),
    "wide in both": lambda rng: (counts(rng), counts(rng)),
    "angles": lambda rng: (
        rng.vonmises(0, 1, 1500).__mul__(127 / np.pi).astype("int8"),
        (rng.vonmises(0, 1, 1500) * 180 / np.pi % 360).astype("int16"),
    ),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_numbers_that_only_look_so(world, rng, name):
    arrays(world, *HEALTHY[name](rng))
    assert not found(world, "PM743")


def test_a_bucket_of_each_id(world, rng):
    """The rest of an id is a hash of it: the rows of another split have other ids."""
    ids = rng.permutation(40_000)[:3000]
    arrays(world, (ids[:2000] % 256).astype("uint8"), ids[2000:])
    assert not found(world, "PM743")
