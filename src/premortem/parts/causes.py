"""Why a loss term is not finite, in words. Only called once it has failed."""

import math
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from premortem.tensors.nested import tensors

_OURS = (os.path.dirname(torch.__file__) + os.sep, os.path.dirname(__file__) + os.sep)  # noqa: PTH120 - compared with file names in frames


def of_value(term: Callable[[], Any], inputs: Sequence[Tensor], value: float) -> str:
    """The term is called once more, watched op by op, to find the one that made the first such value."""
    for position, tensor in enumerate(inputs):
        if tensor.is_floating_point() and not tensor.isfinite().all():
            return f"it was handed {_bad(tensor)} in tensor {position}: the fault lies before the loss"
    devices = sorted({t.device.index for t in inputs if t.is_cuda})
    with torch.no_grad(), torch.random.fork_rng(devices), _Ops(nan=math.isnan(value)) as ops:
        term()
    return ops.found or f"its value is {value}; no single operation was seen to make it from finite values"


def of_gradient(value: Tensor, inputs: Sequence[Tensor]) -> str:
    """The node of the term's graph that turned a finite gradient into one that is not."""
    found: list[str] = []
    handles = [node.register_hook(_watch(node, found)) for node in _nodes(value, inputs)]
    try:
        torch.autograd.grad(value, inputs, retain_graph=True, allow_unused=True)
    finally:
        for handle in handles:
            handle.remove()
    return f"its gradient is not finite: {found[0]}" if found else "its gradient is not finite"


class _Ops(TorchDispatchMode):
    def __init__(self, *, nan: bool) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._is_bad = torch.isnan if nan else (lambda tensor: ~torch.isfinite(tensor))
        self.found = ""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if not self.found:
            # A mask of -inf that the code asks for is not the fault; what comes of it may be.
            asked_for = any(isinstance(arg, float) and not math.isfinite(arg) for arg in args)
            given = [t for t in tensors(args) if t.is_floating_point()]
            if given and not asked_for and self._any(tensors(result)) and not self._any(given):
                ranges = " and ".join(f"values {_range(t)}" for t in given[:2])
                bad = next(t for t in tensors(result) if self._any([t]))
                self.found = f"{func.overloadpacket.__name__} of {ranges} gave {_bad(bad)}{_line()}"
        return result

    def _any(self, candidates: Iterable[Tensor]) -> bool:
        return any(t.is_floating_point() and bool(self._is_bad(t).any()) for t in candidates)


def _nodes(value: Tensor, inputs: Sequence[Tensor]) -> list[Any]:
    """The graph between the value and the inputs; what lies behind them is the model's."""
    ends = {t.grad_fn for t in inputs}
    pending, seen = [value.grad_fn], set()
    while pending:
        node = pending.pop()
        if node is not None and node not in ends and node not in seen:
            seen.add(node)
            pending += [after for after, _ in node.next_functions]
    return list(seen)


def _watch(node: Any, found: list[str]) -> Callable[[Any, Any], None]:
    def look(grad_inputs: Any, grad_outputs: Any) -> None:
        finite = all(g.isfinite().all() for g in grad_outputs if g is not None)
        if not found and finite and any(not g.isfinite().all() for g in grad_inputs if g is not None):
            saved = getattr(node, "_saved_self", getattr(node, "_saved_result", None))
            where = f", for values {_range(saved)}" if isinstance(saved, Tensor) and saved.numel() else ""
            found.append(f"{node.name()} makes it{where}")

    return look


def _bad(tensor: Tensor) -> str:
    nan, inf = int(tensor.isnan().sum()), int(tensor.isinf().sum())
    parts = [f"{count} {name}" for count, name in ((nan, "NaN"), (inf, "infinite")) if count]
    return f"{' and '.join(parts)} of {tensor.numel()} values"


def _range(tensor: Tensor) -> str:
    low, high = (end.item() for end in torch.aminmax(tensor.detach().float()))
    return f"from {low:.4g} to {high:.4g}" if low != high else f"of {low:.4g}"


def _line() -> str:
    """The innermost line that is neither torch's nor ours."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - a traceback of the callers, without building one
    while frame is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    return f", at {Path(frame.f_code.co_filename).name}:{frame.f_lineno}" if frame is not None else ""
