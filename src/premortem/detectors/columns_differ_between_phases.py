from collections.abc import Iterator

from premortem.amounts import some
from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.detectors.shared.stored import Stored
from premortem.events import DataProfiled
from premortem.findings import Finding, Severity
from premortem.profile.between import asks_beyond, phases, shifts
from premortem.profile.facts import Profile, Shift
from premortem.profile.wording import shift

_ENOUGH = 100  # rows in the evaluation


class ColumnsDifferBetweenPhases(Detector):
    """A column of the evaluation's input is on another scale, in another place or one number.

    ## Why it matters
    The network is asked about something it was not taught. Its answers are worse than they could be, in a way that more
    training makes worse still.

    ## Usual causes
    One file in metres and one in feet; a column that was left empty in the newer export; columns or colour channels in
    another order (latitude and longitude, RGB and BGR); statistics applied to one of the two only.

    ## What to do
    Compare the two files column by column: `premortem check --data DIR` does. Select columns by name, and convert units
    where the file is read.

    ## When it stays silent
    When the columns only wander, as prices and hours do: a shift counts from four spreads, a width from six times. In a script that reads no
    data, where the targets lie elsewhere as well: it asks how far the model extrapolates.
    """

    card = Card(
        "PM436",
        "columns-differ-between-phases",
        "data-scale",
        Severity.WARNING,
        explains=("train-and-eval-inputs-differ", "column-belongs-to-other-rows"),
    )
    uses = (Stored,)
    listens = (DataProfiled,)

    def observe(self, event: DataProfiled) -> Iterator[Finding]:
        for trained, other in phases(event.profiles, beside=True):
            if min(trained.sampled, other.sampled) < _ENOUGH:
                continue
            found = shifts(trained, other)
            inputs = any(trained.target is None or each.column != trained.target.name for each in found)
            if inputs and not self.fact(Stored).data and asks_beyond(trained, other):
                continue
            if found and self.once(other.name):
                yield self._differ(event, trained, other, found)

    def _differ(self, event: DataProfiled, trained: Profile, judged: Profile, found: list[Shift]) -> Finding:
        names = [each.column for each in found]
        also = f"; also {some(names[1:])} of {len(trained.columns)} columns" if len(names) > 1 else ""
        return self.finding(
            event,
            f"{shift(found[0], 'training', 'evaluation')}{also}",
            cause=f"{trained.name} and {judged.name} were compared column by column, over {trained.sampled} and {judged.sampled} "
            "rows: the same column does not mean the same in both (other units, another order, or another normalisation).",
            remedy="Select columns by name, convert units where the files are read, and use the same statistics for both.",
            columns=names[:20],
            how=found[0].how,
            first=found[0].first,
            second=found[0].second,
            rows=judged.sampled,
        )
