from collections.abc import Iterator

from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.detectors.shared.stored import Stored
from premortem.events import DataProfiled
from premortem.findings import Finding, Severity
from premortem.profile.wording import giveaway


class ColumnGivesTargetAway(Detector):
    """One column of the input is the target, or says exactly what it is.

    ## Why it matters
    The network learns to copy that column. Training and evaluation look perfect, and in use, where the column is empty or
    not known yet, nothing is left.

    ## Usual causes
    The target was left among the features; a column that is filled in after the fact (a discharge date, a refund); a
    placeholder that is only written for one class.

    ## What to do
    Take the column out, and ask of every other one whether it is known at the time of the prediction.

    ## When it stays silent
    When the relation is not exact, when several columns have it (a task made up that way), and for inputs of one or two columns. In a
    run that reads no file of data it is a remark: a task that a script makes up (`y = 2 * x[:, 0]`) looks the same.
    """

    card = Card("PM426", "column-gives-target-away", "data-labels", Severity.INFO)
    uses = (Stored,)
    listens = (DataProfiled,)

    def observe(self, event: DataProfiled) -> Iterator[Finding]:
        for trained in (p for p in event.profiles if p.phase == "training" and p.kind == "table"):
            for found in trained.giveaways:
                if self.once(found.column):
                    yield self.finding(
                        event,
                        giveaway(found),
                        cause=f"In {trained.name} one column leaks the target: nothing else needs to be learnt.",
                        remedy="Take the column out of the input, and ask whether the others are known when a prediction is made.",
                        severity=Severity.WARNING if self.fact(Stored).data else None,
                        column=found.column,
                        rows=found.rows,
                    )
