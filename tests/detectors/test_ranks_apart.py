"""The reason that is given is the first thing in which the ranks differ."""

import pytest

from premortem.detectors.ranks_apart import RanksApart
from premortem.findings import Severity
from tests.detectors.faults.ranks_apart import ALONE, APART, later
from tests.detectors.ranked import run


def said(events):
    detector = RanksApart()
    return [finding for event in events for finding in detector.observe(event)]


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"called": False, "bare": True}, "bare module"),
        ({"stranger": True}, "another model"),
        ({"replaced": ("head",)}, "replaced after wrapping"),
        ({"backwards": 9}, "skipped"),
        ({"refused": 1}, "refused"),
        ({"clips": 3}, "clipped"),
        ({"rates": (0.2,)}, "rate"),
        ({"gradients": (0, 0)}, "unused"),
        ({"gradients": (-1, -2)}, "gradients"),
        ({}, "state"),
    ],
)
def test_the_reason_is_what_else_differs(changes, kind):
    (finding,) = said(run(second={**APART, **changes}))
    assert finding.evidence["kind"] == kind
    assert finding.evidence["ranks"] == [1]
    assert finding.where.parameter == "model.stem"
    assert finding.severity is Severity.ERROR


def test_equal_gradients_on_different_weights_began_with_different_weights():
    (finding,) = said(run(first=ALONE, second={**ALONE, **APART}))
    assert (finding.evidence["kind"], finding.step) == ("start", 2)


def test_ranks_without_a_wrapper_that_moved_together_and_part_later_are_named():
    (finding,) = said(run(first=ALONE, second=later))
    assert finding.severity is Severity.WARNING
    assert finding.step == 16
