from premortem.detectors.same_order_every_epoch import SameOrderEveryEpoch
from tests.detectors.faults.same_order_every_epoch import SEEDED


def test_a_seed_that_takes_the_training_back_each_time():
    detector = SameOrderEveryEpoch()
    found = [finding for event in SEEDED for finding in detector.hear(event)]
    assert [(f.evidence["seed"], f.evidence["times"]) for f in found] == [(0, 3)]
