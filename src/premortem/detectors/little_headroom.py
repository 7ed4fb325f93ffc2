from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.events import LayerStats

LIMIT = 65504.0  # the largest number in float16
NEAR = 0.25  # of the limit: two doublings, which a longer training or another batch brings


class LittleHeadroom(Detector):
    """Activations in float16 come near the largest number it can hold: an early sign, no failure yet.

    ## Why it matters
    float16 ends at 65504. Beyond it everything is infinite, and the next difference or softmax makes NaN of it.

    ## Usual causes
    Attention scores before they are scaled, sums over long sequences, residual streams that grow with depth.

    ## What to do
    Use bfloat16, which has the range of float32, or compute that layer in float32; scale scores before they are
    summed up.
    """

    card = Card("PM451", "little-headroom", "numerics-overflow", Severity.INFO)
    listens = (LayerStats,)

    def observe(self, event: LayerStats) -> Findings:
        if not event.half or not event.finite:
            return
        largest = max(abs(event.output_min), abs(event.output_max))
        if largest < NEAR * LIMIT:
            return
        yield self.last_word(
            event,
            f"the outputs of {event.layer or event.kind} reach {largest:.4g}, {largest / LIMIT:.0%} of what float16 holds",
            cause="A little more, and they are infinite.",
            remedy="Use bfloat16 here, or compute this layer in float32.",
            module=event.layer or None,
            largest=largest,
        )
