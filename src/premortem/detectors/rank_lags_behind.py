from collections.abc import Sequence
from statistics import median

from premortem.detectors.base import THRICE, Card, Detector, Findings, Severity
from premortem.detectors.shared.replicas import data_parallel
from premortem.events import Digest, RanksSeen

_SHARE = 0.25  # of a step that the others lose: less is the noise of a shared machine
_LEAST = 0.005  # seconds, below which clocks and the exchange itself decide
_WARM = 16  # steps: the first ones are unlike any other


class RankLagsBehind(Detector):
    """One rank is slower than the others, in every step, and all wait for it.

    ## Why it matters
    Ranks wait for each other in every backward pass: the slowest sets the pace, and the others idle.

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

    card = Card("PM487", "rank-lags-behind", "distributed", Severity.WARNING)
    listens = (RanksSeen,)

    def __init__(self) -> None:
        self._last: dict[
            str, tuple[int, str] | None
        ] = {}  # the slowest rank and what it did, at the last look
        self._measured = -1  # the last iteration whose backward pass was measured

    def observe(self, event: RanksSeen) -> Findings:
        every = data_parallel(event)
        if not every or event.step <= _WARM:
            return
        found = self._lasts("step", slowest(every, ("waiting", "computing"))) or self._in_backward(every)
        if found is None:
            return
        rank, kind = found
        mine = next(d for d in every if d.rank == rank)
        spent, usual = getattr(mine, kind), median(getattr(d, kind) for d in every if d.rank != rank)
        doing, cause, remedy, evidence = _WORDS[kind]
        yield self.last_word(
            event,
            f"rank {rank} {doing} for {spent * 1e3:.0f} ms of every step, the others for {usual * 1e3:.0f} ms; all wait for it",
            cause=cause,
            remedy=remedy,
            ranks=[rank],
            kind=evidence,
            seconds=spent,
            others=usual,
            step_seconds=mine.seconds,
        )

    def _lasts(self, key: str, found: tuple[int, str] | None) -> tuple[int, str] | None:
        """The same rank was behind with the same work in three looks in a row."""
        if found != self._last.get(key):
            self.in_a_row(key, again=False)
        self._last[key] = found
        return found if self.in_a_row(key, found is not None) >= THRICE else None

    def _in_backward(self, every: list[Digest]) -> tuple[int, str] | None:
        """A rank that was behind in three backward passes that were measured one after the other."""
        measured = every[0].measured
        if any(d.measured != measured for d in every) or self._measured == measured:
            return None
        self._measured = measured
        return self._lasts("backward", slowest(every, ("going_back",)))


_WORDS = {
    "waiting": (
        "waits for data",
        "Its loader is slower than the others'.",
        "Give its loader more workers, or move its data to faster storage.",
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
