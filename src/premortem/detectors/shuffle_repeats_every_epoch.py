from __future__ import annotations

from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.events import ShuffleStarted

_TRAINED = 2  # steps during a pass, from which on the loader is one that is trained from


class ShuffleRepeatsEveryEpoch(Detector):
    """A shuffling `DistributedSampler` is never told which epoch it is.

    ## Why it matters
    Its order depends on the epoch alone, and that stays 0: every epoch brings the same batches in the same order, and
    each rank sees the same part of the data for ever.

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
        self._told: list[int] = []

    def observe(self, event: ShuffleStarted) -> Findings:
        before = self._epochs.get(event.loader)
        self._epochs[event.loader] = event.epoch
        if before == event.epoch and event.trained >= _TRAINED and event.loader not in self._told:
            self._told.append(event.loader)
            yield self.finding(
                event,
                f"a new pass over the data begins, and its DistributedSampler is still at epoch {event.epoch}",
                cause="The order is made from the seed and the epoch, and neither has changed: it is that of the last pass.",
                remedy="Call `loader.sampler.set_epoch(epoch)` at the start of every epoch.",
                epoch=event.epoch,
            )
