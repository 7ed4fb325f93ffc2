"""What was added up to make a loss, which summand is broken, and the loss without one."""

import sys
import types
from collections.abc import Callable
from typing import Any

import torch

from premortem.changes.loss_terms import Term
from premortem.changes.reach import Reach
from premortem.probes.frame_variables import variables
from premortem.probes.session import is_user_code, user_site

_MOST_TERMS = 16
_ADDING = ("__add__", "__radd__", "add", "__iadd__", "__sub__", "sub")


class Summands:
    """Covers the additions of scalars. `without` leaves one summand out, by its number. Premortem's own do not count:
    their number may be another on every rank."""

    def __init__(self, reach: Reach, without: int | None = None) -> None:
        self.without = without
        self._reach = reach
        self._count = 0
        # node of the sum -> (number of the addition, its operands)
        self._sums: dict[Any, tuple[int, tuple[torch.Tensor, torch.Tensor]]] = {}
        self._kept: list[torch.Tensor] = []  # keeps the nodes above alive
        self._sites: dict[int, tuple[str, int]] = {}
        self._names: dict[Any, str] = {}

    def install(self) -> None:
        for name in _ADDING:
            self._reach.points.add(torch.Tensor, name, self._cover)
        self._reach.points.add(torch, "add", self._cover)
        self._reach.points.add(torch, "sub", self._cover)

    def _cover(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def summed(left: Any, right: Any, *args: Any, **kwargs: Any) -> Any:
            if self._reach.ours() or not (_scalar(left) and _scalar(right)):
                return original(left, right, *args, **kwargs)
            number, self._count = self._count, self._count + 1
            if self.without is not None and self.without // 2 == number:
                return right if self.without % 2 == 0 else left
            result = original(left, right, *args, **kwargs)
            if isinstance(result, torch.Tensor) and result.grad_fn is not None:
                self._note(number, left, right, result)
            return result

        return summed

    def _note(self, number: int, left: torch.Tensor, right: torch.Tensor, result: torch.Tensor) -> None:
        self._kept.append(result)
        self._sums[result.grad_fn] = (number, (left, right))
        site = user_site()
        self._sites[number] = (site.file, site.line) if site is not None else ("", 0)
        for operand in (left, right):
            name = _name(operand)
            if name:
                self._names[operand.grad_fn] = name

    def of(self, loss: torch.Tensor, parameters: list[torch.Tensor]) -> list[Term]:
        """The summands of a loss that is about to be sent backward."""
        found: list[tuple[int, torch.Tensor, int]] = []
        self._expand(loss.grad_fn, found)
        wanted = [p for p in parameters if p.requires_grad]
        return [self._term(number, tensor, at, wanted) for number, tensor, at in found[:_MOST_TERMS]]

    def _expand(self, node: Any, found: list[tuple[int, torch.Tensor, int]]) -> None:
        # A division by the number of micro-batches, a scaler's factor: the sum lies below.
        for _ in range(4):
            if node is None or node in self._sums:
                break
            below = [inner for inner, _ in node.next_functions if inner is not None]
            if len(below) != 1 or not node.name().startswith(("Mul", "Div")):
                return
            node = below[0]
        if node not in self._sums:
            return
        number, operands = self._sums[node]
        for side, operand in enumerate(operands):
            if operand.grad_fn in self._sums:
                self._expand(operand.grad_fn, found)
            elif operand.requires_grad:
                found.append((2 * number + side, operand, number))

    def _term(self, index: int, tensor: torch.Tensor, number: int, parameters: list[torch.Tensor]) -> Term:
        value = tensor.detach()
        finite = bool(torch.isfinite(value).all())
        healthy: bool | None = None
        if finite and parameters:  # those in pieces are no leaves of the graph
            grads = torch.autograd.grad(tensor, parameters, retain_graph=True, allow_unused=True)
            healthy = all(bool(torch.isfinite(g).all()) for g in grads if g is not None)  # type: ignore[redundant-expr]
        file, line = self._sites[number]
        node = tensor.grad_fn
        op = node.name().removesuffix("Backward0") if node is not None else "leaf"
        return Term(index, self._names.get(node) or op, file, line, float(value), finite, healthy)


def _scalar(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.numel() == 1 and value.is_floating_point()


def _name(tensor: torch.Tensor) -> str:
    """The variable of the user's that holds this tensor, or what it is a multiple of."""
    node = tensor.grad_fn
    if node is None:
        return ""
    near = [node]
    if node.name().startswith(("Mul", "Div", "Neg")):
        near += [inner for inner, _ in node.next_functions if inner is not None]
    frame: types.FrameType | None = sys._getframe(1)  # noqa: SLF001 - there is no public way to a caller's variables
    while frame is not None:
        if is_user_code(frame.f_code.co_filename):
            own = variables(frame)
            for wanted in near:
                for name, value in own.items():
                    if isinstance(value, torch.Tensor) and value.grad_fn is wanted:
                        return name
        frame = frame.f_back
    return ""
