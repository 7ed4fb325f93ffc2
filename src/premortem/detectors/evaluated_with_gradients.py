"""PM306 evaluated-with-gradients."""

from __future__ import annotations

from collections.abc import Iterator

from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.detectors.shared.models import Models
from premortem.events import EvaluationEnded, Event
from premortem.findings import Finding, Severity


class EvaluatedWithGradients(Detector):
    """An evaluation builds autograd graphs that nobody uses.

    ## Why it matters
    It costs memory and time: every activation is kept for a backward pass that never comes.

    ## Usual causes
    `torch.no_grad()` was forgotten around the evaluation.

    ## What to do
    Wrap the evaluation in `with torch.no_grad():` (or `torch.inference_mode()`).
    """

    card = Card(code="PM306", name="evaluated-with-gradients", family="eval-mode", severity=Severity.INFO)
    uses = (Models,)
    listens = (EvaluationEnded,)

    def observe(self, event: Event) -> Iterator[Finding]:
        if isinstance(event, EvaluationEnded):
            wasteful = event.grad and event.judged and event.trained and not event.generator
            if wasteful and event.forwards > 1:
                self.over = True
                name = self.fact(Models).name(event.model)
                yield self.finding(
                    event,
                    f"`{name}` was evaluated with gradients on, in {event.forwards} forwards",
                    cause="Each forward keeps its activations for a backward pass that never comes.",
                    remedy="Put the evaluation under `with torch.no_grad():`.",
                    module=name,
                    forwards=event.forwards,
                )
