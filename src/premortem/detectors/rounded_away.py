from collections.abc import Iterator

from premortem.cards import Card
from premortem.detectors.base import TWICE, Detector
from premortem.events import Rounded, Site
from premortem.findings import Finding, Severity

_RADIANS = 2.0  # a third of a turn between one representable angle and the next: position is lost


class RoundedAway(Detector):
    """Large numbers are kept in 16 bits, and what distinguishes them is rounded away.

    ## Why it matters
    bfloat16 has eight significant bits: between 2048 and 4096 it can only tell apart numbers that differ by 16. Times,
    positions or indices of that size lose their meaning, and the sine of such an angle is noise. Nothing overflows and the
    loss stays finite; the network just cannot learn what was rounded away.

    ## Usual causes
    Position or time features computed in a model that was cast to bfloat16; a helper that converts everything to the low
    precision, also inside a region where autocast was switched off on purpose.

    ## What to do
    Compute phases, positions and cumulative sums in float32 and convert the result.

    ## When it stays silent
    Activations and weights in low precision, whose size is ordinary.
    """

    card = Card("PM446", "rounded-away", "numerics-overflow", Severity.WARNING)
    listens = (Rounded,)

    def __init__(self) -> None:
        self._steps: dict[Site | None, set[int]] = {}

    def observe(self, event: Rounded) -> Iterator[Finding]:
        if event.op != "to" and event.spacing < _RADIANS:
            return
        steps = self._steps.setdefault(event.at, set())
        steps.add(event.step)
        if len(steps) < TWICE:
            return
        self.over = True
        what = (
            f"numbers up to {event.largest:.4g} are converted to {event.dtype} where autocast was switched off"
            if event.op == "to"
            else f"{event.op} of {event.dtype} angles up to {event.largest:.4g}"
        )
        yield self.finding(
            event,
            f"{what}: neighbouring values lie {event.spacing:g} apart there",
            cause=f"{event.dtype} cannot tell such numbers apart, so what is computed from them is mostly rounding error.",
            remedy="Keep positions, times and phases in float32, and convert only what is computed from them.",
            dtype=event.dtype,
            largest=event.largest,
            spacing=event.spacing,
        )
