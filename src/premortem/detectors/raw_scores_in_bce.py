from __future__ import annotations

from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.events import RunEnded

_MESSAGE = "all elements of input should be between 0 and 1"


class RawScoresInBce(Detector):
    """binary_cross_entropy was given numbers that are no probabilities, and the run ended there.

    ## Why it matters
    On the CPU it raises an error; on a GPU it ends in a failed assertion that names neither the line nor the cause.

    ## Usual causes
    `nn.BCELoss` on the output of a linear layer, without a sigmoid; an output that has become NaN.

    ## What to do
    Use `nn.BCEWithLogitsLoss` on raw scores, or apply `torch.sigmoid` before `nn.BCELoss`.
    """

    card = Card("PM410", "raw-scores-in-bce", "loss-definition", Severity.ERROR)
    listens = (RunEnded,)

    def observe(self, event: RunEnded) -> Findings:
        if event.reason == "crashed" and _MESSAGE in event.message:
            yield self.finding(
                event,
                f"the run ended after {event.step} steps: binary_cross_entropy was given numbers outside 0 to 1",
                cause="It takes probabilities; raw scores of a linear layer are not confined to that range.",
                remedy="Use binary_cross_entropy_with_logits on the raw scores.",
            )
