"""What the kernels of an operation do to the card's memory: results, copies, workspaces, in the order they come."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_flatten

from premortem.fit import convolutions, scratch
from premortem.fit.gpus import Gpu
from premortem.fit.ledger import Ledger


class Kernels:
    def __init__(self, ledger: Ledger, gpu: Gpu) -> None:
        self.ledger, self.gpu = ledger, gpu
        self.adding_in_place = False  # as torch's C++ does, but not with fakes
        self._multiplied: set[tuple[bool, bool]] = set()

    def ran(self, name: str, args: Any, out: Any, *, host: bool) -> None:
        """Enter what an operation made, and what its kernel borrowed, in the order of a card."""
        ledger = self.ledger
        if name == "convolution_backward":
            self._convolve(name, list(convolutions.backward(args, out, self.gpu.processors)))
            if out[2] is not None:  # the bias: a sum over all but the channels
                over = [d for d in range(args[0].dim()) if d != 1]
                self._hold(name, scratch.borrowed("sum", (args[0], over), out[2], self.gpu).after)
            return
        if name == "convolution":
            self._convolve(name, [convolutions.forward(args, out)])
            ledger.forward_op()
            return
        if name == "add" and self.adding_in_place and out.shape == args[0].shape and ledger.holds(args[0]):
            ledger.replaced(args[0], out)
        before, after = scratch.borrowed(name, args, out, self.gpu)
        held = [ledger.entered(size, name) for size in before]
        ledger.moving = host
        try:
            for tensor in scratch.in_order(name, tree_flatten(out)[0]):
                if isinstance(tensor, Tensor):
                    for part in _parts(tensor):
                        ledger.born(part, name)
        finally:
            ledger.moving = False
        if name in scratch.MATRIX_PRODUCTS:
            self._multiply(name)
        self._hold(name, after)
        for number in reversed(held):
            ledger.left(number)
        ledger.forward_op()

    def _hold(self, name: str, sizes: Sequence[int]) -> None:
        for number in reversed([self.ledger.entered(size, name) for size in sizes]):
            self.ledger.left(number)

    def _convolve(self, name: str, parts: list[convolutions.Borrowed]) -> None:
        """One result after the other, each with a workspace of its own; what has to be copied is copied once."""
        ledger = self.ledger
        copies = [ledger.entered(size, name) for size in {part.copy for part in parts} if size]
        for part in parts:
            if not part.copy:  # a bias is summed up at the end
                while copies:
                    ledger.left(copies.pop())
            ledger.born(part.result, name)
            ledger.borrowed(part.workspace, name, needed=False)
        while copies:
            ledger.left(copies.pop())

    def _multiply(self, name: str) -> None:
        """Each thread that multiplies has a workspace: this one, and the one of the backward pass."""
        thread = torch._C._current_autograd_node() is not None
        if (thread, False) not in self._multiplied:
            self._multiplied.add((thread, False))
            self.ledger.entered(self.gpu.cublas_workspace, "cuBLAS")
        if scratch.with_bias(name) and (thread, True) not in self._multiplied:
            self._multiplied.add((thread, True))
            self.ledger.entered(scratch.BIAS_WORKSPACE, "cuBLAS")


def _parts(tensor: Tensor) -> list[Tensor]:
    """The tensors that hold the bytes: of a sparse one, its indices and values."""
    if tensor.layout is torch.sparse_coo:
        tensor._premortem_on_card = True  # type: ignore[attr-defined]
        return [tensor._indices(), tensor._values()]
    return [tensor] if tensor.layout is torch.strided else []
