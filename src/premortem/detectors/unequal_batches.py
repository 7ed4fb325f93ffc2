from __future__ import annotations

from collections.abc import Iterable

from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.detectors.shared.replicas import data_parallel, differ, named, site
from premortem.events import RanksSeen
from premortem.findings import Finding, Severity


class UnequalBatches(Detector):
    """The loaders of the ranks hold different numbers of batches.

    ## Why it matters
    Every backward pass waits for all ranks. When the shortest loader has run out, the others wait for a rank that does not
    come; or it is already in its next epoch, and gradients of different epochs are averaged until the very end.

    ## Usual causes
    Data that was split by hand, and not evenly.

    ## What to do
    Split it with `DistributedSampler`, drop the rest, or train inside `torch.distributed.algorithms.Join`. A loop that
    ends at the same number of batches on all ranks needs nothing: that is why this is a remark.
    """

    card = Card(code="PM485", name="unequal-batches", family="distributed", severity=Severity.INFO)
    listens = (RanksSeen,)

    def observe(self, event: RanksSeen) -> Iterable[Finding]:
        every = data_parallel(event)
        lengths = [d.length for d in every if d.length is not None and not d.apart_on_purpose]
        places = [tuple(d.loader) for d in every]
        if not every or len(lengths) < len(every) or differ(places) or not differ(lengths):
            return
        self.over = True
        least, most = min(lengths), max(lengths)
        short = [d.rank for d in every if d.length == least]
        yield self.finding(
            event,
            f"{named(short)} will run out of data after {least} batches of an epoch, other ranks after {most}",
            cause="The data is not split evenly, and every backward pass waits for all ranks.",
            remedy="Use `DistributedSampler`, end the epoch at the smallest number on all ranks, or train inside `Join`.",
            at=site(every[0].loader),
            ranks=short,
            fewest=least,
            most=most,
        )
