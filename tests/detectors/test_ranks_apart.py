"""The reason that is given is the first thing in which the ranks differ."""

from dataclasses import replace

import pytest

from premortem.detectors.ranks_apart import RanksApart
from premortem.findings import Severity
from tests.detectors.faults.ranks_apart import ALONE, APART, later
from tests.detectors.ranked import run


def said(events):
    detector = RanksApart()
    return [finding for event in events for finding in detector.hear(event)]


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


def in_pieces(events):
    return [replace(event, names=()) for event in events]


def test_a_step_that_one_rank_leaves_out_is_told_of_sharded_models():
    counts = lambda extra: lambda step: {"forwards": step + extra * (step > 4), "steps": step}  # noqa: E731
    (finding,) = said(in_pieces(run(first=counts(0), second=counts(1))))
    assert (finding.step, finding.evidence["kind"], finding.evidence["ranks"]) == (8, "skipped", [1])
    assert said(in_pieces(run(first=counts(0), second=counts(0)))) == []


def test_a_rank_with_an_optimizer_of_its_own_besides_is_compared_at_other_moments_and_left_in_peace():
    """Its steps are counted in with the others', so that the same number means another moment."""
    usual = lambda step: {"forwards": step, "steps": step}  # noqa: E731
    busy = lambda step: {"forwards": step // 2 + 1, "steps": step // 2}  # noqa: E731
    assert said(in_pieces(run(first=usual, second=busy))) == []
    assert said(in_pieces(run())) == [], "other sharding than FSDP2 counts nothing"
