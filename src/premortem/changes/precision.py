"""The type that is computed in: float32 or float64, and no autocast."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from premortem.changes.base import Change, Learning, OneStep, RunDescription
from premortem.changes.batches import leaves, mapped
from premortem.changes.edits import with_keyword
from premortem.changes.late import nn, torch

_DRAWING = ("rand", "randn", "rand_like", "randn_like")
_FILLING = ("uniform_", "normal_", "bernoulli_", "exponential_")  # what layers begin with is drawn so
# Groups of ranks have made their buffers for the type that the weights have.
_KEPT = "Weights that several ranks hold together keep their type."


class Precision(Change):
    """Weights, inputs and targets in one type, autocast off."""

    kind: ClassVar[str]

    def put_on(self) -> None:
        self._dtype: torch.dtype = getattr(torch, self.kind)
        before = torch.get_default_dtype()
        self.reach.undoing(lambda: torch.set_default_dtype(before))
        torch.set_default_dtype(self._dtype)
        self.touched += before != self._dtype
        points = self.reach.points
        points.add(torch.amp.autocast_mode.autocast, "__enter__", self._without_autocast)
        for name in _DRAWING:
            points.add(self.reach.torch, name, _same_draw)
        for name in _FILLING:
            points.add(torch.Tensor, name, _same_filling)
        self.reach.on_root(self._widen)
        self.reach.on_root_call(self._called)
        self.reach.on_target(self._cast)

    def _widen(self, root: nn.Module) -> None:
        held = [*root.parameters(), *root.buffers()]
        other = [(t, t.dtype) for t in held if t.is_floating_point() and t.dtype != self._dtype]
        if not other:
            return

        def narrow() -> None:
            for tensor, dtype in other:
                tensor.data = tensor.data.to(dtype)
                tensor.grad = None  # of a type that it has no more

        self.touched += 1
        self.reach.undoing(narrow)
        root.to(self._dtype)

    def _called(self, root: nn.Module, run: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        given = [tensor for tensor in leaves((args, kwargs)) if tensor.is_floating_point()]
        if all(tensor.dtype == self._dtype for tensor in given):
            return run(*args, **kwargs)
        return run(*mapped(args, self._cast), **mapped(kwargs, self._cast))

    def _cast(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.to(self._dtype) if tensor.is_floating_point() else tensor

    def _without_autocast(self, original: Any) -> Any:
        def __enter__(context: Any) -> Any:  # noqa: N807
            # A context that was made once and is entered in every step is meant too.
            wanted, context._enabled = context._enabled, False  # noqa: SLF001 - it has no public switch
            self.touched += wanted
            try:
                return original(context)
            finally:
                context._enabled = wanted  # noqa: SLF001

        return __enter__


class Float32(Precision):
    """In float32, without autocast.

    The range of 16 bits is small: float16 ends at 65504, and both 16-bit types lose small differences.
    """

    name = "float32"
    edit = partial(with_keyword, names=("autocast",), keyword="enabled", text="False")
    kind = "float32"
    one_step = OneStep(
        title="float32, autocast off",
        size=3,
        gone="16 bits are the cause: in float32 the same step is finite.",
        stays="Not a matter of 16 bits: float32 fails too.",
    )
    learning = Learning(
        title="float32, no autocast", question="precision", family="numerics-overflow", order=3
    )
    opening = ("low_precision", "nothing is computed in 16 bits")

    @classmethod
    def prevented(cls, run: RunDescription) -> str:
        return _KEPT if run.ranks > 1 and run.low_weights else ""


class Float64(Precision):
    """In float64. What fails in double precision too is wrong as mathematics: no type will repair it."""

    name = "float64"
    kind = "float64"
    one_step = OneStep(
        title="float64",
        size=9,
        gone="Rounding or range of the type is the cause: in float64 the same step is finite.",
        stays="Not a matter of precision: it fails in float64 too.",
    )
    learning = Learning(
        title="float64",
        question="precision",
        family="numerics-masked",
        order=6,
        least=0.3,
        where_stuck=True,
        remedy="find what is lost in 32 bits: a difference of large numbers, a logarithm or a division near 0",
    )

    @classmethod
    def prevented(cls, run: RunDescription) -> str:
        return _KEPT if run.ranks > 1 else ""


def _same_draw(original: Any) -> Any:
    """A generator gives other numbers when it is asked for wider ones: draw as before, then widen."""

    def draw(*args: Any, **kwargs: Any) -> Any:
        like = args[0] if args and isinstance(args[0], torch.Tensor) else None
        wanted = kwargs.get("dtype") or (like.dtype if like is not None else torch.get_default_dtype())
        if wanted != torch.float64:
            return original(*args, **kwargs)
        return original(*args, **{**kwargs, "dtype": torch.float32}).double()

    return draw


def _same_filling(original: Any) -> Any:
    def fill(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        if tensor.dtype != torch.float64:
            return original(tensor, *args, **kwargs)
        return tensor.copy_(original(torch.empty_like(tensor, dtype=torch.float32), *args, **kwargs))

    return fill
