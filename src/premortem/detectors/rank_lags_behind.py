from __future__ import annotations

from collections.abc import Iterable
from statistics import median
from typing import ClassVar

from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.detectors.replicas import data_parallel
from premortem.events import Digest, Event, RanksSeen
from premortem.findings import Finding, Severity

_ENOUGH = 3  # digests in a row with the same laggard
_SHARE = 0.25  # of a step that the others lose
_LEAST = 0.005  # seconds
_WARM = 16  # steps: the first ones are unlike any other


class RankLagsBehind(Detector):
    """One rank is slower than the others, in every step, and all wait for it.

    ## Why it matters
    Ranks wait for each other in every backward pass: the slowest sets the pace, and the others are paid for waiting.

    ## Usual causes
    - data: its shard lies on slower storage, has longer samples, or its loader has fewer workers
    - computing: another process on its device, a device that throttles, work that only one rank does in the loop

    ## What to do
    The finding says whether the time goes into waiting for data or into computing. Compare that part of the loop on
    this rank with another one.

    ## When it stays silent
    When ranks take turns, when it happens now and then (evaluation and saving on the first rank), and in backward passes,
    where a slow rank cannot be told from one that waits.
    """

    card: ClassVar[Card] = Card(
        code="PM487", name="rank-lags-behind", family="distributed", severity=Severity.WARNING
    )
    listens: ClassVar[tuple[type[Event], ...]] = (RanksSeen,)

    def __init__(self) -> None:
        self._row = 0
        self._last: tuple[int, str] | None = None
        self._told = False

    def observe(self, event: Event) -> Iterable[Finding]:
        every = data_parallel(event) if isinstance(event, RanksSeen) and not self._told else []
        if not every or event.step <= _WARM:
            return
        found = slowest(every)
        self._row = self._row + 1 if found is not None and found == self._last else int(found is not None)
        self._last = found
        if found is None or self._row < _ENOUGH:
            return
        self._told = True
        rank, kind = found
        mine = next(d for d in every if d.rank == rank)
        others = [d for d in every if d.rank != rank]
        spent, usual = getattr(mine, kind), median(getattr(d, kind) for d in others)
        doing = "waits for data" if kind == "waiting" else "computes outside of backward passes"
        yield self.finding(
            event,
            f"rank {rank} {doing} for {spent * 1e3:.0f} ms of every step, the others for {usual * 1e3:.0f} ms; all wait for it",
            cause="Its loader is slower than the others'."
            if kind == "waiting"
            else "It does more, or its device is slower or shared.",
            remedy="Give its loader more workers, or look at where its data lies."
            if kind == "waiting"
            else "Look for work that only this rank does, and for other processes on its device.",
            ranks=[rank],
            kind="data" if kind == "waiting" else "computing",
            seconds=spent,
            others=usual,
            step_seconds=mine.seconds,
        )


def slowest(every: list[Digest]) -> tuple[int, str] | None:
    """The rank that is behind all others by a fair share of the step, and what it does meanwhile."""
    for kind in ("waiting", "computing"):
        behind = max(every, key=lambda d: float(getattr(d, kind)))
        second = max(float(getattr(d, kind)) for d in every if d is not behind)
        lost = float(getattr(behind, kind)) - second
        if lost > _LEAST and lost > _SHARE * behind.seconds:
            return behind.rank, kind
    return None
