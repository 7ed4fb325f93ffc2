from premortem.detectors.base import STILL, Card, Certainty, Detector, Findings, Severity
from premortem.events import LossCall

# Different steps: a student that begins as a copy of its teacher agrees with it in the first one, and one that takes
# its first step late (a warm-up from 0, an accumulation) in a few more.
STEPS = 20


class LossOfIdenticalNumbers(Detector):
    """A loss of the training compares a tensor with itself: both arguments are the same numbers, step after step.

    ## Why it matters
    The term is a constant and has no gradient, or one of exactly zero. Whatever it should teach is not taught; the
    other terms hide that.

    ## Usual causes
    The same variable in both places (the teacher's scores for the student's), a target that is computed from the
    prediction itself, a reconstruction that is compared with what it was copied from.

    ## What to do
    Follow both arguments up to the models that made them: one of them must be the output of the model in training.

    ## When it stays silent
    The line compared different numbers at any time; both are one constant.
    """

    card = Card("PM458", "loss-of-identical-numbers", "loss-definition", Severity.ERROR).explaining(*STILL)
    listens = (LossCall,)

    def observe(self, event: LossCall) -> Findings:
        if event.at is None or event.target_std is None:
            return  # it was not looked at
        if not event.training:
            return
        same = event.identical and not event.target_is_input
        if not self.always(event.at, same) or self.different(event.at, event.step) < STEPS:
            return
        if self.once(("said", event.at)):
            yield self.finding(
                event,
                f"`{event.fn}` compares two tensors that are identical to the last bit, in each of {STEPS} steps",
                cause="Both arguments come from the same computation, so this term is a constant: it pulls at no weight.",
                remedy="Give it the output of the model in training, and what that should become.",
                certainty=Certainty.PROVED,
                value=event.value,
                shape=list(event.input_shape),
            )
