from collections import Counter

from premortem.cards import Card
from premortem.detectors.base import TWICE, Detector, Findings
from premortem.detectors.shared.wording import parameters_of, place
from premortem.events import Custody, Event, Experimented
from premortem.findings import Severity

SIGHTINGS = 4  # audited steps in which a layer ran and no loss led to it


class InputWithoutEffect(Detector):
    """The model says the same whatever one of its inputs is, and the layers that run for it get no gradient.

    ## Why it matters
    What that input has to tell is lost. The rest of the model learns around it, the loss goes down a bit, and nothing
    says that an image, a context or a condition is never looked at.

    ## Usual causes
    The result of an encoder is overwritten or not passed on: a hidden state that starts at zero again, a variable with the
    wrong name, a branch that returns too early.

    ## What to do
    Follow the output of those layers through `forward`, and use it.

    ## How it is measured
    The model is run again in eval mode, with that input of every sample replaced by another sample's: no output changes by
    a bit. It speaks only when layers run in every step as well to which no loss leads: an argument that is merely not used is
    no fault.
    """

    card = Card("PM117", "input-without-effect", "grad-flow", Severity.ERROR).explaining(
        "updates-too-small", "metric-frozen", "argument-without-effect"
    )
    listens = (Experimented, Custody)

    def __init__(self) -> None:
        self._ignored: dict[int, Experimented] = {}
        self._idle: Counter[int] = Counter()  # parameters that ran, and that no loss led to
        self._used: set[int] = set()

    def observe(self, event: Event) -> Findings:
        if isinstance(event, Experimented):
            if event.ignored and self.times((event.model, event.ignored)) >= TWICE:
                self._ignored[event.model] = event
        elif isinstance(event, Custody):
            yield from self._audited(event)

    def _audited(self, event: Custody) -> Findings:
        for link in event.links:
            if (
                link.reached
                or link.gradient
                or not link.trainable
                or link.loaded
                or link.twin
                or link.shifted
            ):
                self._used.add(link.key)
            elif link.ran:
                self._idle[link.key] += 1
        for model, measured in self._ignored.items():
            mine = [link for link in event.links if link.model == model and link.key not in self._used]
            idle = [link.name for link in mine if self._idle[link.key] >= SIGHTINGS]
            if not idle or self.over:
                continue
            self.over = True
            words = " and ".join(f"`{name}`" for name in measured.ignored)
            yield self.finding(
                measured,
                f"`{measured.name}` gives the same output whatever {words} is; {parameters_of(idle)} run for nothing",
                cause="These layers run in every step, and no path leads from them to the loss: what they compute is "
                "overwritten or not passed on.",
                remedy="Follow their output through forward(), and use it.",
                step=event.step,
                module=place(idle) if len(idle) > 1 else idle[0].rpartition(".")[0],
                parameter=idle[0],
                ignored=list(measured.ignored),
            )
