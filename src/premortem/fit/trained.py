"""Which model is trained, and with which batch: the call whose result went into the loss that was sent backward."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from torch import nn

from premortem.tensors.nested import tensors

_MOST_CALLS = 64  # that wait for a backward pass


@dataclass
class _Call:
    module: nn.Module
    shapes: list[list[int]]
    made: set[int]  # numbers of autograd's nodes; the nodes themselves would keep activations alive


class Trained:
    def __init__(self) -> None:
        self._first: _Call | None = None  # stands in until there is a backward pass
        self._waiting: list[_Call] = []
        self._known = False

    @property
    def model(self) -> nn.Module | None:
        return self._first.module if self._first is not None else None

    @property
    def shapes(self) -> list[list[int]]:
        return self._first.shapes if self._first is not None else []

    @property
    def batch(self) -> int | None:
        """The first dimension that most of the inputs have."""
        leading = Counter(shape[0] for shape in self.shapes)
        return leading.most_common(1)[0][0] if leading else None

    def called(self, module: nn.Module, given: Any, result: Any) -> None:
        """A model was called from outside any other."""
        if self._known or not any(True for _ in module.parameters()):
            return
        nodes = {t.grad_fn._sequence_nr() for t in tensors(result) if t.grad_fn is not None}
        call = _Call(module, [list(t.shape) for t in tensors(given) if t.dim()], nodes)
        if self._first is None:
            self._first = call
        if nodes and len(self._waiting) < _MOST_CALLS:
            self._waiting.append(call)

    def sent_backward(self, given: Any) -> None:
        if self._known or not self._waiting:
            return
        self._known = True
        reached = _nodes(t.grad_fn for t in tensors(given))
        self._first = next((call for call in self._waiting if call.made & reached), self._waiting[0])
        self._waiting.clear()


def _nodes(roots: Iterator[Any]) -> set[int]:
    numbers: set[int] = set()
    todo, seen = [node for node in roots if node is not None], set()
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        numbers.add(node._sequence_nr())
        todo += [following for following, _ in node.next_functions if following is not None]
    return numbers
