"""How ranks tell each other what they see: through the store that torch's own rendezvous keeps.

A collective must be called by all ranks in the same order, or the run hangs; so none is called here. Each rank puts its
digest into the store and goes on. The first rank takes a round when all of them are there, in a thread of its own and over
a connection of its own, and forgets it when a rank does not deliver. No rank waits for one that dies or hangs.
"""

import json
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from premortem.ranks.rendezvous import connect

_PERIOD = 0.2  # seconds between two looks at the store
_CROWD = (
    512  # ranks; of more of them each looks less often, and only so many, others each time, deliver a round
)
_PATIENCE = 20.0  # seconds for the ranks to deliver a round
_MOST_ROUNDS = 16
_STOP = "stop"


class Exchange:
    """One rank's end of it. `rounds` holds what the first rank has gathered: every rank's digest of one step."""

    def __init__(
        self, rank: int, world: int, prefix: str, fault: Callable[[str, BaseException], None]
    ) -> None:
        self.rank = rank
        self.world = world
        self.period = _PERIOD * max(1.0, world / _CROWD)
        self.rounds: deque[tuple[int, list[dict[str, Any]]]] = deque(maxlen=_MOST_ROUNDS)
        self.stop: dict[str, Any] | None = None  # what all ranks have agreed on
        self.each_look: Callable[[Any], None] | None = (
            None  # called now and then, in the thread, with the store
        )
        self._prefix = prefix
        self._fault = fault
        self._outbox: deque[tuple[int, int, dict[str, Any]]] = deque(maxlen=_MOST_ROUNDS)
        self._awaited: deque[tuple[int, int, float]] = deque()
        self._store: Any = None
        self._over = threading.Event()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="premortem-ranks", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        return self._store is not None and self._thread.is_alive()

    @property
    def lead(self) -> float:
        """Seconds after which every rank has surely heard of something."""
        return 1.0 + 4 * self.period

    def reporters(self, turn: int) -> list[int]:
        """The ranks that deliver this round, the first one always among them."""
        return [rank for rank in range(self.world) if self._delivers(rank, turn)]

    def _delivers(self, rank: int, turn: int) -> bool:
        stride = -(-self.world // _CROWD)
        return rank == 0 or rank % stride == turn % stride

    def tell(self, step: int, turn: int, digest: dict[str, Any]) -> None:
        """Never waits: the thread sends it."""
        if self._delivers(self.rank, turn):
            self._outbox.append((step, turn, digest))

    def propose(self, record: dict[str, Any]) -> dict[str, Any]:
        """End the run at `record["step"]`. Of several proposals the first stands, for all. Raises RuntimeError."""
        text = self._store.compare_set(_STOP, "", json.dumps(record))
        self.stop = dict(json.loads(text))
        return self.stop

    def close(self, patience: float = 1.0) -> None:
        """The last digests are sent, and the first rank waits a moment for those of the others."""
        until = time.monotonic() + patience
        while self.alive and (self._outbox or self._awaited) and time.monotonic() < until:
            self._wake.set()
            time.sleep(0.01)
        self._over.set()
        self._wake.set()
        self._thread.join(patience)

    # -- the thread -----------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self._store = connect(self._prefix)
            while self._store is not None and not self._over.is_set():
                self._look()
                self._wake.wait(self.period)
                self._wake.clear()
        except RuntimeError:
            pass  # the store went away: the run is over, or its first rank is
        except Exception as error:  # noqa: BLE001 - a bug of ours is written down
            self._fault("ranks", error)
        self._store = None

    def _look(self) -> None:
        store = self._store
        while self._outbox:
            step, turn, digest = self._outbox[0]
            store.set(f"{step}/{self.rank}", json.dumps(digest, separators=(",", ":")))
            if self.rank == 0:
                self._awaited.append((step, turn, time.monotonic()))
            self._outbox.popleft()
        if self.stop is None and store.check([_STOP]):
            self.stop = json.loads(store.get(_STOP))
        while self._awaited:
            step, turn, since = self._awaited[0]
            keys = [f"{step}/{rank}" for rank in self.reporters(turn)]
            if store.check(keys):
                self.rounds.append((step, [json.loads(value) for value in store.multi_get(keys)]))
            elif time.monotonic() - since < _PATIENCE:
                break
            self._awaited.popleft()
            for key in keys:
                store.delete_key(key)
        if self.each_look is not None:
            self.each_look(store)
