"""A stream that is started anew in each step gives its first batch for ever."""

from dataclasses import replace

import pytest

from premortem.detectors.same_batch_every_step import SameBatchEveryStep
from premortem.events import BatchDrawn, RunEnded
from tests.detectors.faults.same_batch_every_step import AT, LOADER, STREAM, steps

FIVE = replace(LOADER, batches=5, samples=100)


def epochs(many, per_epoch, **facts):
    for epoch in range(many):
        yield BatchDrawn(step=epoch * per_epoch, at=AT, loader=1, index=0, fingerprint=epoch)
        yield from steps(per_epoch, same_object=True, **{"fingerprint": epoch, **facts})
    yield RunEnded(step=many * per_epoch)


def heard(run):
    detector = SameBatchEveryStep()
    return [f for event in run for f in detector.hear(event)]


def test_a_stream_that_is_left_after_its_first_batch_is_told():
    detector = SameBatchEveryStep()
    run = [STREAM, *steps(12, drawn=True, left=True)]
    found = [f for event in run for f in detector.hear(event)]
    assert [f.code for f in found] == ["PM332"]
    assert "stream" in found[0].cause


@pytest.mark.parametrize("facts", [{}, {"fingerprint": 3}], ids=["shuffled", "in order"])
def test_a_batch_that_stands_for_a_whole_epoch_is_told_in_the_second_epoch(facts):
    found = heard([FIVE, *epochs(2, 5, **facts)])
    assert [f.code for f in found] == ["PM332"]
    assert "5 steps" in found[0].message


@pytest.mark.parametrize(
    "run",
    [
        [FIVE, *epochs(1, 200)],  # an overfitting check on one batch
        [FIVE, *epochs(40, 1)],  # a step for each pass, on purpose
        [FIVE, *epochs(10, 3)],  # each batch is used a few times
        [replace(FIVE, batches=2), *epochs(10, 2)],  # two critic steps for each batch, of two batches
    ],
    ids=["overfit", "once", "thrice", "critic"],
)
def test_a_batch_that_is_used_again_on_purpose_is_not(run):
    assert heard(run) == []
