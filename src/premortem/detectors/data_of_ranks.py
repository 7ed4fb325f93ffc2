"""What the ranks of one training are given, and what they make of it."""

from premortem.detectors.base import THRICE, Card, Detector, Findings, Severity
from premortem.detectors.shared.replicas import data_parallel, differ, named, odd, site
from premortem.events import RanksSeen, ShuffleStarted


class RanksOutOfStep(Detector):
    """Ranks that average their gradients are in different epochs.

    ## Why it matters
    One rank had fewer batches and began its next epoch before the others: from here on gradients of
    different epochs are averaged, learning rates change at different times, and at the end of the run the rank with more
    batches waits for ever.

    ## Usual causes
    Data that was split unevenly; a `break` or `continue` that depends on a rank's own data.

    ## What to do
    Give all ranks the same number of batches (`DistributedSampler` does), or train inside
    `torch.distributed.algorithms.Join`.
    """

    card = Card("PM482", "ranks-out-of-step", "distributed", Severity.ERROR).explaining(
        "unequal-batches", "ranks-apart"
    )
    listens = (RanksSeen,)

    def observe(self, event: RanksSeen) -> Findings:
        every = data_parallel(event)
        if not every or any(d.apart_on_purpose or not d.loader for d in every):
            return
        places = [tuple(d.loader) for d in every]
        passes = [d.passes for d in every]
        # The same loop and as many backward passes, but another epoch: this is not a loader that only one rank has.
        if differ(places) or differ([d.backwards for d in every]) or not differ(passes):
            return
        if not all(d.called for d in every):
            return
        ahead = odd(every, passes)
        positions = {str(d.rank): f"epoch {d.passes}, batch {d.drawn}" for d in every}
        yield self.last_word(
            event,
            f"after step {event.step}, {named(ahead)} and the other ranks are in different epochs",
            cause="The ranks have different numbers of batches, and the shorter ones went on to their next epoch.",
            remedy="Give all ranks the same number of batches (`DistributedSampler`), or train inside `Join`.",
            at=site(every[0].loader),
            ranks=ahead,
            positions=positions,
        )


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
    When one batch is repeated on purpose, and for ranks that are not replicas (tensor and pipeline parallel ranks share
    their data).
    """

    card = Card("PM483", "same-data-on-every-rank", "distributed", Severity.WARNING)
    listens = (RanksSeen,)

    def __init__(self) -> None:
        self._same: set[int | None] = set()  # batches that were the same on all ranks, without a break

    def observe(self, event: RanksSeen) -> Findings:
        every = data_parallel(event)
        batches = [d.batch for d in every]
        if not every or None in batches:
            return
        if differ(batches):
            self._same.clear()
        else:
            self._same.add(batches[0])
        if len(self._same) == THRICE:
            yield self.last_word(
                event,
                f"the {len(every)} ranks were given the same batch at each of {THRICE} steps that were compared",
                cause="The data is not split among the ranks, so all of them compute the same gradient.",
                remedy="Give the loader a `DistributedSampler` (and no `shuffle`), or split the data by the rank.",
                at=site(every[0].loader),
                ranks=[d.rank for d in every],
            )


_TRAINED = 2  # steps during a pass, from which on the loader is one that is trained from


class ShuffleRepeatsEveryEpoch(Detector):
    """A shuffling `DistributedSampler` does not get the number of the epoch.

    ## Why it matters
    Its order depends on the epoch alone, which stays 0: every epoch brings the same batches in the same order, and
    each rank only ever sees the same part of the data.

    ## Usual causes
    `sampler.set_epoch(epoch)` is missing in the loop over the epochs, or called on another sampler.

    ## What to do
    Call `loader.sampler.set_epoch(epoch)` at the start of every epoch.

    ## When it stays silent
    For loaders without a training step during their pass (evaluation), and when the sampler does not shuffle.
    """

    card = Card("PM484", "shuffle-repeats-every-epoch", "distributed", Severity.WARNING)
    listens = (ShuffleStarted,)

    def __init__(self) -> None:
        self._epochs: dict[int, int] = {}

    def observe(self, event: ShuffleStarted) -> Findings:
        before = self._epochs.get(event.loader)
        self._epochs[event.loader] = event.epoch
        if before == event.epoch and event.trained >= _TRAINED and self.once(event.loader):
            yield self.finding(
                event,
                f"a new pass over the data begins, and its DistributedSampler is still at epoch {event.epoch}",
                cause="The sampler makes its order from the seed and the epoch. Neither has changed, so this pass repeats the last one.",
                remedy="Call `loader.sampler.set_epoch(epoch)` at the start of every epoch.",
                epoch=event.epoch,
            )


class UnequalBatches(Detector):
    """The loaders of the ranks hold different numbers of batches.

    ## Why it matters
    Every backward pass waits for all ranks. When the shortest loader has run out, the others wait for a rank that does not
    come; or that rank is already in its next epoch, and gradients of different epochs are averaged until the very end.

    ## Usual causes
    Data that was split by hand, and not evenly.

    ## What to do
    Split it with `DistributedSampler`, drop the rest, or train inside `torch.distributed.algorithms.Join`. A loop that
    ends at the same number of batches on all ranks needs nothing: that is why this is `info`.
    """

    card = Card("PM485", "unequal-batches", "distributed", Severity.INFO)
    listens = (RanksSeen,)

    def observe(self, event: RanksSeen) -> Findings:
        every = data_parallel(event)
        lengths = [d.length for d in every if d.length is not None and not d.apart_on_purpose]
        places = [tuple(d.loader) for d in every]
        if not every or len(lengths) < len(every) or differ(places) or not differ(lengths):
            return
        least, most = min(lengths), max(lengths)
        short = [d.rank for d in every if d.length == least]
        yield self.last_word(
            event,
            f"the loader of {named(short)} ends after {least} batches, that of other ranks after {most}",
            cause="The data is not split evenly, and every backward pass waits for all ranks.",
            remedy="Use `DistributedSampler`, end the epoch at the smallest number on all ranks, or train inside `Join`.",
            at=site(every[0].loader),
            ranks=short,
            fewest=least,
            most=most,
        )


class StatisticsApart(Detector):
    """Running statistics (batch norm) differ between the ranks, and nothing brings them together.

    ## Why it matters
    In evaluation every rank has a model of its own, and the checkpoint has the statistics of one rank's data only.

    ## Usual causes
    `DistributedDataParallel(..., broadcast_buffers=False)` with ordinary batch norm.

    ## What to do
    Leave `broadcast_buffers` on, or convert the model with `nn.SyncBatchNorm.convert_sync_batchnorm`. Where each
    rank's share of the data is large it makes little difference, so this is `info`.
    """

    card = Card("PM486", "statistics-apart", "distributed", Severity.INFO)
    listens = (RanksSeen,)

    def observe(self, event: RanksSeen) -> Findings:
        every = data_parallel(event)
        answers = [d.buffers for d in every]
        if not every or 0 in answers or any(d.apart_on_purpose for d in every):
            return
        if self.in_a_row("apart", differ(answers)) == THRICE:
            yield self.finding(
                event,
                "the running statistics of the model differ between the ranks",
                cause="Buffers are not broadcast, so each rank collects the statistics of its own data.",
                remedy="Leave `broadcast_buffers` on, or convert the model to `nn.SyncBatchNorm`.",
                at=site(every[0].wrapped_at),
                ranks=odd(every, answers),
            )
