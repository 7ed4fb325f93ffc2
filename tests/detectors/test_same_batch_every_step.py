"""A stream that is started anew in each step gives its first batch for ever."""

from premortem.detectors.same_batch_every_step import SameBatchEveryStep
from tests.detectors.faults.same_batch_every_step import STREAM, steps


def test_a_stream_that_is_left_after_its_first_batch_is_told():
    detector = SameBatchEveryStep()
    run = [STREAM, *steps(12, drawn=True, left=True)]
    found = [f for event in run for f in detector.hear(event)]
    assert [f.code for f in found] == ["PM332"]
    assert "stream" in found[0].cause
