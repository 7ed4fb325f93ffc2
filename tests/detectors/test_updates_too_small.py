"""A rate so small that a million steps would lead nowhere is told after a few."""

import pytest

from premortem.detectors.updates_too_small import UpdatesTooSmall
from tests.detectors.faults.updates_too_small import run


def codes(events):
    detector = UpdatesTooSmall()
    return [finding.code for event in events for finding in detector.hear(event)]


def test_a_hopeless_rate_is_told_after_a_few_steps():
    assert codes(run(update=1e-10, steps=40)) == ["PM212"]


@pytest.mark.parametrize(
    "facts",
    [
        {"update": 1e-6, "steps": 40},
        {"update": 1e-10, "steps": 5},
        {"update": 1e-10, "steps": 40, "loaded": True},
        {"update": 1e-10, "steps": 40, "fall": 0.98, "bias": 1e-3},
    ],
    ids=["small", "too soon", "loaded", "learns"],
)
def test_a_rate_that_may_be_meant_is_left_alone(facts):
    assert codes(run(**facts)) == []
