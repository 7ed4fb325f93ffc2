from premortem.detectors.train_and_val_on_different_scales import TrainAndValOnDifferentScales
from tests.detectors.faults.train_and_val_on_different_scales import OWN_CRITERION
from tests.detectors.test_contract import observe


def test_a_criterion_of_the_script_s_own_is_heard_too():
    (finding,) = observe(TrainAndValOnDifferentScales(), OWN_CRITERION)
    assert "divided by 4" in finding.message
