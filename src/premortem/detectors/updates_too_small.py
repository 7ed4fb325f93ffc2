from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.detectors.shared.motion import Motion, Motions
from premortem.detectors.shared.optimizers import Optimizers
from premortem.events import RunEnded

SMALL = 2e-5  # of the weights, in one step: the slowest fine-tuning moves them several times as far
FAR = 0.02  # of the weights, in all steps together: a model that came this far has learnt


class UpdatesTooSmall(Detector):
    """Every step changes the weights by so little that the whole run hardly moves them.

    ## Why it matters
    After thousands of steps the model is still where it was initialised. The loss is flat, nothing is wrong in
    the log, and more epochs do not help.

    ## Usual causes
    A learning rate with too many zeros (1e-6 instead of 1e-3), one made for another optimizer, or a rate that is
    multiplied down twice.

    ## What to do
    Raise the learning rate by factors of ten until an update is about a thousandth of the weights.

    ## When it stays silent
    Weights that were loaded or trained before (fine-tuning may be this gentle), warm-ups, runs of fewer than 100 steps, and any
    run whose loss falls; where the same line has built optimizers of which another one moves its weights (a search for the rate). Where a million such steps would not get anywhere, six of them are enough, whatever the loss does.
    """

    card = Card(
        "PM212", "updates-too-small", "lr", Severity.ERROR, explains_later=("vanishing-gradients",)
    ).explaining("metric-frozen")
    uses = (Motions, Optimizers)
    listens = (RunEnded,)

    def observe(self, event: RunEnded) -> Findings:
        motions, optimizers = self.fact(Motions).of, self.fact(Optimizers)
        # Rates that a script tries, one after the other, begin where nothing moves.
        moving = {optimizers.at(key) for key, each in motions.items() if each.audits and each.largest > SMALL}
        for key, motion in motions.items():
            if not stands_still(motion) or optimizers.at(key) in moving - {None}:
                continue
            together = motion.steps * motion.largest
            at_most = f"{together:.1%}" if together >= 0.001 else f"{together:.1e} of their size"
            yield self.finding(
                event,
                f"an update is at most {motion.largest:.1e} of the weights: {motion.steps} steps moved them by less "
                f"than {at_most}" + ("" if motion.hopeless else ", and the loss did not fall"),
                cause=f"The learning rate ({motion.rates[2]:.3g}) is too small for these gradients.",
                remedy="Raise the learning rate by factors of ten until an update is about a thousandth of the weights.",
                at=self.fact(Optimizers).at(key),
                severity=Severity.ERROR if together < 0.5 * FAR else Severity.WARNING,
                largest=motion.largest,
                steps=motion.steps,
                rate=motion.rates[2],
                gain=motion.losses.gain(),
            )


def stands_still(motion: Motion) -> bool:
    if not motion.fresh or not motion.pulled or not motion.rates or motion.rates[2] <= 0:
        return False
    return motion.hopeless or (
        motion.steps >= 100
        and len(motion.audits) >= 8
        and motion.largest <= SMALL
        and motion.steps * motion.largest <= FAR
        and motion.losses.count >= 50
        and motion.losses.gain() < 0.1
    )
