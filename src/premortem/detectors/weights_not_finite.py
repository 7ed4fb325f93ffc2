from premortem.derived.certificate import certainty, evidence, sentence
from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.events import WeightsBroken


class WeightsNotFinite(Detector):
    """A weight is NaN or infinite, while the loss and the gradients look sound.

    ## Why it matters
    Something between the weight and the loss hides it (`nan_to_num`, a mask, a unit that is never used), or the weight belongs to a
    copy that is only evaluated, such as an average of the trained model. No later step brings it back.

    ## Usual causes
    An initialisation that divides by 0, an average whose first bias correction divides by `1 - decay ** 0`, weights that were
    never initialised.

    ## What to do
    Look at how this weight is made: the message names the operation where it was seen.
    """

    card = Card(
        "PM457",
        "weights-not-finite",
        "numerics-nan",
        Severity.ERROR,
        explains=("metric-not-finite", "metric-frozen", "poisoned-checkpoint"),
        explains_later=("checkpoint-non-finite",),
    )
    listens = (WeightsBroken,)

    def observe(self, event: WeightsBroken) -> Findings:
        origin = event.origin
        seen = f": {sentence(origin)}" if origin is not None else ""
        how = "the model is evaluated with it" if event.evaluated else "the loss does not show it"
        yield self.last_word(
            event,
            f"`{event.parameter}` is not finite, and {how}{seen}",
            cause="It was made so outside of the training steps: where it was initialised, averaged or loaded."
            if origin is None
            else "This operation made it of finite numbers.",
            remedy="Repair what makes it; a mask behind it does not.",
            at=origin.at if origin is not None else None,
            parameter=event.parameter,
            certainty=certainty(origin),
            **evidence(origin),
        )
