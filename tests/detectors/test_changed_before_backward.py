from premortem.detectors.refused_by_torch import ChangedBeforeBackward
from tests.detectors.faults.changed_before_backward import EVENTS
from tests.detectors.test_contract import observe


def test_a_step_before_backward_is_a_matter_of_order():
    (finding,) = observe(ChangedBeforeBackward(), EVENTS)
    assert (finding.family, finding.where.line) == ("update-order", 25)
    without_step = [event for event in EVENTS if getattr(event, "at", None) is None or event.at.line != 25]
    (finding,) = observe(ChangedBeforeBackward(), without_step)
    assert (finding.family, finding.where.line) == ("grad-flow", 22)
