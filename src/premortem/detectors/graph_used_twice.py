from __future__ import annotations

from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.events import Backward, Event, RunEnded

TWICE = "backward through the graph a second time"


class GraphUsedTwice(Detector):
    """A backward pass runs into a graph that an earlier one has already used up.

    ## Why it matters
    The run ends there. `retain_graph=True` makes the message go away and the mistake stay: every batch then drags
    the graphs of all earlier ones along.

    ## Usual causes
    - a hidden state is carried from batch to batch without `.detach()`
    - a tensor with a graph is computed once, before the loop, and used in every batch
    - a running loss is summed up over batches and sent backward each time
    - two losses share a forward pass, and each calls `backward()`

    ## What to do
    Detach what is carried over; compute in the loop what depends on the weights; add losses up and call
    `backward()` once.
    """

    card = Card("PM114", "graph-used-twice", "grad-flow", Severity.ERROR).explaining(
        "step-never-called", "graphs-kept-alive"
    )
    listens = (Backward, RunEnded)

    def __init__(self) -> None:
        self._failed: Backward | None = None
        self._passes = 0

    def observe(self, event: Event) -> Findings:
        if isinstance(event, Backward):
            self._passes += 1
            self._failed = event if TWICE in event.error else None
        elif isinstance(event, RunEnded) and self._failed is not None and TWICE in event.message:
            yield self.finding(
                self._failed,
                f"backward pass {self._passes} runs into the graph of an earlier one, which is used up",
                cause="something that was computed before the last backward pass is part of this loss: a hidden state, "
                "a running sum, or a tensor made before the loop",
                remedy="detach what is carried over from batch to batch, or compute it anew in each",
                passes=self._passes,
            )
