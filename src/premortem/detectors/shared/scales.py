"""Whether the data is of ordinary size: when it is not, large numbers further on follow from it."""

from premortem.detectors.shared.facts import Fact
from premortem.events import Event, LayerStats, LossCall

SPREAD, REACH = 10.0, 100.0


class Scales(Fact):
    """Sizes of inputs and targets in the first steps."""

    LISTENS = (LayerStats, LossCall)

    def __init__(self) -> None:
        self.unusual = False

    def observe(self, event: Event) -> None:
        if event.step >= 8:
            return
        if isinstance(event, LayerStats) and event.order == 0 and event.grad:
            reach = max(abs(event.input_min), abs(event.input_max))
            self.unusual = self.unusual or event.input_std > SPREAD or reach > REACH
        elif isinstance(event, LossCall) and event.grad and event.classes is None:
            spread, mean = event.target_std or 0.0, event.target_mean or 0.0
            self.unusual = self.unusual or spread > SPREAD or abs(mean) > REACH
