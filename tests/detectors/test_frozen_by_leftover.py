from premortem.detectors.frozen_by_leftover import FrozenByLeftover
from premortem.findings import Severity
from tests.detectors.faults.frozen_by_leftover import in_turn, later, misspelt, phases, run
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


def test_layers_that_were_frozen_after_their_optimizer_was_built():
    (finding,) = observe(FrozenByLeftover(), later())
    assert finding.severity is Severity.WARNING
    assert "although the optimizer was built for them" in finding.message
    assert finding.where.parameter == "model.stem.weight"


def test_a_last_phase_that_has_a_group_for_what_nobody_unfroze():
    (finding,) = observe(FrozenByLeftover(), phases())
    assert finding.severity is Severity.WARNING
    assert finding.message == (
        "the new optimizer took over `model.body.weight`, and all of them are still frozen"
    )


def test_most_of_a_model_that_stays_frozen_to_the_end():
    (finding,) = observe(FrozenByLeftover(), in_turn(always=True))
    assert finding.severity is Severity.WARNING
    assert "are frozen with random weights" in finding.message
