from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from premortem.derived.windows import STEPPED, WindowEnded
from premortem.detectors.base import TWICE, Card, Detector, Findings, Severity
from premortem.events import (
    Backward,
    EpochEnded,
    EpochStarted,
    Event,
    OptimizerStep,
    RunEnded,
    Shuffled,
    Site,
)

UNUSED = "the window is not full when the epoch ends, and no step uses what is in it"
REGULAR = 4  # full windows that make a rule, from which another one can differ


@dataclass
class Lengths:
    """How long one optimizer's windows were, and how they ended."""

    used: Counter[int] = field(default_factory=Counter)
    thrown: Counter[int] = field(default_factory=Counter)
    since: list[int] = field(default_factory=list)  # full windows before each odd one
    full: int = 0
    site: Site | None = None
    cleared_at: Site | None = None
    weights: set[float | None] = field(default_factory=set)
    at_ends: list[int] = field(default_factory=list)  # micro-batches that were thrown away between two epochs


class AccumulationWindowBroken(Detector):
    """The last, incomplete accumulation window of every epoch is lost, or leaks into the next epoch.

    ## Why it matters
    When the number of batches is not a multiple of the window, the rest of each epoch is either computed and thrown
    away, or stays in the gradients and makes the first window of the next epoch too heavy.

    ## Usual causes
    - `if (i + 1) % k == 0` alone, without a step for what is left at the end of the epoch
    - `zero_grad()` at the start of every epoch, before the rest was used
    - a generator of windows that yields full ones only

    ## What to do
    Step also at the last batch (`or i + 1 == len(loader)`), and divide by the real number of micro-batches.

    ## When it stays silent
    When the windows have no fixed length, and when it happens only once.
    """

    card = Card("PM133", "accumulation-window-broken", "accumulation", Severity.WARNING).explaining(
        "fewer-samples-than-expected"
    )
    listens = (WindowEnded, Backward, OptimizerStep, EpochStarted, EpochEnded, RunEnded, Shuffled)

    def __init__(self) -> None:
        self._backwards: Counter[int] = Counter()  # of each optimizer
        self._lengths: dict[int, Lengths] = {}
        self._epochs: dict[int, Counter[int]] = {}  # loader -> backward passes of each optimizer before it
        self._unheard: dict[int, int] = {}  # loader -> steps before it that were only counted
        # loader -> its last epoch: a generator that draws ahead has batches left to train on when the loader ends
        self._ended: dict[int, EpochEnded] = {}
        self._steps = 0  # that were reported
        self._between = False  # no backward pass since an epoch ended
        self._shuffled: dict[Site | None, int] = {}  # line -> size of the order that is being used
        self._trained: dict[int, list[tuple[int, int]]] = {}  # windows since: micro-batches, samples
        self._passes: Counter[int] = Counter()  # ... and backward passes of each optimizer before them

    def observe(self, event: Event) -> Findings:
        if isinstance(event, WindowEnded):
            yield from self._window(event)
        elif isinstance(event, Backward):
            if not event.error:
                self._backwards.update(event.optimizers)
                self._between = False
        elif isinstance(event, OptimizerStep):
            self._steps += 1
        elif isinstance(event, EpochStarted):
            yield from self._epoch(event, event.loader)
            self._epochs[event.loader] = Counter(self._backwards)
            self._unheard[event.loader] = event.step - self._steps
        elif isinstance(event, EpochEnded):
            self._between = event.complete
            self._ended[event.loader] = event
        elif isinstance(event, RunEnded):
            for loader in list(self._ended):
                yield from self._epoch(event, loader)
        elif isinstance(event, Shuffled):
            yield from self._reshuffled(event)

    def _window(self, window: WindowEnded) -> Findings:
        optimizer = window.optimizer
        if not window.micros or window.site is None or window.closure:
            return
        if window.end == STEPPED:
            samples = sum(micro.samples or 0 for micro in window.micros)
            self._trained.setdefault(optimizer, []).append((len(window.micros), samples))
        lengths = self._lengths.setdefault(optimizer, Lengths())
        if lengths.site is not None and lengths.site != window.site:
            return
        n = len(window.micros)
        if window.end == STEPPED:
            if not window.accumulates and n > 1:
                return
            lengths.site = window.site
            lengths.used[n] += 1
            lengths.weights.update(window.weights)
        elif lengths.site is not None:
            lengths.thrown[n] += 1
            lengths.cleared_at = window.at
            if self._between:
                lengths.at_ends.append(n)
        k, times = lengths.used.most_common(1)[0] if lengths.used else (0, 0)
        if n == k and window.end == STEPPED:
            lengths.full += 1
        elif k > 1:
            lengths.since.append(lengths.full)
            lengths.full = 0
        if k > 1 and times >= REGULAR and not self.said(optimizer):
            yield from self._judge(window, optimizer, lengths, k)
            yield from self._thrown_away(window, optimizer, lengths, k)

    def _judge(self, event: Event, optimizer: int, lengths: Lengths, k: int) -> Findings:
        since = lengths.since
        other = [n for n in lengths.used if n != k]
        if len(since) < TWICE or (other and lengths.thrown):
            return
        if not other and len(lengths.thrown) == 1 and len(set(since)) == 1:
            (rest,) = lengths.thrown
            if rest < k:
                what = f"zero_grad() clears the last {rest} micro-batches of every epoch before a step uses them (windows of {k})"
                why = "the window is not full when the epoch ends, and zero_grad() throws it away"
                yield from self._found(
                    event, optimizer, what, why, lengths.cleared_at, window=k, times=len(since)
                )
        elif len(other) == 1 and weighted_as(lengths.weights, k):
            (long,) = other
            # The long window takes the place of the first full one in every epoch but the first.
            if k < long < 2 * k and set(since[1:]) == {since[0] - 1}:
                what = f"the first window of every epoch holds {long} micro-batches instead of {k}"
                why = f"{long - k} were left over from the epoch before: it ended without a step for them"
                yield from self._found(event, optimizer, what, why, lengths.site, window=k, times=len(since))

    def _thrown_away(self, event: Event, optimizer: int, lengths: Lengths, k: int) -> Findings:
        """Windows that do not begin with the epoch leave another rest each time, and it is cleared each time."""
        rests = lengths.at_ends
        if len(rests) < REGULAR or len(rests) != lengths.thrown.total() or max(rests) >= k:
            return
        what = f"zero_grad() cleared {sum(rests)} micro-batches at the ends of {len(rests)} epochs before a step used them (windows of {k})"
        why = "the window is not full when the epoch ends, and zero_grad() throws it away"
        yield from self._found(event, optimizer, what, why, lengths.cleared_at, window=k, thrown=sum(rests))

    def _found(
        self, event: Event, optimizer: int, what: str, why: str, at: Site | None, **evidence: Any
    ) -> Findings:
        if self.once(optimizer):
            remedy = "step also at the last batch of an epoch, and divide by the real number of micro-batches"
            yield self.finding(event, what, cause=why, remedy=remedy, at=at, **evidence)

    def _epoch(self, event: Event, loader: int) -> Findings:
        """Batches that were drawn at the end of the loader's last epoch and never sent backward at all."""
        before, ended = self._epochs.pop(loader, None), self._ended.pop(loader, None)
        if before is None or ended is None or not ended.complete:
            return
        if event.step - self._steps != self._unheard[loader]:
            return  # backward passes of a step that was only counted are not known
        for optimizer, lengths in self._lengths.items():
            k, times = lengths.used.most_common(1)[0] if lengths.used else (0, 0)
            trained = self._backwards[optimizer] - before[optimizer]
            rest = ended.batches - trained
            if k < 2 or times < REGULAR // 2 or trained % k or not 0 < rest < k or trained < k:
                continue
            if self.times((optimizer, loader, ended.batches, rest)) == TWICE:
                what = f"the last {rest} of {ended.batches} batches of every epoch are drawn and never trained on (windows of {k})"
                evidence = {"window": k, "batches": ended.batches, "trained": trained}
                yield from self._found(event, optimizer, what, UNUSED, lengths.site, **evidence)

    def _reshuffled(self, event: Shuffled) -> Findings:
        """The same, for a script that makes its own order of its own tensors."""
        size = self._shuffled.get(event.at)
        self._shuffled[event.at] = event.size
        trained, self._trained = self._trained, {}
        passes, self._passes = self._backwards - self._passes, Counter(self._backwards)
        if size != event.size:
            return
        for optimizer, windows in trained.items():
            (k, samples), alike = windows[0], len(set(windows)) == 1
            used = samples * len(windows)
            rest = size - used
            # What was sent backward after the last step is not lost: the first window of the next epoch holds it.
            if passes[optimizer] != k * len(windows):
                continue
            # Leaving out a bit of the data, like drop_last, is a choice; a quarter of it is not.
            if not alike or k < 2 or not size / 4 <= rest < samples:
                continue
            if self.times((optimizer, size, used)) == TWICE + 1:
                what = f"{rest} of {size} samples of every epoch are never trained on: they do not fill a window of {k} micro-batches"
                evidence = {"window": k, "samples": size, "trained": used}
                yield from self._found(event, optimizer, what, UNUSED, None, **evidence)


def weighted_as(weights: set[float | None], k: int) -> bool:
    """All were weighted alike, by the regular length (or not at all): the script does not count the longer ones."""
    if len(weights) != 1 or None in weights:
        return False
    weight = next(iter(weights))
    return weight is not None and (weight == 1.0 or abs(weight * k - 1) < 1e-3)
