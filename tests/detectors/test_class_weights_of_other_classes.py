from premortem.detectors.class_weights_of_other_classes import ClassWeightsOfOtherClasses
from tests.detectors.faults.class_weights_of_other_classes import ANOTHER_ORDER
from tests.detectors.test_contract import observe


def test_weights_of_these_counts_in_another_order():
    (finding,) = observe(ClassWeightsOfOtherClasses(), ANOTHER_ORDER)
    assert "in another order of the classes" in finding.cause
