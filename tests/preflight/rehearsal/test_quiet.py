"""What a rehearsal leaves unsaid is spelt as the detectors spell it."""

from premortem import detectors
from premortem.rehearsal.quiet import ALWAYS, WHEN_CUT


def test_every_name_is_that_of_a_detector():
    assert {cls.card.name for cls in detectors.ALL} >= ALWAYS | WHEN_CUT
