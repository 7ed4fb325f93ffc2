from premortem.detectors.base import FADING, Card, Detector, Findings, Severity
from premortem.events import Event, SampleDrawn

CALLS = 16  # in different steps: what is drawn in a few of them may be a look


class SampleCutsTheGraph(Detector):
    """A model draws from a distribution of its own by `sample()`, through which no gradient flows.

    ## Why it matters
    What lies before the draw is not trained by what lies behind it: the encoder of a variational model gets nothing but its prior, and
    its code carries nothing.

    ## Usual causes
    `Normal(mu, std).sample()` where `rsample()` was meant.

    ## What to do
    `rsample()`, or `mu + std * torch.randn_like(std)`.

    ## How it is measured
    `sample()` is called inside a model, of a distribution whose mean or deviation has a graph, in many steps; and no sample is ever asked
    for its probability, as policies do.

    ## When it stays silent
    Outside of models, under `no_grad`, in scripts that call `log_prob`, and where a model hands out what it drew and gives it to none of its layers: an
    action, whose probability may be written out by hand.
    """

    card = Card("PM153", "sample-cuts-the-graph", "grad-flow", Severity.WARNING).explaining(
        *FADING, "reconstruction-ignores-input", "detached-from-loss"
    )
    listens = (SampleDrawn,)

    def observe(self, event: Event) -> Findings:
        if (
            isinstance(event, SampleDrawn)
            and self.different(event.at, event.step) >= CALLS
            and self.once(event.at)
        ):
            yield self.finding(
                event,
                f"`{event.model}` draws by `sample()` from a distribution whose parameters it computes: no gradient flows through that",
                cause="`sample()` works without gradients; what lies before it is not trained by what lies behind it.",
                remedy="Use rsample(), or mu + std * torch.randn_like(std).",
                module=event.model,
            )
