from dataclasses import replace

from premortem.detectors.compared_rows import ClassesNumberedOtherwise
from premortem.findings import Certainty, Severity
from tests.detectors.faults.classes_numbered_otherwise import EVENTS, OWN, SEEN
from tests.detectors.rehearsal import again
from tests.detectors.test_contract import observe


def test_a_teacher_in_another_order():
    (finding,) = observe(ClassesNumberedOtherwise(), EVENTS)
    assert "teacher" in finding.message
    assert finding.evidence["right"] == 0
    assert [0, 3] in finding.evidence["order"]


def test_a_model_that_was_loaded():
    (finding,) = observe(ClassesNumberedOtherwise(), again(OWN, 4))
    assert "as it was loaded" in finding.message


def test_two_classes_that_have_changed_places():
    swapped = replace(SEEN, guided=((0, 0, 20), (1, 2, 20), (2, 1, 19), (2, 0, 1)))
    (finding,) = observe(ClassesNumberedOtherwise(), again(swapped, 4))
    assert finding.evidence["order"] == [[1, 2], [2, 1]]
    assert (finding.severity, finding.certainty) == (Severity.INFO, Certainty.SUSPECTED), (
        "of three, it is chance"
    )
    unsure = replace(SEEN, guided=((0, 0, 20), (1, 2, 11), (1, 1, 9), (2, 1, 11), (2, 2, 9)))
    assert observe(ClassesNumberedOtherwise(), again(unsure, 4)) == []
