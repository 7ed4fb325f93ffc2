"""Whether what a recurrent cell hands to its next call carries its gradient: one backward pass goes back through time by it.

h = cell(x[:, 0], h)      the first call: whatever state it is given
h = cell(x[:, 1], h)      this state was made by the call before, and has its graph: kept
h = cell(x[:, 2], h.detach())   the same memory, and no graph: cut

A state is known by its memory, which `detach` shares.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import torch
from torch import nn
from torch.multiprocessing.reductions import StorageWeakRef

from premortem.events import Handed, Site
from premortem.probes.graph import note
from premortem.probes.session import Session, tensors_in, user_site
from premortem.tensors.memory import storage

_TAG = "premortem: made by a recurrent cell"
_MOST_NODES = 4096  # of the graph of an input: where it is larger, the state may come by that way, and nothing is counted


class _Calls:
    """Of one cell, in one pass through time."""

    def __init__(self, layer: str, kind: str, at: Site | None) -> None:
        self.layer, self.kind, self.at = layer, kind, at
        self.cut = self.kept = 0
        self.made: dict[int, StorageWeakRef] = {}  # which keeps its number from being given away
        self.last_input = (0, 0)


class RecurrentStates:
    def __init__(self, session: Session) -> None:
        self.session = session
        self._pass = -1
        self._source = 0  # memory of what the root was given
        self._cells: dict[int, _Calls] = {}

    def root_begins(self, first: torch.Tensor | None) -> None:
        """Calls of a root that go through one and the same tensor are one pass through time; others have nothing in common."""
        source = storage(first) if first is not None and first.layout == torch.strided else 0
        if not source or source != self._source or self._pass != self.session.passes:
            self._cells.clear()
        self._source, self._pass = source, self.session.passes

    def called(self, module: nn.Module, layer: str, args: Any, kwargs: Any, result: Any) -> None:
        """A cell, or a recurrent layer that was given one moment, has run with gradients."""
        given = args[0] if args else kwargs.get("input")
        if (
            not isinstance(given, torch.Tensor)
            or not of_one_moment(module, given)
            or self.session.in_backward
        ):
            return
        key = self.session.modules.of(module)
        calls = self._cells.get(key)
        states = tensors_in(args[1] if len(args) > 1 else kwargs.get("hx"))
        place = storage(given), int(given.storage_offset())
        if calls is None:
            calls = self._cells[key] = _Calls(layer, type(module).__name__, user_site())
        elif any(s.requires_grad for s in states) or _comes_from(given, key):
            calls.kept += 1
        elif place == calls.last_input:
            pass  # the same input again: a refinement, and no next moment
        elif states and all(storage(state) in calls.made for state in states):
            calls.cut += 1
        calls.last_input = place
        for made in tensors_in(result):
            if made.grad_fn is not None:
                calls.made[storage(made)] = StorageWeakRef(made.untyped_storage())
                note(made.grad_fn, f"{_TAG} {key}", True)

    def used_in(self, nodes: list[Any]) -> tuple[Handed, ...]:
        """Of the cells that this graph of a loss goes through."""
        return tuple(
            Handed(calls.at, calls.layer, calls.kind, calls.cut, calls.kept)
            for key, calls in self._cells.items()
            if calls.cut + calls.kept and any(f"{_TAG} {key}" in node.metadata for node in nodes)
        )


def of_one_moment(module: nn.Module, given: torch.Tensor) -> bool:
    if isinstance(module, nn.RNNCellBase):
        return True
    time = 1 if getattr(module, "batch_first", False) and given.dim() > 2 else 0
    return isinstance(module, nn.RNNBase) and given.shape[time] == 1


def _comes_from(given: torch.Tensor, key: int) -> bool:
    """Whether an input was computed of what the cell has made, with its graph; or is too long to say."""
    tag = f"{_TAG} {key}"
    pending: deque[Any] = deque([given.grad_fn])
    seen: set[Any] = set()
    while pending:
        node = pending.popleft()
        if node is None or node in seen:
            continue
        seen.add(node)
        if tag in node.metadata or len(seen) > _MOST_NODES:
            return True
        pending += [following for following, _ in node.next_functions]
    return False
