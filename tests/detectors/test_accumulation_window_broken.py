import pytest

from premortem.detectors.accumulation_window_broken import AccumulationWindowBroken
from tests.detectors.derived_events import with_windows
from tests.detectors.faults.accumulation_window_broken import (
    CLEARED_BETWEEN_EPOCHS,
    EVENTS,
    LEAKS,
    NEVER_YIELDED,
    OWN_ORDER,
)
from tests.detectors.test_contract import observe


@pytest.mark.parametrize(
    ("events", "facts"),
    [
        (EVENTS, {"window": 4}),
        (CLEARED_BETWEEN_EPOCHS, {"window": 6, "thrown": 12}),
        (LEAKS, {"window": 4}),
        (NEVER_YIELDED, {"window": 6, "batches": 11, "trained": 6}),
        (OWN_ORDER, {"window": 6, "samples": 352, "trained": 192}),
    ],
)
def test_each_way_of_losing_the_rest_has_its_numbers(events, facts):
    (finding,) = observe(AccumulationWindowBroken(), with_windows(events))
    assert {name: finding.evidence[name] for name in facts} == facts
    assert str(facts["window"]) in finding.message
