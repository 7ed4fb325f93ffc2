from collections.abc import Iterator

from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.events import DataProfiled, FilesRead
from premortem.findings import Finding, Severity
from premortem.profile.wording import giveaway

_ROWS = 50  # of a file, from which on it is data and no setting
# Files whose rows are not counted.
_TABLES = (".parquet", ".feather", ".h5", ".hdf5", ".arrow", ".pt", ".safetensors", ".pkl", ".json", ".npz")
_LARGE = 1 << 14  # bytes of such a file


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
    listens = (DataProfiled, FilesRead)

    def __init__(self) -> None:
        super().__init__()
        self._stored = False  # the data comes from files

    def observe(self, event: DataProfiled | FilesRead) -> Iterator[Finding]:
        if isinstance(event, FilesRead):
            self._stored = self._stored or any(
                file.rows >= _ROWS or (file.size >= _LARGE and file.path.lower().endswith(_TABLES))
                for file in event.files
            )
            return
        for trained in (p for p in event.profiles if p.phase == "training" and p.kind == "table"):
            for found in trained.giveaways:
                if self.once(found.column):
                    yield self.finding(
                        event,
                        giveaway(found),
                        cause=f"In {trained.name} one column leaks the target: nothing else needs to be learnt.",
                        remedy="Take the column out of the input, and ask whether the others are known when a prediction is made.",
                        severity=Severity.WARNING if self._stored else None,
                        column=found.column,
                        rows=found.rows,
                    )
