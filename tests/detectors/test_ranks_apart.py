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


BESIDE_PIECES = {"group": (), "wrapped_at": (), "copies": (-1, 0), "gradients": (8, 9)}
PARTED = {"values": (-1, 7), "sums": (0.0, 2.0), "gradients": (-1, 9)}


def beside(since, index=0, **more):
    """Two ranks with an ordinary parameter and a piece that both hold; the second one goes its own way from a step on."""
    parted = PARTED if index == 0 else {"values": (3, -7), "sums": (0.0, 9.0), "gradients": (8, -9)}
    first = lambda step: {**BESIDE_PIECES, "values": (3, 7), "sums": (1.0, 2.0), **more}  # noqa: E731
    second = lambda step: {**first(step), **(parted if step >= since else {})}  # noqa: E731
    return run(first=first, second=second, steps=(0, 1, 2, 3, 4, 8))


def test_a_layer_that_drifts_apart_beside_pieces_is_named():
    (finding,) = said(beside(since=1))
    assert (finding.where.parameter, finding.step) == ("model.stem", 2)
    assert finding.severity is Severity.WARNING, "equal before the first step: hand-made pieces may be so too"
    assert "nothing adds their gradients up" in finding.cause


def test_one_that_has_moved_with_the_others_is_surely_a_copy():
    (finding,) = said(beside(since=3))
    assert (finding.where.parameter, finding.severity) == ("model.stem", Severity.ERROR)


def test_a_piece_that_two_ranks_hold_by_its_placements_is_surely_a_copy():
    (finding,) = said(beside(since=1, index=1))
    assert (finding.where.parameter, finding.severity) == ("model.head", Severity.ERROR)


def test_pieces_of_other_ranks_and_parameters_that_never_agreed_are_left_in_peace():
    def other(rank):
        own = {"copies": (-1, rank), "values": (rank, rank), "sums": (rank, rank)}
        return {**BESIDE_PIECES, **own}

    assert said(run(first=other(0), second=other(1), steps=(0, 1, 2, 3, 4))) == []


def test_of_all_that_parted_the_first_one_is_named():
    both = lambda step: {**PARTED, "values": (-1, -7), "sums": (0.0, 0.0)} if step > 1 else PARTED  # noqa: E731
    first = lambda step: {**BESIDE_PIECES, "copies": (-1, -1), "values": (3, 7), "sums": (1.0, 2.0)}  # noqa: E731
    events = run(
        first=first,
        second=lambda step: {**first(step), **(both(step) if step else {})},
        steps=(0, 1, 2, 3),
    )
    (finding,) = said(events)
    assert finding.where.parameter == "model.stem"
    assert finding.evidence["parameters"] == ["model.stem", "model.head"]
