import pytest

from premortem.derived.windows import with_windows
from premortem.detectors.accumulation_window_broken import AccumulationWindowBroken
from tests.detectors.faults.accumulation_window_broken import (
    CLEARED_BETWEEN_EPOCHS,
    EVENTS,
    LEAKS,
    NEVER_YIELDED,
    OWN_ORDER,
)
from tests.detectors.test_contract import observe


@pytest.mark.parametrize(
    ("events", "message"),
    [
        (
            EVENTS,
            "the last 2 micro-batches of every epoch are cleared before a step uses them (windows of 4)",
        ),
        (
            CLEARED_BETWEEN_EPOCHS,
            "12 micro-batches at the ends of 4 epochs were cleared before a step used them (windows of 6)",
        ),
        (LEAKS, "the first window of every epoch holds 6 micro-batches instead of 4"),
        (
            NEVER_YIELDED,
            "the last 5 of 11 batches of every epoch are drawn and never trained on (windows of 6)",
        ),
        (
            OWN_ORDER,
            "160 of 352 samples of every epoch are never trained on: they do not fill a window of 6 micro-batches",
        ),
    ],
)
def test_each_way_of_losing_the_rest_has_its_words(events, message):
    assert [finding.message for finding in observe(AccumulationWindowBroken(), with_windows(events))] == [
        message
    ]
