from premortem.detectors.base import TWICE, Card, Certainty, Detector, Findings, Severity
from premortem.events import GraphWalked

CAUSES = {
    "logarithm": "The very numbers that noise is multiplied with are the logarithm of a variance in the prior's term of the loss, and may be negative.",
    "variance": "Noise is multiplied with the `exp` of the very numbers whose `exp` is the variance in the prior's term of the loss.",
}


class NoiseTimesALogarithm(Detector):
    """What a model draws has another spread than the one that its loss is about.

    ## Why it matters
    The term that holds the distribution near its prior speaks of `exp(logvar)`, and the samples are spread by something else. Both pull
    into different directions: what is generated from the prior is blurred or noise.

    ## Usual causes
    `mu + eps * logvar`, or `mu + eps * torch.exp(logvar)`, where `torch.exp(0.5 * logvar)` is meant.

    ## What to do
    `std = torch.exp(0.5 * logvar)`, and `mu + eps * std`.

    ## How it is measured
    In the graph of the loss: it has the term of a prior, `0.5 * (mu ** 2 + exp(x) - x)`, each part with the same weight, in which `exp(x)` is
    a variance; and the factor of numbers that were drawn from a normal distribution is that very `x`, or its `exp`.

    ## When it stays silent
    Whatever else noise is multiplied with; losses without that term, or with another one (`exp(x) - x` alone may be a penalty on a
    deviation); noise under `no_grad`; graphs whose numbers are kept elsewhere (checkpointing, `save_on_cpu`).
    """

    card = Card("PM159", "noise-times-a-logarithm", "loss-definition", Severity.ERROR)
    listens = (GraphWalked,)

    def observe(self, event: GraphWalked) -> Findings:
        if event.misread and self.different(event.misread, event.step) >= TWICE and self.once(event.misread):
            article = "a logarithm" if event.misread == "logarithm" else "a variance"
            yield self.finding(
                event,
                f"noise is multiplied with {article}, where the deviation is meant",
                cause=CAUSES[event.misread],
                remedy="Draw by `mu + eps * torch.exp(0.5 * logvar)`.",
                certainty=Certainty.PROVED,
                factor=event.misread,
            )
