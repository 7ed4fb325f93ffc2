"""Where autograd treats fakes otherwise than tensors of a card.

It writes into a tensor that has no other owner, instead of making a new one.

Gradients that meet are added up in the first of them, the gradient of a lookup is written into fresh zeros. Of fakes torch makes
new tensors there, because subclasses may not be written to. Whether a tensor has other owners shows in how often it is
referred to; what is normal is measured once, on tensors that are known to have none.
"""

import functools
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

_aten = torch.ops.aten
_Counts = tuple[int, int]
_WRITE = {_aten.add.Tensor, _aten.index_put.default}  # into their first argument
_WATCHED = {*_WRITE, _aten.view.default}


def overwritten(func: Any, args: Sequence[Any], kwargs: Any) -> Tensor | None:
    """The tensor into which an operation of the backward pass writes on a card, if it does."""
    if func not in _WRITE or kwargs or torch._C._current_autograd_node() is None or torch.is_grad_enabled():
        return None
    if func is _aten.add.Tensor and not _alike(args[0], args[1]):
        return None
    owned = isinstance(args[0], FakeTensor) and _counted(args) == counts().get(func)
    return args[0] if owned and _aten.is_non_overlapping_and_dense(args[0]) else None


def copied(func: Any, args: Sequence[Any]) -> bool:
    """Of a view that was written to, the gradient is laid out anew, like what it is a view of. That of a fake is not."""
    node: Any = torch._C._current_autograd_node()
    if node is None or not func.is_view or torch.is_grad_enabled() or "CopySlices" in node.name():
        return False
    following = [after.name() for after, _ in node.next_functions if after is not None]
    return "CopySlices" in "".join(following) and _counted(args) == counts().get(_aten.view.default)


@functools.cache
def counts() -> dict[Any, _Counts]:
    """How often a tensor without other owners is referred to while the operation is dispatched."""
    watch = _Watch()
    if not hasattr(Tensor, "_use_count"):
        return {}
    with torch.enable_grad(), watch.fake:
        x = torch.zeros(2, 2, requires_grad=True)
        rows = torch.zeros(2, dtype=torch.int64)
    with torch.enable_grad(), watch:
        y = x.exp()
        (y.mm(y) + y[rows] + y.view(1, 2, 2).exp()).sum().backward()
    return watch.seen


def _alike(one: Any, other: Any) -> bool:
    fakes = isinstance(one, FakeTensor) and isinstance(other, FakeTensor)
    return fakes and one.shape == other.shape and one.dtype is other.dtype


def _counted(args: Sequence[Any]) -> _Counts:
    """The references to the first tensor, and those to its storage."""
    x = args[0]
    return x._use_count(), torch._C._storage_Use_Count(x.untyped_storage()._cdata)


class _Watch(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.fake = FakeTensorMode()
        self.seen: dict[Any, _Counts] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in _WATCHED and torch._C._current_autograd_node() is not None:
            self.seen[func] = _counted(args)
        with self.fake:
            return func(*args, **(kwargs or {}))
