from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.events import DataProfiled
from premortem.profile.wording import unrelated


class ColumnBelongsToOtherRows(Detector):
    """One column goes with the others in training, and does not in evaluation, or the other way round.

    ## Why it matters
    Each column looks as it should, and so do its mean and its range. But the numbers of one belong to other rows, or mean the
    opposite: what the network learns from it is wrong where it is judged.

    ## Usual causes
    A column that was sorted, shuffled or joined by itself; a sign that was turned; in one of the two files, a column that was filled
    from the target after the fact.

    ## What to do
    Join by a key and not by position, and compare how each column goes with the target in both files.

    ## When it stays silent
    When several columns differ, or the other pairs of columns do not agree up to chance: then the data is of another time or place.
    When the rows of the training that lie where the evaluation lies go together as it does: a season is a part of the year.
    """

    card = Card("PM467", "column-belongs-to-other-rows", "data-order", Severity.WARNING).explaining(
        "train-and-val-on-different-scales"
    )
    listens = (DataProfiled,)

    def observe(self, event: DataProfiled) -> Findings:
        for trained, judged, found in event.relations:
            if self.once(judged):
                yield self.finding(
                    event,
                    unrelated(found, "training", "evaluation"),
                    cause=f"{trained} and {judged} agree in how all other columns go together: in one of them this column belongs to other "
                    "rows (misaligned), has another sign, or was filled from the target (a leak).",
                    remedy="Join by a key and not by position, and compare in both files how the column goes with the target.",
                    column=found.column,
                    other=found.other,
                    first=found.first,
                    second=found.second,
                    rows=found.rows,
                )
