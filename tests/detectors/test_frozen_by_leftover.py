from premortem.detectors.frozen_by_leftover import FrozenByLeftover
from premortem.findings import Severity
from tests.detectors.faults.frozen_by_leftover import misspelt, run
from tests.detectors.test_contract import observe


def test_a_new_head_that_was_frozen_with_the_body():
    (finding,) = observe(FrozenByLeftover(), run(body={"loaded": True}))
    assert finding.severity is Severity.ERROR
    assert finding.message == (
        "the last layer, `model.head.weight`, is frozen with the weights it was initialised with"
    )


def test_a_misspelt_flag_is_quoted():
    (finding,) = observe(FrozenByLeftover(), misspelt(frozen=True))
    assert finding.message == "`require_grad = True` does nothing: `model.body.weight` stays frozen"
