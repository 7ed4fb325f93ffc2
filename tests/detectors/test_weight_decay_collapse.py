"""A decay that leaves a part of the weights, and takes it again in each step."""

from premortem.detectors.weight_decay_collapse import WeightDecayCollapse
from premortem.findings import Severity
from tests.detectors.faults.weight_decay_collapse import HELD


def test_a_decay_that_holds_every_matrix_down_is_told_at_the_end():
    detector = WeightDecayCollapse()
    found = [f for event in HELD for f in detector.hear(event)]
    assert [(f.code, f.severity) for f in found] == [("PM231", Severity.WARNING)]
