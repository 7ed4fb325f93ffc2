from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from premortem.cards import Card
from premortem.detectors.base import THRICE, Detector
from premortem.detectors.shared.replicas import data_parallel
from premortem.events import Digest, RanksSeen
from premortem.findings import Finding, Severity

_SHARE = 0.25  # of a step that the others lose: less is the noise of a shared machine
_LEAST = 0.005  # seconds, below which clocks and the exchange itself decide
_WARM = 16  # steps: the first ones are unlike any other


class RankLagsBehind(Detector):
    """One rank is slower than the others, in every step, and all wait for it.

    ## Why it matters
    Ranks wait for each other in every backward pass: the slowest sets the pace, and the others are paid for waiting.

    ## Usual causes
    - data: its shard lies on slower storage, has longer samples, or its loader has fewer workers
    - computing: another process on its device, a device that throttles, work that only one rank does in the loop
    - a backward pass that takes longer: a layer that only this rank uses, longer samples, a slower device

    ## What to do
    The finding says whether the time goes into waiting for data, into computing or into the backward pass. Compare that part
    of the loop on this rank with another one.

    ## When it stays silent
    When ranks take turns, and when it happens now and then (evaluation and saving on the first rank). How long a backward pass
    takes without waiting for others is known from `DistributedDataParallel`, which measures every hundredth one.
    """

    card = Card(code="PM487", name="rank-lags-behind", family="distributed", severity=Severity.WARNING)
    listens = (RanksSeen,)

    def __init__(self) -> None:
        self._row = 0
        self._last: tuple[int, str] | None = None
        self._back_row = 0
        self._back_last: tuple[int, int] | None = None  # the rank, and the iteration that was measured

    def observe(self, event: RanksSeen) -> Iterable[Finding]:
        every = data_parallel(event)
        if not every or event.step <= _WARM:
            return
        found = slowest(every, ("waiting", "computing"))
        self._row = self._row + 1 if found is not None and found == self._last else int(found is not None)
        self._last = found
        if found is None or self._row < THRICE:
            found = self._in_backward(every)
        if found is None:
            return
        self.over = True
        rank, kind = found
        mine = next(d for d in every if d.rank == rank)
        others = [d for d in every if d.rank != rank]
        spent, usual = getattr(mine, kind), median(getattr(d, kind) for d in others)
        doing, cause, remedy, told = _WORDS[kind]
        yield self.finding(
            event,
            f"rank {rank} {doing} for {spent * 1e3:.0f} ms of every step, the others for {usual * 1e3:.0f} ms; all wait for it",
            cause=cause,
            remedy=remedy,
            ranks=[rank],
            kind=told,
            seconds=spent,
            others=usual,
            step_seconds=mine.seconds,
        )

    def _in_backward(self, every: list[Digest]) -> tuple[int, str] | None:
        """A rank that was behind in three backward passes that were measured one after the other."""
        found, measured = slowest(every, ("going_back",)), every[0].measured
        if any(d.measured != measured for d in every) or (self._back_last or (-1, -1))[1] == measured:
            return None
        rank = found[0] if found is not None else -1
        same = found is not None and self._back_last is not None and self._back_last[0] == rank
        self._back_row = self._back_row + 1 if same else int(found is not None)
        self._back_last = (rank, measured)
        return found if self._back_row >= THRICE else None


_WORDS = {
    "waiting": (
        "waits for data",
        "Its loader is slower than the others'.",
        "Give its loader more workers, or look at where its data lies.",
        "data",
    ),
    "computing": (
        "computes outside of backward passes",
        "It does more, or its device is slower or shared.",
        "Look for work that only this rank does, and for other processes on its device.",
        "computing",
    ),
    "going_back": (
        "computes its backward pass",
        "Its backward pass does more, or its device is slower or shared.",
        "Look for layers that only this rank uses, for longer samples, and for other processes on its device.",
        "backward",
    ),
}


def slowest(every: list[Digest], kinds: Sequence[str]) -> tuple[int, str] | None:
    """The rank that is behind all others by a fair share of the step, and what it does meanwhile."""
    for kind in kinds:
        behind = max(every, key=lambda d: float(getattr(d, kind)))
        second = max(float(getattr(d, kind)) for d in every if d is not behind)
        lost = float(getattr(behind, kind)) - second
        if lost > _LEAST and lost > _SHARE * behind.seconds:
            return behind.rank, kind
    return None
