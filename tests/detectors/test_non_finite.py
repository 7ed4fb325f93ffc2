"""What is said of a failure, for each way it can begin."""

from premortem.detectors.masked_non_finite import MaskedNonFinite
from premortem.detectors.non_finite_input import NonFiniteInput
from premortem.detectors.non_finite_training import NonFiniteTraining
from premortem.detectors.overflow import Overflow
from premortem.detectors.update_refused import UpdateRefused
from premortem.events import LossTested, NonFinite, StepRefused
from premortem.findings import Certainty
from tests.detectors.faults import masked_non_finite, non_finite_input, non_finite_training, overflow
from tests.detectors.rehearsal import line
from tests.detectors.test_contract import heard, observe

SEEN = {
    "module": "model.scale",
    "made": "-inf",
    "dtype": "float32",
    "rows": (17,),
    "samples": 64,
    "located": True,
    "watched": True,
}


def broken(**origin):
    (finding,) = observe(NonFiniteTraining(), heard(non_finite_training.run(origin=origin)))
    return finding


def test_the_operation_is_the_place():
    finding = broken(**non_finite_training.LOG, **SEEN)
    assert finding.message.startswith(
        "the logarithm of 0 at train.py:22 made -inf (in model.scale, sample 17 of 64, float32)"
    )
    assert (finding.where.line, finding.where.module, finding.certainty) == (
        22,
        "model.scale",
        Certainty.PROVED,
    )


def test_a_derivative():
    root = {**SEEN, "stage": "backward", "op": "sqrt", "detail": "the derivative of sqrt at 0", "made": "inf"}
    finding = broken(**root, parameter="model.head.weight")
    assert (
        "backward gave `model.head.weight` a gradient that was not: the derivative of sqrt at 0"
        in finding.message
    )
    assert finding.where.parameter == "model.head.weight"


def test_an_update():
    finding = broken(stage="update", op="addcdiv", detail="a division by 0", parameter="model.w", **SEEN)
    assert finding.message.startswith(
        "the update of `model.w` was not finite: a division by 0 at train.py:22"
    )


def test_what_little_is_known_without_an_origin():
    (unknown,) = observe(NonFiniteTraining(), heard(non_finite_training.UNKNOWN))
    (diverged,) = observe(NonFiniteTraining(), heard(non_finite_training.DIVERGED))
    (gradient,) = observe(NonFiniteTraining(), heard(non_finite_training.GRADIENT))
    assert unknown.message.startswith("the loss became NaN or infinite")
    assert diverged.family == "exploding"
    assert (gradient.where.parameter, gradient.certainty) == ("model.0.weight", Certainty.MEASURED)


def test_data():
    (finding,) = observe(NonFiniteInput(), heard(non_finite_input.EVENTS))
    assert finding.message.startswith("the input holds NaN or infinity (samples 3, 17)")
    (on_gpu,) = observe(NonFiniteInput(), heard(non_finite_input.ON_GPU))
    assert on_gpu.message.startswith("the input holds NaN or infinity:")
    (target,) = observe(NonFiniteInput(), heard(non_finite_input.TARGET))
    assert target.message.startswith("the target holds")


def test_overflow():
    (finding,) = observe(Overflow(), heard(overflow.EVENTS))
    assert "in one step: exp of 104" in finding.message
    (constant,) = observe(Overflow(), heard(overflow.CONSTANT))
    assert "does not fit its type" in constant.message


def test_steps_that_are_thrown_away_again_and_again():
    (finding,) = observe(MaskedNonFinite(), heard(masked_non_finite.THROWN))
    assert finding.message == "20 batches in a row gave gradients that are not finite and were skipped"
    assert (finding.where.line, finding.where.module) == (13, "model.scale")
    assert "the derivative of sqrt at 0 made inf in the backward pass of train.py:13" in finding.cause


def test_what_is_skipped_has_no_mask_to_remove_and_no_step_before_the_first():
    (finding,) = observe(MaskedNonFinite(), heard(masked_non_finite.THROWN))
    assert finding.remedy.startswith("Keep its operand above 0")
    assert "masked_by" not in finding.evidence
    (skipped,) = observe(MaskedNonFinite(), heard(masked_non_finite.SKIPPED))
    assert "mask" not in skipped.remedy.lower()
    origin = {**non_finite_training.LOG, **SEEN, "stage": "forward"}
    born = NonFinite(step=1, at=line(22), value=None, **origin)
    asked = [LossTested(step=1, at=line(23), value=float("nan")) for _ in range(40)]
    (stuck,) = observe(MaskedNonFinite(), [born, *asked])
    assert (stuck.step, stuck.evidence["first_step"]) == (2, 2)


def test_a_refused_step_whose_operation_is_known_says_what_to_change_there():
    origin = NonFinite(
        step=8, at=line(22), value=None, **{**non_finite_training.LOG, **SEEN, "stage": "forward"}
    )
    refused = StepRefused(
        step=9, at=line(23), optimizer=1, reason="gradient", worst=None, loss=0.5, row=1, total=1, made=8
    )
    detector = UpdateRefused()
    (finding,) = [said for event in (origin, refused) for said in detector.hear(event)]
    assert finding.remedy.startswith("Give it a number above 0")
    (finding,) = UpdateRefused().hear(refused)
    assert finding.remedy.startswith("Find what makes it")


def test_a_derivative_that_breaks_again_when_nobody_looks_is_the_one_that_was_seen():
    (finding,) = observe(MaskedNonFinite(), heard(masked_non_finite.COMES_AND_GOES))
    assert (finding.family, finding.where.line) == ("numerics-nan", 13)
    assert "The loss itself is in order" in finding.cause
    (finding,) = observe(MaskedNonFinite(), heard(masked_non_finite.IN_ANOTHER_TRAINING))
    assert (finding.family, finding.where.line) == ("numerics-masked", None)


def test_every_way_to_hide_it():
    asked = ("ASKED_AND_SKIPPED", "ASKED_AND_REPLACED")
    for run in ("WHOLE", "OF_GRADIENTS", "WIPED_OUT", "REPLACED", "SKIPPED", *asked):
        assert observe(MaskedNonFinite(), heard(getattr(masked_non_finite, run))), run
