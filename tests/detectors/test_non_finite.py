"""What is said of a failure, for each way it can begin."""

from premortem.detectors.masked_non_finite import MaskedNonFinite
from premortem.detectors.non_finite_input import NonFiniteInput
from premortem.detectors.non_finite_training import NonFiniteTraining
from premortem.detectors.overflow import Overflow
from premortem.detectors.update_refused import UpdateRefused
from premortem.events import LossTested, NonFinite, NonFiniteComputed, StepRefused
from premortem.findings import Certainty
from tests.detectors.faults import (
    masked_non_finite,
    non_finite_input,
    non_finite_training,
    overflow,
    update_refused,
)
from tests.detectors.rehearsal import Rehearsal, line
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


def test_steps_that_an_engine_leaves_out_where_no_gradient_is_seen():
    (finding,) = observe(MaskedNonFinite(), heard(masked_non_finite.LEFT_OUT_BY_AN_ENGINE))
    assert finding.message == "3 batches gave a loss that is not finite, and the script left them out"
    assert (finding.step, finding.where.line) == (3, 13)


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


def test_accumulation_leaves_no_batch_out():
    left = [
        "left them out" in finding.message
        for cleared in (False, True)
        for finding in observe(MaskedNonFinite(), heard(masked_non_finite.accumulated(cleared=cleared)))
    ]
    assert left == [False, True]


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


def test_gradients_that_autograd_grad_takes_are_not_skipped():
    (finding,) = observe(MaskedNonFinite(), heard(masked_non_finite.BY_HAND))
    assert finding.family == "numerics-nan"
    assert "skipped" not in finding.message


def test_a_refused_step_names_the_line_that_made_its_data():
    made = NonFinite(
        at=line(31),
        stage="forward",
        value=None,
        op="div",
        detail="div outside of torch",
        made="nan",
        located=True,
    )
    held = NonFinite(
        at=line(65),
        stage="data",
        value=float("nan"),
        what="input",
        made="nan",
        rows=(18,),
        samples=32,
        located=True,
    )
    play = Rehearsal()
    play.model("fc.weight")
    play.optimizer(1)
    for _ in range(12):
        play.batch(lrs=(0.001,))
    play.add(NonFiniteComputed(step=play.step, at=made.at, origin=made))
    play.add(held)
    play.add(update_refused.refused(play))
    (finding,) = observe(UpdateRefused(), heard(play.end()))
    assert (finding.where.line, finding.evidence["op"], finding.evidence["rows"]) == (31, "div", [18])


def test_a_loss_that_grew_from_its_first_step_on_is_said_to_begin_there():
    grew = non_finite_training.run(growth=20.0, good=5)
    (finding,) = observe(NonFiniteTraining(), heard(grew))
    first = next(event.loss for event in grew if type(event).__name__ == "StepStats")
    assert finding.evidence["start"] == first
