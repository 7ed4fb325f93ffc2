from __future__ import annotations

from collections.abc import Iterable

from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.detectors.shared.replicas import data_parallel, differ, named, odd, site
from premortem.events import RanksSeen
from premortem.findings import Finding, Severity


class RanksOutOfStep(Detector):
    """Ranks that average their gradients are in different epochs.

    ## Why it matters
    One rank had fewer batches and began its next epoch, and the others did not notice: from here on gradients of
    different epochs are averaged, learning rates change at different times, and at the end of the run the rank with more
    batches waits for ever.

    ## Usual causes
    Data that was split unevenly; a `break` or `continue` that depends on a rank's own data.

    ## What to do
    Give all ranks the same number of batches (`DistributedSampler` does), or train inside
    `torch.distributed.algorithms.Join`.
    """

    card = Card(
        code="PM482",
        name="ranks-out-of-step",
        family="distributed",
        severity=Severity.ERROR,
        explains=("unequal-batches", "ranks-apart"),
    )
    listens = (RanksSeen,)

    def observe(self, event: RanksSeen) -> Iterable[Finding]:
        every = data_parallel(event)
        if not every or any(d.apart_on_purpose or not d.loader for d in every):
            return
        places = [tuple(d.loader) for d in every]
        passes = [d.passes for d in every]
        # The same loop, as many backward passes, and yet another epoch: that is no loader that one rank alone has.
        if differ(places) or differ([d.backwards for d in every]) or not differ(passes):
            return
        if not all(d.called for d in every):
            return
        self.over = True
        ahead = odd(every, passes)
        positions = {str(d.rank): f"epoch {d.passes}, batch {d.drawn}" for d in every}
        yield self.finding(
            event,
            f"after step {event.step} {named(ahead)} is not in the epoch of the other ranks",
            cause="The ranks have different numbers of batches, and the shorter ones went on to their next epoch.",
            remedy="Give all ranks the same number of batches (`DistributedSampler`), or train inside `Join`.",
            at=site(every[0].loader),
            ranks=ahead,
            positions=positions,
        )
