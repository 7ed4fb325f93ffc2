import pytest

from premortem.detectors.train_and_eval_inputs_differ import TrainAndEvalInputsDiffer
from tests.detectors.faults.train_and_eval_inputs_differ import (
    BOTH_RAW,
    LITTLE_SPREAD,
    NOT_NORMALISED,
    RAW_TARGETS,
)
from tests.detectors.test_contract import observe


@pytest.mark.parametrize(
    ("events", "words"),
    [
        (NOT_NORMALISED, "one has no number below 0, the other goes on both sides of it"),
        (BOTH_RAW, "times as large"),
        (LITTLE_SPREAD, "spread 16.7 times as little"),
        (RAW_TARGETS, "the predictions stay the same"),
    ],
)
def test_each_difference_has_its_words(events, words):
    (finding,) = observe(TrainAndEvalInputsDiffer(), events)
    assert words in finding.message
