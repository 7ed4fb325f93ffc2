from dataclasses import dataclass, field
from itertools import pairwise

from premortem.amounts import count
from premortem.detectors.base import Card, Certainty, Detector, Finding, Findings, Severity
from premortem.detectors.shared.printed import counted
from premortem.events import BatchDrawn, EpochEnded, EpochStarted, Event, LoaderBuilt, LogLine
from premortem.profile.weighting import NEARLY_ALL, are_left_out, few

PASSES = 4  # over the loader, each left at the same batch: a limit on steps ends only the last one
SHARE = 0.5  # of the batches that must be left unused: a small rest is a choice
SEVERAL = 5  # batches, of which a shuffled loader's first is used


@dataclass
class Passes:
    """How the passes over one loader ended so far."""

    left_at: list[int] = field(default_factory=list)  # of those that were left early, one after the other
    numbers: list[int | None] = field(default_factory=list)  # the epoch printed in or after each of these
    steps: int = 0  # made with a batch of this pass
    number: int | None = None


class FewerSamplesThanExpected(Detector):
    """Every epoch leaves out the same part of the data.

    ## Why it matters
    The model is trained on a fraction of the data, while the log shows full epochs.

    ## Usual causes
    A `WeightedRandomSampler` that was given one weight per class instead of one per sample, a few weights that are thousands of
    times larger than the rest, or weights that were rounded to 0; a `break` or `return` of
    a debugging session that is still in the loop over an unshuffled loader, or after the first batch.

    ## What to do
    Give the sampler one weight per sample (`weights[labels]`); take the `break` out.

    ## When it stays silent
    Subsets and samplers that select on purpose (weights of 0 beside weights that are all equal, or fewer than nineteen in twenty of them), shuffled loaders of which each epoch takes some batches, fewer than
    four epochs.
    """

    card = Card(
        "PM322",
        "fewer-samples-than-expected",
        "data-empty",
        Severity.ERROR,
        explains_later=("same-batch-every-step",),
    ).explaining("constant-labels", "class-only-in-evaluation", "wrong-sign")
    listens = (LoaderBuilt, EpochStarted, BatchDrawn, EpochEnded, LogLine)

    def __init__(self) -> None:
        self._loaders: dict[int, LoaderBuilt] = {}
        self._passes: dict[int, Passes] = {}
        self._last: int | None = None  # the loader that was drawn from last,
        self._since = 0  # ... and the step since when: steps of a long run are counted, and not all reported

    def observe(self, event: Event) -> Findings:
        if isinstance(event, LoaderBuilt):
            self._loaders[event.loader] = event
            reachable, samples = event.reachable, event.samples
            if reachable is not None and samples is not None and 0 < reachable < samples:
                yield self._sampler(event, reachable, samples)
            elif event.weighted is not None and few(*event.weighted):
                yield self._weights(event, *event.weighted)
            elif event.weighted is not None and samples and are_left_out(*event.weighted, samples):
                yield self._without_weight(event, samples, event.weighted[0])
        elif isinstance(event, EpochStarted):
            self._drawn_from(event.loader, event.step)
            passes = self._passes.setdefault(event.loader, Passes())
            passes.steps, passes.number = 0, None
        elif isinstance(event, BatchDrawn):
            self._drawn_from(event.loader if event.loader in self._passes else None, event.step)
        elif isinstance(event, LogLine):
            number = counted(event)
            if number is not None:
                for passes in self._passes.values():
                    passes.number = number
        elif isinstance(event, EpochEnded):
            self._drawn_from(self._last, event.step)
            yield from self._ended(event)

    def _drawn_from(self, loader: int | None, step: int) -> None:
        """The steps since the last time were made with batches of the loader before it."""
        if self._last is not None:
            self._passes[self._last].steps += step - self._since
        self._last, self._since = loader, step

    def _sampler(self, event: LoaderBuilt, reachable: int, samples: int) -> Finding:
        self.once(event.loader)
        return self.finding(
            event,
            f"the WeightedRandomSampler has {count(reachable, 'weight')} for {count(samples, 'sample')}: it only ever "
            f"draws the first {reachable}",
            cause="A weight belongs to a sample, not to a class; indices beyond the last weight are never drawn.",
            remedy="Give one weight per sample, e.g. `class_weights[labels]`, and `num_samples=len(dataset)`.",
            family="data-order",
            samples=samples,
            reachable=reachable,
        )

    def _weights(self, event: LoaderBuilt, drawable: int, carried: int) -> Finding:
        self.once(event.loader)
        return self.finding(
            event,
            f"{NEARLY_ALL:.0%} of what the WeightedRandomSampler draws are the same {count(carried, 'sample')} of {drawable}: "
            "their sampling weights are extreme",
            cause="A few samples have weights that are thousands of times larger than those of the others: the model sees "
            "practically only these few rows, over and over.",
            remedy="Look at the largest weights: a division by an empty count or by nearly 0 makes such numbers. Limit them.",
            severity=Severity.WARNING,
            samples=drawable,
            carrying=carried,
        )

    def _without_weight(self, event: LoaderBuilt, samples: int, drawable: int) -> Finding:
        self.once(event.loader)
        return self.finding(
            event,
            f"the WeightedRandomSampler can draw {drawable} of {count(samples, 'sample')}: all others have a weight of 0",
            cause="Nearly all weights are 0, and the others differ, so they do not just select rows: a column that was rounded, or joined from elsewhere.",
            remedy="Look at the weights, and count their zeros. Take rows out before training if they are not to be trained on.",
            severity=Severity.WARNING,
            samples=samples,
            drawable=drawable,
        )

    def _ended(self, event: EpochEnded) -> Findings:
        passes = self._passes.setdefault(event.loader, Passes())
        loader = self._loaders.get(event.loader)
        if event.complete or not passes.steps or loader is None or loader.batches is None:
            passes.left_at.clear()
            passes.numbers.clear()
            return
        # `if i >= limit: break` draws one more batch, and makes no step with it.
        used = passes.steps if event.batches == passes.steps + 1 else event.batches
        passes.left_at = [*passes.left_at, used][-PASSES:]
        passes.numbers = [*passes.numbers, passes.number][-PASSES:]
        last = passes.left_at
        stuck = len(last) == PASSES and len(set(last)) == 1 and last[0] < SHARE * loader.batches
        if not stuck or not counted_up(passes.numbers) or self.said(event.loader):
            return
        if not loader.shuffle or (last[0] == 1 and loader.batches >= SEVERAL):
            self.once(event.loader)
            yield self._left(event, loader, last[0])

    def _left(self, event: EpochEnded, loader: LoaderBuilt, batches: int) -> Finding:
        never = "" if loader.shuffle else ", always the same ones"
        return self.finding(
            event,
            f"every epoch uses {batches} of {count(loader.batches or 0, 'batch')}{never}",
            cause="The loop over the DataLoader is left early in each epoch, and starts again from the front.",
            remedy="Take the `break` or `return` out of the loop, or build the loader on the part that you want.",
            severity=Severity.WARNING,
            certainty=Certainty.SUSPECTED,
            used=batches,
            batches=loader.batches,
        )


def counted_up(numbers: list[int | None]) -> bool:
    """The script calls each of these passes an epoch."""
    return all(a is not None and b == a + 1 for a, b in pairwise(numbers))
