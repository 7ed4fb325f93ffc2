"""Which collectives a rank calls, in which order; and, when ranks stand still in them, where they part.

    each rank    counts its calls on the default group, and remembers the last ones: operation, shape, line
    a thread     when this rank has been in one of them for seconds: its last calls ─► the store
    first rank   stands still too: the others' calls beside its own, number by number

All ranks of a group must make the same calls in the same order, so two that differ under the same number are a mistake. A
rank that is only slow has made fewer calls, and the ones it has made are the same.
"""

import functools
import json
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from premortem.events import CollectiveCall, CollectivesApart
from premortem.probes.session import Session, user_site

STUCK = 5.0  # seconds in one call, after which others are asked
_STUCK_GOING_BACK = 20.0  # ... in a backward pass, which may be long by itself
_REMEMBERED = 64
BACKWARD = "backward"
_ALIKE = frozenset({"all_reduce", "broadcast", "reduce"})  # every rank gives as many values
_CALLS = (
    "all_reduce", "all_gather", "all_gather_into_tensor", "all_gather_object", "all_to_all", "all_to_all_single", "barrier",
    "broadcast", "broadcast_object_list", "gather", "gather_object", "monitored_barrier", "reduce", "reduce_scatter",
    "reduce_scatter_tensor", "scatter", "scatter_object_list",
)  # fmt: skip


class Position(NamedTuple):
    """How far a rank is, as it tells others."""

    calls: int  # so far, the one it stands in among them
    stands_in: str  # a call, or a backward pass that waits for the others; "" when it goes on
    line: Sequence[Any]  # of what it stands in
    last: Sequence[Sequence[Any]]  # number, operation, details, file, line


class Collectives:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.on_first: Callable[[], None] | None = (
            None  # a collective was called, and ranks are not compared yet
        )
        self.off = False  # ranks make other calls on purpose (Join)
        self._calls: deque[tuple[int, str, str, str, int]] = deque(maxlen=_REMEMBERED)
        self._number = 0
        self._since: float | None = None  # when the call was made that has not returned
        self._back_since: float | None = None
        self._back_at: tuple[str, int] = ("", 0)
        self._longest_back = 0.0
        self._published: tuple[int, str] | None = None
        self._told = False

    def install(self) -> None:
        if torch.distributed.is_available():
            for name in _CALLS:
                if hasattr(torch.distributed, name):
                    self.session.layer(torch.distributed, name, functools.partial(self._covered, name))

    def _covered(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if self.off:
                return original(*args, **kwargs)
            group = kwargs.get("group") or next((a for a in args if isinstance(a, _group())), None)
            if group is not None and group is not torch.distributed.group.WORLD:
                return original(*args, **kwargs)
            with self.session.looking_at("collectives"):
                self._enter(name, args, kwargs)
            result = original(*args, **kwargs)
            self._since = None  # not after an error: that is where this rank ends
            return result

        return wrapper

    def _enter(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if self._number == 0 and self.on_first is not None:
            self.on_first()
        site = user_site()
        self._number += 1
        place = (site.file, site.line) if site is not None else ("", 0)
        self._calls.append((self._number, name, _details(name, args, kwargs), *place))
        self._since = time.monotonic()

    # -- backward passes in which a wrapper averages ---------------------------------------

    def goes_back(self) -> None:
        site = user_site()
        self._back_at = (site.file, site.line) if site is not None else ("", 0)
        self._back_since = time.monotonic()

    def is_back(self) -> None:
        if self._back_since is not None:
            self._longest_back = max(self._longest_back, time.monotonic() - self._back_since)
        self._back_since = None

    # -- in the thread ---------------------------------------------------------------------

    def look(self, store: Any, rank: int, world: int) -> None:
        """Tell the others where this rank stands, if it stands still; and on the first rank, compare."""
        if self._told or self.off:
            return
        standing = self._standing()
        here = (self._number, standing)
        if here != self._published and (standing or (self._published or (0, ""))[1]):
            store.set(f"calls/{rank}", json.dumps(self._position(standing)))
            self._published = here
        if rank == 0 and standing:
            keys = {other: f"calls/{other}" for other in range(1, world)}
            there = {
                other: Position(*json.loads(store.get(key)))
                for other, key in keys.items()
                if store.check([key])
            }
            found = apart({0: self._position(standing), **there}, world)
            if found is not None:
                self._told = True
                self.session.emit(CollectivesApart(step=self.session.step, number=found[0], calls=found[1]))

    def _standing(self) -> str:
        now = time.monotonic()
        since, back = self._since, self._back_since
        if since is not None and now - since > STUCK and self._calls:
            return self._calls[-1][1]
        if back is not None and now - back > max(_STUCK_GOING_BACK, 10 * self._longest_back):
            return BACKWARD
        return ""

    def _position(self, standing: str) -> Position:
        last = list(self._calls)
        line = list(self._back_at) if standing == BACKWARD or not last else list(last[-1][3:])
        return Position(self._number, standing, line, last)


def apart(ranks: dict[int, Position], world: int) -> tuple[int, list[CollectiveCall]] | None:
    """The first call that is not the same everywhere: its number, and what each rank has called there."""
    known = {rank: {int(each[0]): each for each in there.last} for rank, there in ranks.items()}
    for number in sorted(set(known[0])):
        calls = {rank: last[number] for rank, last in known.items() if number in last}
        if len({(each[1], each[2]) for each in calls.values()}) > 1:
            return number, [CollectiveCall(rank, *each[1:]) for rank, each in calls.items()]
    # One stands in a call that another has passed by: it is in a backward pass that waits for all, as all others wait.
    if len(ranks) < world or not all(there.stands_in for there in ranks.values()):
        return None
    most = max(there.calls for there in ranks.values())
    ahead = [rank for rank, there in ranks.items() if there.calls == most and there.stands_in != BACKWARD]
    passed = [rank for rank, there in ranks.items() if there.calls < most and there.stands_in == BACKWARD]
    if not ahead or len(ahead) + len(passed) < world:
        return None
    inside = [
        CollectiveCall(rank, *next(each for each in ranks[rank].last if each[0] == most)[1:])
        for rank in ahead
    ]
    behind = [CollectiveCall(rank, BACKWARD, "", *ranks[rank].line) for rank in passed]
    return most, sorted(inside + behind)


def _details(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """What must be the same on all ranks, where something must be."""
    if name not in _ALIKE:
        return ""
    tensor = next((each for each in (*args, *kwargs.values()) if isinstance(each, torch.Tensor)), None)
    if tensor is None:
        return ""
    said = f"{tensor.numel()} x {str(tensor.dtype).removeprefix('torch.')}"
    root = kwargs.get("src", kwargs.get("dst", args[1] if len(args) > 1 else None))
    return f"{said} root {root}" if name != "all_reduce" and root is not None else said


@functools.cache
def _group() -> type:
    kind: type = torch.distributed.ProcessGroup
    return kind
