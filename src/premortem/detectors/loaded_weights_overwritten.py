from __future__ import annotations

from premortem.detectors.base import Card, Detector, Finding, Findings, Severity
from premortem.events import Event, LoadedWeightsChanged, Site, StateLoaded


class LoadedWeightsOverwritten(Detector):
    """Weights that were loaded are replaced by others before the first step: all of them, or tied ones.

    ## Why it matters
    Training starts from random weights while the log says that a checkpoint was loaded.

    ## Usual causes
    `model.apply(init_weights)` or `reset_parameters()` after `load_state_dict`; initialising the "missing" output
    layer whose weight is tied to the embedding that was just loaded.

    ## What to do
    Initialise first, load last.

    ## When it stays silent
    Some layers keep what was loaded (a new head), or the weights are only scaled, pruned, averaged or perturbed.
    """

    card = Card("PM315", "loaded-weights-overwritten", "checkpoint", Severity.ERROR)
    listens = (LoadedWeightsChanged, StateLoaded)

    def __init__(self) -> None:
        self._sites: dict[int, Site | None] = {}

    def observe(self, event: Event) -> Findings:
        if isinstance(event, StateLoaded):
            self._sites[event.key] = event.at
        elif isinstance(event, LoadedWeightsChanged):
            lost = event.tied or len(event.changed) == event.loaded
            if lost:
                self.over = True
                yield self._found(event)

    def _found(self, event: LoadedWeightsChanged) -> Finding:
        first = event.changed[0]
        if event.tied:
            cause = (
                f"Two modules share it (`{event.tied[0]}`), and initialising one of them again overwrote what the "
                "other had loaded."
            )
        else:
            cause = "Something initialised the model after the checkpoint was loaded: training starts from scratch."
        return self.finding(
            event,
            f"{len(event.changed)} of {event.loaded} weight matrices loaded into `{event.name}` were replaced by "
            f"unrelated values before the first step, first `{first}`",
            cause=cause,
            remedy="Initialise first and load last; leave tied weights alone.",
            at=self._sites.get(event.model),
            module=event.name,
            parameter=first,
            changed=list(event.changed[:8]),
        )
