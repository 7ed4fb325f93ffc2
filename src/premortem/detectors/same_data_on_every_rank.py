from __future__ import annotations

from collections.abc import Iterable

from premortem.cards import Card
from premortem.detectors.base import THRICE, Detector
from premortem.detectors.shared.replicas import data_parallel, differ, site
from premortem.events import RanksSeen
from premortem.findings import Finding, Severity


class SameDataOnEveryRank(Detector):
    """All ranks train on the very same batches.

    ## Why it matters
    Averaging equal gradients changes nothing: N ranks do the work of one. A schedule that was made for the larger
    batch is wrong as well.

    ## Usual causes
    - no `DistributedSampler`: every rank draws from the whole data with the same seed
    - a data set that is split by a rank that is always 0

    ## What to do
    Give the loader a `DistributedSampler`, or split the data by the rank.

    ## When it stays silent
    When one batch is repeated on purpose, and for ranks that are no replicas (tensor and pipeline parallel ranks share
    their data).
    """

    card = Card(code="PM483", name="same-data-on-every-rank", family="distributed", severity=Severity.WARNING)
    listens = (RanksSeen,)

    def __init__(self) -> None:
        self._same: list[int] = []

    def observe(self, event: RanksSeen) -> Iterable[Finding]:
        every = data_parallel(event)
        batches = [d.batch for d in every]
        if not every or None in batches:
            return
        if differ(batches):
            self._same = []
            return
        if batches[0] is not None and batches[0] not in self._same:
            self._same.append(batches[0])
        if len(self._same) == THRICE:
            self.over = True
            yield self.finding(
                event,
                f"the {len(every)} ranks were given the same batch at each of {THRICE} steps that were compared",
                cause="The data is not split among the ranks, so all of them compute the same gradient.",
                remedy="Give the loader a `DistributedSampler` (and no `shuffle`), or split the data by the rank.",
                at=site(every[0].loader),
                ranks=[d.rank for d in every],
            )
