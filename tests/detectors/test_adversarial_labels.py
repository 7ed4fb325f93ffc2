from premortem.detectors.adversarial_training import AdversarialLabels
from tests.detectors.faults.adversarial_labels import EVENTS, SAME
from tests.detectors.test_contract import observe


def test_a_generator_that_is_trained_to_be_found_out():
    (finding,) = observe(AdversarialLabels(), EVENTS)
    assert finding.message == "`G` is trained towards the label 0, which `D` uses for generated samples"
    assert (finding.where.line, finding.where.module) == (35, "G")


def test_a_discriminator_with_one_label_for_both():
    (finding,) = observe(AdversarialLabels(), SAME)
    assert finding.message == "`D` is trained towards the same label (1) for real samples and for `G`'s"
