from premortem.detectors.base import FADING, THRICE, Card, Detector, Findings, Severity
from premortem.events import LayerStats


class DropoutNearOne(Detector):
    """A dropout layer throws nearly everything away.

    ## Why it matters
    With p = 0.95 only one unit in twenty passes, scaled up by twenty: the next layer gets mostly noise, and
    with p = 1 nothing at all. The model underfits however long it trains.

    ## Usual causes
    In torch `p` is the share that is dropped; other frameworks give the share that is kept.

    ## What to do
    Use p between 0.1 and 0.5; a keep probability of 0.95 is `nn.Dropout(0.05)`.
    """

    card = Card("PM246", "dropout-near-one", "vanishing", Severity.ERROR).explaining(*FADING, "dead-units")
    listens = (LayerStats,)

    def observe(self, event: LayerStats) -> Findings:
        if event.probability < 0.9 or not event.training or (not event.grad and event.probability < 1):
            return
        if self.different((event.layer, event.probability), event.step) >= THRICE:
            kept = 1 - event.probability
            yield self.last_word(
                event,
                f"dropout with p={event.probability:g} lets {kept:.0%} of its input through",
                cause="p is the share that is dropped, not the share that is kept.",
                remedy=f"Use nn.Dropout({kept:.2g})." if kept else "Use p between 0.1 and 0.5.",
                module=event.layer,
                severity=Severity.ERROR if event.probability >= 0.95 else Severity.WARNING,
                probability=event.probability,
            )
