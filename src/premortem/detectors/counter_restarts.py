"""PM339 counter-restarts."""

from __future__ import annotations

from premortem.cards import Card
from premortem.detectors.shared.resuming import OfResumed, file_of, starts_anew
from premortem.events import Resumed
from premortem.findings import Finding, Severity
from premortem.metric_words import counts


class CounterRestarts(OfResumed):
    """A run is resumed with the optimizer's state, and its epochs or steps are counted from the start again.

    ## Why it matters
    The run trains longer than planned, runs past the end of its schedule, and names its checkpoints and its log after
    epochs that were already there.

    ## Usual causes
    `start_epoch = checkpoint["epoch"] + 1` is read, and the loop still says `range(epochs)`; the counter is reset by a
    function that is called after the load.

    ## What to do
    Begin the loop where the file ends: `for epoch in range(start_epoch, epochs)`.

    ## When it stays silent
    A new training that starts from old weights (without the optimizer's state). Where the script never asked the file
    how far it was, more epochs may be meant: that is information, no warning.
    """

    card = Card(code="PM339", name="counter-restarts", family="checkpoint", severity=Severity.WARNING)

    def judge(self, event: Resumed) -> Finding | None:
        anew = starts_anew(event)
        if anew is None:
            return None
        name, value, saved = anew
        asked = [held for held in event.held if counts(held[0]) == counts(name)]
        if any(used for _, _, used in asked):
            return None  # the number of the file is added somewhere, or compared
        known = f"`{asked[0][0]}` is {asked[0][1]} and nothing uses it." if asked else "Nothing reads it."
        return self.about(
            event,
            f"the run goes on with `{file_of(event)}` of {counts(name)} {saved}, optimizer included, but `{name}` "
            f"starts at {value}",
            cause=f"The file says how far it was, and the loop does not ask. {known}",
            remedy=f"Begin the loop where the file ends, or say that {counts(name)}s are counted anew on purpose.",
            severity=Severity.WARNING if asked else Severity.INFO,
            counter=name,
            value=value,
            saved=saved,
        )
