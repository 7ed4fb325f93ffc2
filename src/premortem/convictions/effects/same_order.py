from premortem.convictions.effect import Effect
from premortem.events import BatchDrawn, EpochStarted, Event, LoaderBuilt, OptimizerStep, Suspicion

LEAST = 4  # batches of an epoch: with fewer, the same order may be chance
MOST = 4096  # fingerprints kept of one loader


class SameOrder(Effect):
    """The loader that is trained on gives the same batches in the same order in two epochs."""

    listens = (LoaderBuilt, EpochStarted, BatchDrawn, OptimizerStep)

    def __init__(self, suspicion: Suspicion) -> None:
        super().__init__(suspicion)
        self._own: set[int] = set()  # loaders built at the suspected line
        self._first: dict[int, list[int]] = {}
        self._now: dict[int, list[int]] = {}
        self._trained: set[int] = set()
        self._last: int | None = None

    def seen(self, event: Event) -> str:
        if isinstance(event, LoaderBuilt):
            if self.suspicion.covers(event.at) and not event.shuffle:
                self._own.add(event.loader)
        elif isinstance(event, OptimizerStep):
            if self._last is not None:
                self._trained.add(self._last)
        elif isinstance(event, EpochStarted) and event.loader in self._own:
            past = self._now.get(event.loader, [])
            self._now[event.loader] = []
            first = self._first.setdefault(event.loader, past) if past else []
            if past and first is not past and first == past and event.loader in self._trained:
                if len(set(past)) >= LEAST:
                    return f"two epochs had the same {len(past)} batches in the same order"
        elif isinstance(event, BatchDrawn):
            self._last = event.loader
            kept = self._now.get(event.loader)
            if kept is not None and event.fingerprint is not None and len(kept) < MOST:
                kept.append(event.fingerprint)
        return ""
