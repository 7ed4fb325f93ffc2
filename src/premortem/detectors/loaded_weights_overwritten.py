"""PM315 loaded-weights-overwritten."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.detectors.wording import count
from premortem.events import Event, LoadedWeightsChanged, Site, StateLoaded
from premortem.findings import Finding, Severity


class LoadedWeightsOverwritten(Detector):
    """All weights that were loaded are replaced by others before the first step.

    ## Why it matters
    Training starts from random weights while the log says that a checkpoint was loaded.

    ## Usual causes
    `model.apply(init_weights)` or `reset_parameters()` after `load_state_dict`.

    ## What to do
    Initialise first, load last.

    ## When it stays silent
    Some layers keep what was loaded (a new head), or the weights are only scaled, pruned, averaged or perturbed.
    """

    card: ClassVar[Card] = Card(
        code="PM315", name="loaded-weights-overwritten", family="checkpoint", severity=Severity.ERROR
    )
    listens: ClassVar[tuple[type[Event], ...]] = (LoadedWeightsChanged, StateLoaded)

    def __init__(self) -> None:
        self._sites: dict[int, Site | None] = {}
        self._said = False

    def observe(self, event: Event) -> Iterator[Finding]:
        if isinstance(event, StateLoaded):
            self._sites[event.key] = event.at
        elif isinstance(event, LoadedWeightsChanged):
            if len(event.changed) == event.loaded and not self._said:
                self._said = True
                yield self.finding(
                    event,
                    f"all {count(event.loaded, 'weight matrix').replace('matrixs', 'matrices')} loaded into "
                    f"`{event.name}` were replaced by unrelated values before the first step",
                    cause="Something initialised the model after the checkpoint was loaded, so training starts from "
                    "scratch.",
                    remedy="Initialise first and load last.",
                    at=self._sites.get(event.model),
                    module=event.name,
                    changed=list(event.changed[:8]),
                )
