"""Which checkpoints stay: pure, so every case can be asked."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from premortem.errors import UsageError
from premortem.vault.retention import Best, Kept, Retention, last_good, under_pressure


def kept(step, **more):
    return Kept(f"step-{step}", step, **more)


def left(retention, records, by=None):
    gone = {each.name for each in retention.surplus(records, by)}
    return [each.step for each in records if each.name not in gone]


def test_a_training_that_began_anew_is_newer_than_the_last_one():
    old = [Kept(f"step-{step}", step, time=float(step)) for step in (100, 200, 300)]
    assert left(Retention(newest=2), [*old, Kept("step-1", 1, time=1000.0)]) == [300, 1]


def test_the_newest_stay():
    assert left(Retention(newest=2), [kept(step) for step in range(6)]) == [4, 5]


def test_every_so_many_steps_one_stays():
    assert left(Retention(newest=1, every=10), [kept(step) for step in (5, 10, 15, 20, 25)]) == [10, 20, 25]


def test_the_best_stays_and_a_tie_goes_to_the_newer():
    records = [kept(step, metrics={"loss": loss}) for step, loss in enumerate([3.0, 1.0, 1.0, 2.0])]
    assert left(Retention(newest=1), records, Best.parse("loss:min")) == [2, 3]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_not_the_best(value):
    records = [kept(0, metrics={"acc": 0.5}), kept(1, metrics={"acc": value}), kept(2)]
    assert left(Retention(newest=1), records, Best.parse("acc:max")) == [0, 2]


def test_weights_that_are_not_finite_are_not_the_best_and_do_not_push_the_last_good_one_out():
    records = [
        kept(0, metrics={"acc": 0.1}),
        kept(1, metrics={"acc": 0.9}, healthy=False),
        kept(2, healthy=False),
    ]
    assert left(Retention(newest=1, best=0), records, Best.parse("acc:max")) == [0, 2]


def test_what_the_mirror_does_not_have_stays():
    records = [kept(0, mirrored=False), kept(1), kept(2)]
    assert left(Retention(newest=1), records) == [0, 2]


def test_a_budget_outweighs_the_numbers():
    records = [kept(step, bytes=10) for step in range(5)]
    assert left(Retention(newest=5, bytes=25), records) == [3, 4]
    assert left(Retention(newest=5, bytes=1), records) == [4]


records = st.lists(
    st.builds(
        lambda step, healthy, mirrored, value: kept(
            step, healthy=healthy, mirrored=mirrored, metrics={"m": value}, bytes=7
        ),
        st.integers(0, 1000),
        st.booleans(),
        st.booleans(),
        st.floats(),
    ),
    unique_by=lambda each: each.step,
    max_size=12,
)
retentions = st.builds(
    Retention,
    newest=st.integers(1, 4),
    best=st.integers(0, 2),
    every=st.none() | st.integers(1, 50),
    bytes=st.none() | st.integers(0, 60),
)


@given(retentions, records)
def test_the_last_good_one_always_stays(retention, held):
    for gone in (retention.surplus(held, Best.parse("m:max")), under_pressure(held, Best.parse("m:max"))):
        names = {each.name for each in gone}
        assert not last_good(held) & names
        assert len(names) == len(gone)
    healthy = [each.step for each in held if each.healthy]
    assert not healthy or last_good(held) == {f"step-{max(healthy)}"}


def test_a_vault_that_keeps_nothing_is_none():
    with pytest.raises(UsageError):
        Retention(newest=0)
