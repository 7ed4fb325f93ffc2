"""What a network has learnt is told by a third of its losses, never by the one or two that thirds leave over."""

from premortem.detectors.uninformative_labels import UninformativeLabels
from tests.detectors.faults.uninformative_labels import CLASSES, NOTHING, LabelsWeighed, Rehearsal


def codes(events):
    detector = UninformativeLabels()
    return [finding.code for event in events for finding in detector.hear(event)]


def lucky_at_the_end(steps):
    play = Rehearsal()
    play.optimizer(1, 2)
    for step in range(steps):
        play.zero()
        play.forward()
        play.loss(1.39 if step < steps - 2 else 0.9, classes=CLASSES)
        play.backward()
        play.stepped()
        if step == 9:
            play.add(LabelsWeighed(step=play.step, **{"classes": 4, **NOTHING}))
    return play.end()


def test_two_easy_batches_at_the_end_are_no_learning():
    assert codes(lucky_at_the_end(227)) == ["PM422"]
