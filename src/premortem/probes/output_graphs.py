"""What models made, and what became of it: graphs that are dropped, used or kept, and outputs that are inputs again."""

import weakref
from collections import deque
from collections.abc import Iterable
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from premortem.probes.graph import KEPT, Tag, note
from premortem.probes.session import Session

_REMEMBERED = 4096  # graphs of outputs
_MOST_AUDITED = 32  # audited forwards whose inner graphs are followed


class OutputGraphs:
    """Follows the outputs of models by tags on their graphs, which die with them."""

    def __init__(self, session: Session) -> None:
        self.session = session
        # (graph of a forward's output, step it was made in): which are still in memory later on?
        self._graphs: deque[tuple[weakref.ref[Tag], int]] = deque(maxlen=_REMEMBERED)
        # likewise for what the layers inside made, in audited forwards only
        self._inner_graphs: list[tuple[weakref.ref[Tag], int]] = []
        self._inner = Tag()
        # (graph, number of the forward) since the last backward: which were dropped without it?
        self._waiting: deque[tuple[weakref.ref[Tag], int]] = deque(maxlen=_REMEMBERED)
        self._made: list[tuple[StorageWeakRef, int]] = []  # outputs, and the key of the model

    def inside(self, node: Any) -> None:
        """A layer of the model that is running has made this."""
        note(node, "premortem: inside", self._inner)

    def remember(self, outputs: list[torch.Tensor], number: int, audited: bool) -> None:
        tag = Tag(self.session.step)
        for output in outputs[:2]:
            if output.grad_fn is not None:
                note(output.grad_fn, KEPT, tag)
        if audited and len(self._inner_graphs) < _MOST_AUDITED:
            self._inner_graphs.append((weakref.ref(self._inner), self.session.step))
        self._inner = Tag()
        reference = weakref.ref(tag)
        self._graphs.append((reference, self.session.step))
        self._waiting.append((reference, number))

    def made(self, outputs: list[torch.Tensor], model: int) -> None:
        self._made = [pair for pair in self._made if not pair[0].expired()][-16:]
        self._made += [
            (StorageWeakRef(t.untyped_storage()), model) for t in outputs[:2] if t.layout == torch.strided
        ]

    def source(self, inputs: Iterable[torch.Tensor]) -> int | None:
        """The key of the model whose output this is."""
        for tensor in inputs:
            if tensor.layout == torch.strided:
                mine = StorageWeakRef(tensor.untyped_storage())
                for made, key in reversed(self._made):
                    if made.cdata == mine.cdata and not made.expired():
                        return key
        return None

    def untrained(self) -> tuple[int, ...]:
        """Forwards since the last backward whose graph is gone: nothing can be learnt from them."""
        dropped = tuple(number for tag, number in self._waiting if tag() is None)
        self._waiting.clear()
        return dropped

    def used(self) -> tuple[int, ...]:
        """Forwards since the last backward that are alive: gradients are taken of them now."""
        dead = [(tag, number) for tag, number in self._waiting if tag() is None]
        alive = tuple(number for tag, number in self._waiting if tag() is not None)
        self._waiting.clear()
        self._waiting.extend(dead)
        return alive

    def kept(self) -> int:
        """How many graphs of outputs that were made before the last step are still in memory."""
        while self._graphs and self._graphs[0][0]() is None:
            self._graphs.popleft()
        if len(self._graphs) < 3:
            return 0
        step = self.session.step - 1
        return sum(1 for tag, made in self._graphs if made < step and tag() is not None)

    def kept_inside(self) -> tuple[int, int]:
        """Of how many audited forwards, made before the last step, some inner result is in memory; and of how many."""
        step = self.session.step - 1
        old = [tag for tag, made in self._inner_graphs if made < step]
        return sum(1 for tag in old if tag() is not None), len(old)
