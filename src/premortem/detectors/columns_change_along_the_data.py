from collections.abc import Iterator

from premortem.amounts import some
from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.events import DataProfiled
from premortem.findings import Finding, Severity
from premortem.profile.facts import Profile, Shift
from premortem.profile.wording import shift


class ColumnsChangeAlongTheData(Detector):
    """A column of the training data is on another scale in one file, or from the middle of a pass on.

    ## Why it matters
    The network is taught two things under one name. Nothing crashes, and the loss settles between the two.

    ## Usual causes
    One shard in other units; a sensor that was replaced in the middle of a recording; a shard that was allocated and never written.

    ## What to do
    Make the odd file again, or convert it where it is read. Shuffle across files.

    ## When it stays silent
    When columns only wander: a shift counts from six spreads and a width from twelve times. Where a worker or a library opens the
    files, and where the order is drawn, there is nothing to compare; `premortem check --data DIR` reads the files themselves.
    """

    card = Card("PM355", "columns-change-along-the-data", "data-scale", Severity.WARNING).explaining(
        "column-belongs-to-other-rows"
    )
    listens = (DataProfiled,)

    def observe(self, event: DataProfiled) -> Iterator[Finding]:
        for trained in (p for p in event.profiles if p.phase == "training"):
            if trained.odd is not None and self.once(trained.name):
                file, found, others = trained.odd
                yield self._say(event, trained, found, f"the {others} files beside it", f"`{file}`", file)
            # In the first pass, and not while it is still going on.
            elif (
                trained.drift and trained.rows >= (trained.length or trained.rows) and self.once(trained.name)
            ):
                yield self._say(
                    event, trained, trained.drift, "the first half of a pass", "the second half", ""
                )

    def _say(
        self,
        event: DataProfiled,
        trained: Profile,
        found: tuple[Shift, ...],
        first: str,
        second: str,
        file: str,
    ) -> Finding:
        names = [each.column for each in found]
        also = f"; also {some(names[1:])} of {len(trained.columns)} columns" if len(names) > 1 else ""
        return self.finding(
            event,
            f"{shift(found[0], first, second)}{also}",
            cause=f"The rows of {trained.name} are not all of one kind: the same column does not mean the same in {second}.",
            remedy="Make the odd file again, or convert its units where it is read.",
            columns=names[:20],
            how=found[0].how,
            file=file,
        )
