from premortem.detectors.base import THRICE, Card, Certainty, Detector, Findings, Severity
from premortem.events import LossCall


class PromiseHasAGradient(Detector):
    """A target that holds the model's own estimate of the next state is not detached: the loss moves the target, too.

    ## Why it matters
    `reward + gamma * value(next)` is what a value should become. With a gradient through it the loss can also be made small by
    pulling the next state's value towards this one's: values flatten, learning is slow, and often converges to something else.

    ## Usual causes
    The next state's value is computed without `torch.no_grad()`, or a `detach()` is missing on the target.

    ## What to do
    `with torch.no_grad(): target = reward + gamma * (1 - done) * value(next)`.

    ## How it is measured
    In audited steps the graph of the loss's target is read: a number, plus a factor times the output of a model, with that
    output's graph. What it is compared with is an output, too: in a differential equation it is a slope.
    """

    card = Card("PM147", "promise-has-a-gradient", "grad-flow", Severity.ERROR)
    listens = (LossCall,)

    def observe(self, event: LossCall) -> Findings:
        if not event.parameters:
            return  # its graph was not read
        if self.always(event.at, event.promised) >= THRICE and event.grad and not self.over:
            yield self.last_word(
                event,
                f"the target of `{event.fn}` is a number plus a factor times a model's output, and gradients flow into it",
                cause="What is expected of the next state is part of the target here. A target is a number; this one is "
                "trained to agree with the prediction.",
                remedy="Compute it under torch.no_grad(), or detach it.",
                certainty=Certainty.PROVED,
            )
