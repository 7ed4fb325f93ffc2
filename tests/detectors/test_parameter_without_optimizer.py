import pytest

from premortem.detectors.parameter_without_optimizer import ParameterWithoutOptimizer
from premortem.findings import Severity
from tests.detectors.faults.parameter_without_optimizer import bare, given_twice, phases, run
from tests.detectors.test_contract import observe


@pytest.mark.parametrize(
    ("events", "cause"),
    [
        (run(born_after=True), "it was made after this optimizer was built"),
        (
            run(strangers=((7, 0),)),
            "this optimizer still holds 1 parameter that no loss reaches, of a part that was replaced",
        ),
        (run(frozen_first=2, loaded=True), "it was frozen when this optimizer was built, and unfrozen later"),
    ],
)
def test_a_lost_parameter_is_an_error_with_the_reason(events, cause):
    (finding,) = observe(ParameterWithoutOptimizer(), events)
    assert (finding.severity, finding.cause) == (Severity.ERROR, cause)
    assert finding.message == "`model.head.weight` gets gradients and is in no optimizer"
    assert finding.where.line == 10


def test_an_optimizer_of_an_earlier_phase_moves_nothing_any_more():
    (finding,) = observe(ParameterWithoutOptimizer(), phases())
    assert finding.message == "`model.body.weight` gets gradients and is in no optimizer that steps"
    assert finding.cause == "it was frozen when this optimizer was built, and unfrozen later"
    assert (finding.where.line, finding.where.parameter) == (10, "model.body.weight")


def test_of_two_optimizers_with_the_same_parameters_the_later_one_is_blamed():
    (finding,) = observe(ParameterWithoutOptimizer(), given_twice())
    assert finding.where.line == 7
    assert finding.severity is Severity.ERROR


def test_one_that_was_merely_left_out_is_a_warning_and_takes_time():
    (finding,) = observe(ParameterWithoutOptimizer(), run(steps=30))
    assert (finding.severity, finding.step) == (Severity.WARNING, 16)


def test_a_parameter_outside_of_every_model_is_named():
    (finding,) = observe(ParameterWithoutOptimizer(), bare(moves=False))
    assert finding.message == "`log_vars` gets gradients and is in no model and no optimizer"
