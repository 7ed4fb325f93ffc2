import pytest

from premortem.detectors.adversarial_training import GeneratorLossInDiscriminator
from tests.detectors.faults.generator_loss_in_discriminator import run
from tests.detectors.test_contract import observe


@pytest.mark.parametrize("judge_twice", [False, True])
def test_the_line_that_clears_too_early_is_blamed(judge_twice):
    (finding,) = observe(GeneratorLossInDiscriminator(), run(judge_twice=judge_twice))
    assert (finding.where.line, finding.where.module) == (32, "D")
