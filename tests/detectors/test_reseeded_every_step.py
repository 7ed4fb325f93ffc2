from premortem.detectors.reseeded_every_step import ReseededEveryStep
from premortem.findings import Severity
from tests.detectors.faults.reseeded_every_step import steps
from tests.detectors.test_contract import observe


def test_numbers_that_are_drawn_again_in_every_epoch():
    (finding,) = observe(ReseededEveryStep(), list(steps(40, seeds=[0], same=False, rewound=(16, 32))))
    assert finding.severity is Severity.WARNING
    assert finding.step == 32
    assert finding.evidence == {"steps": 33, "times": 2}
