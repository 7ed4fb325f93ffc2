"""PM340 average-not-restored."""

from __future__ import annotations

from premortem.cards import Card
from premortem.detectors.shared.resuming import OfResumed, file_of
from premortem.events import Resumed
from premortem.findings import Finding, Severity


class AverageNotRestored(OfResumed):
    """A run is resumed, and its averaged weights (EMA) start anew from the plain ones, although the file holds them.

    ## Why it matters
    The averaged model is usually the one that is evaluated and shipped. Its whole history is dropped at each resume,
    and its metrics fall back to those of the plain weights.

    ## Usual causes
    The average is built as a copy of the model after the load, and its own state in the file is never loaded.

    ## What to do
    Load the averaged weights as well: `ema.load_state_dict(checkpoint["ema"])`.

    ## When it stays silent
    The average holds anything else than exactly the plain weights of the file: then it was restored or is not ours to
    judge.
    """

    card = Card(code="PM340", name="average-not-restored", family="checkpoint", severity=Severity.WARNING)

    def judge(self, event: Resumed) -> Finding | None:
        if not event.average:
            return None
        return self.about(
            event,
            f"`{file_of(event)}` holds averaged weights under `{event.averaged}`, but `{event.average}` starts from "
            "the plain ones",
            cause="The average was copied from the restored model; its own state in the file was not loaded.",
            remedy=f"Load the entry `{event.averaged}` into `{event.average}` before the first step.",
            module=event.average,
            entry=event.averaged,
        )
