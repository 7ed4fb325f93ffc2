from __future__ import annotations

from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.events import AliasKept


class KeptByReference(Detector):
    """The best model is kept by giving the live model a second name.

    ## Why it matters
    There is only one model. It goes on being trained, and in the end the "best" one is the last one.

    ## Usual causes
    `best_model = model` where `best_model = copy.deepcopy(model)` was meant.

    ## What to do
    Copy the model, or keep a copy of its state dict.

    ## When it stays silent
    The other name is given to a new model afterwards (a sweep that keeps the best of several runs).
    """

    card = Card("PM318", "kept-by-reference", "persistence", Severity.ERROR)
    listens = (AliasKept,)

    def observe(self, event: AliasKept) -> Findings:
        if isinstance(event, AliasKept):
            self.over = True
            yield self.finding(
                event,
                f"`{event.kept} = {event.source}` keeps no copy: both names mean the model that is still being trained",
                cause="An assignment gives an object another name; every later step changes the model that was kept.",
                remedy=f"Use `{event.kept} = copy.deepcopy({event.source})`.",
                module=event.source,
            )
