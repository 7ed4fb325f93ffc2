from premortem.detectors.base import THRICE, Card, Certainty, Detector, Findings, Severity
from premortem.events import GraphWalked


class AdvantageHasAGradient(Detector):
    """The weight of a log-probability in a policy's loss has a gradient of its own: the loss trains the baseline, too.

    ## Why it matters
    A policy gradient weighs the log-probability of what was done with how much better it was than expected. That weight is a
    number. Where it has a graph, the loss can also be made small by moving the expectation: the critic is pushed up or down by
    the policy's log-probabilities, and no longer predicts returns.

    ## Usual causes
    `advantage = returns - values` without `detach()`, or with a `detach()` on the returns alone.

    ## What to do
    `advantage = (returns - values).detach()` in the policy's loss; train the critic by its own loss.

    ## How it is measured
    In audited steps the graph of the loss is read: a product of a log-probability that an index or a drawn number picks, and of a
    number minus a model's output, in which both factors lead to parameters.
    """

    card = Card("PM145", "advantage-has-a-gradient", "grad-flow", Severity.ERROR)
    listens = (GraphWalked,)

    def observe(self, event: GraphWalked) -> Findings:
        if self.always(event.at, event.weighed_by_error) >= THRICE:
            yield self.last_word(
                event,
                "a log-probability is multiplied with an error of a prediction, and gradients flow into both",
                cause="The weight of a policy gradient is a number. Here the policy's loss also moves the model that made the "
                "prediction, away from what it should predict.",
                remedy="Detach it: `advantage = (returns - values).detach()`.",
                certainty=Certainty.PROVED,
            )
