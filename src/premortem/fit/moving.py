"""To the card and back: tensors that go there lose their contents, parameters stay the objects they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses import fake_tensor
from torch._subclasses.fake_tensor import FakeTensor
from torch.nn.parameter import is_lazy

from premortem.fit.fakes import CARD, HOST, Fakes
from premortem.points import Subscriptions


def nothing(*_: Any, **__: Any) -> None:
    return None


def cover_tensors(points: Subscriptions, fakes: Fakes) -> None:
    to, tensor, as_tensor, new_tensor = Tensor.to, torch.tensor, torch.as_tensor, Tensor.new_tensor
    device = FakeTensor.device.fget  # type: ignore[attr-defined]

    def where(self: Any) -> torch.device:
        if not fakes.inside and fakes.on_card(self):
            return CARD
        return device(self)  # type: ignore[no-any-return]

    def moved(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if fakes.inside:
            return to(self, *args, **kwargs)
        wish = _Wish.of(fakes, args, kwargs)
        dtype = wish.dtype or self.dtype
        if wish.card is not None and wish.card is not fakes.on_card(self):
            if not wish.card:
                return _down(fakes, self, dtype)
            return to(self, CARD, dtype, **wish.more)
        return to(self, dtype, copy=wish.copy, **wish.more)

    def made(maker: Callable[..., Tensor]) -> Callable[..., Tensor]:
        def make(*args: Any, device: Any = None, **kwargs: Any) -> Tensor:
            place = _indexed(device)
            if place is None or torch.device(place).type != "cuda":
                return maker(*args, **kwargs) if device is None else maker(*args, device=device, **kwargs)
            grad = kwargs.pop("requires_grad", False)
            return moved(maker(*args, device=HOST, **kwargs), CARD).requires_grad_(grad)

        return make

    points.replace(FakeTensor, "device", property(where))
    points.replace(FakeTensor, "is_cuda", property(fakes.on_card))
    points.replace(FakeTensor, "is_cpu", property(lambda self: not fakes.on_card(self)))
    points.replace(FakeTensor, "get_device", lambda self: 0 if fakes.on_card(self) else -1)
    points.replace(FakeTensor, "tolist", lambda self: fakes.values.content(self, fakes.place()).tolist())
    points.replace(FakeTensor, "numpy", lambda self, **_: fakes.values.content(self, fakes.place()).numpy())
    points.replace(
        FakeTensor, "__array__", lambda self, *_, **__: fakes.values.content(self, fakes.place()).numpy()
    )
    points.replace(FakeTensor, "__deepcopy__", _copied)
    points.replace(FakeTensor, "__format__", _formatted)
    points.replace(FakeTensor, "__reduce_ex__", lambda self, _: (torch.zeros, (tuple(self.shape),)))
    points.replace(Tensor, "to", moved)
    points.replace(Tensor, "cuda", lambda self, *_, **__: moved(self, CARD))
    points.replace(Tensor, "cpu", lambda self, *_, **__: moved(self, HOST))
    points.replace(Tensor, "pin_memory", lambda self, *_, **__: self)
    points.replace(Tensor, "is_pinned", lambda self, *_, **__: False)
    points.replace(Tensor, "record_stream", nothing)
    points.replace(torch, "tensor", made(tensor))
    points.replace(torch, "as_tensor", made(as_tensor))
    points.replace(Tensor, "new_tensor", made(new_tensor))
    points.replace(torch, "Generator", _generator(torch.Generator))
    points.replace(fake_tensor, "init_gpu_context", nothing)


def _copied(tensor: Any, memo: dict[int, Any]) -> Any:
    """torch's own way copies the storage behind the fake's back."""
    if id(tensor) not in memo:
        with torch.no_grad():
            new = tensor.detach().clone().requires_grad_(tensor.requires_grad)
        if getattr(tensor, "_is_param", False):
            new._is_param = True
        if tensor.grad is not None:
            new.grad = _copied(tensor.grad, memo)
        memo[id(tensor)] = new
    return memo[id(tensor)]


def _formatted(tensor: Tensor, how: str) -> str:
    return format(tensor.item(), how) if tensor.dim() == 0 else repr(tensor)


def _indexed(device: Any) -> Any:
    """`cuda` is `cuda:0`: which one is current, torch would ask the driver."""
    if isinstance(device, int) or (isinstance(device, str) and device.startswith("cuda")):
        return CARD
    if isinstance(device, torch.device) and device.type == "cuda":
        return CARD
    return device


@dataclass
class _Wish:
    """What `Tensor.to` is asked for, in whichever way."""

    card: bool | None = None  # to the card, to the host, or not elsewhere
    dtype: torch.dtype | None = None
    copy: bool = False
    more: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, fakes: Fakes, args: Any, kwargs: dict[str, Any]) -> _Wish:
        rest = list(args)
        wish = cls(dtype=kwargs.get("dtype"), copy=bool(kwargs.get("copy")))
        device = kwargs.get("device")
        if rest and isinstance(rest[0], Tensor):
            wish.card, wish.dtype = fakes.on_card(rest[0]), rest.pop(0).dtype
        elif rest and isinstance(rest[0], torch.dtype):
            wish.dtype = rest.pop(0)
        elif rest:
            device = rest.pop(0)
            if rest and (rest[0] is None or isinstance(rest[0], torch.dtype)):
                wish.dtype = rest.pop(0) or wish.dtype
        if device is not None:
            wish.card = torch.device(_indexed(device)).type == "cuda"
        if len(rest) > 1:
            wish.copy = bool(rest[1])
        if kwargs.get("memory_format") is not None:
            wish.more["memory_format"] = kwargs["memory_format"]
        return wish


def _down(fakes: Fakes, tensor: Tensor, dtype: torch.dtype) -> Tensor:
    """To the host: a fake there, or the value itself where it is known."""
    known = fakes.values.known(tensor)
    if known is not None and not tensor.requires_grad:
        return known.to(dtype) if known.dtype is not dtype else known.clone()
    fakes.going_down = True
    try:
        return torch.ops.aten._to_copy(tensor, dtype=dtype, device=HOST)  # type: ignore[no-any-return]
    finally:
        fakes.going_down = False


def _generator(original: Any) -> Any:
    class Generator(original):  # type: ignore[misc]
        def __new__(cls, device: Any = None) -> Any:
            return original.__new__(cls, HOST)

    return Generator


# --- modules ---------------------------------------------------------------------------------


def cover_modules(points: Subscriptions, fakes: Fakes) -> None:
    new = nn.Parameter.__new__

    def parameter(cls: Any, data: Any = None, requires_grad: bool = True) -> Any:
        if isinstance(data, Tensor) and not isinstance(data, FakeTensor) and data.device.type == "cpu":
            # Weights have no contents: a model of any size is built in no memory.
            data = fakes.faked(data.detach())
        return new(cls, data, requires_grad)

    def applied(self: nn.Module, fn: Any, recurse: bool = True) -> nn.Module:
        if recurse:
            for child in self.children():
                child._apply(fn)
        weights: dict[str, Any] = self._parameters
        for name, weight in weights.items():
            if weight is not None and is_lazy(weight):
                fakes.lazy = True  # it has no size before the first call
            elif weight is not None:
                weights[name] = _applied(fakes, weight, fn)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    points.replace(nn.Parameter, "__new__", staticmethod(parameter))
    points.replace(nn.Module, "_apply", applied)
    points.replace(nn.RNNBase, "flatten_parameters", lambda self: _in_one_piece(fakes, self._flat_weights))


def _in_one_piece(fakes: Fakes, weights: list[Any]) -> None:
    """The weights of a recurrent layer, as cuDNN wants them. torch does so for these types only."""
    kinds = {torch.float32, torch.float16, torch.float64}
    if not all(fakes.on_card(weight) and weight.dtype in kinds for weight in weights):
        return
    with torch.no_grad():
        whole = weights[0].new_empty(sum(weight.numel() for weight in weights))
        for weight in weights:
            weight.data = whole[: weight.numel()].view(weight.shape)
            whole = whole[weight.numel() :]


def settle(fakes: Fakes, module: nn.Module) -> None:
    """Parameters that got their size in the first call of their module are on the card from now on."""
    fakes.lazy = False
    for part in module.modules():
        weights: dict[str, Any] = part._parameters
        for name, weight in weights.items():
            if weight is not None and not isinstance(weight, FakeTensor):
                weights[name] = new = nn.Parameter(fakes.faked(weight.detach()), weight.requires_grad)
                fakes.move(new)


def _applied(fakes: Fakes, weight: Any, fn: Any) -> Any:
    """As `Module._apply`, but the parameter stays the same object, as it does on a real card."""
    with torch.no_grad():
        new = fn(weight)
        gradient = fn(weight.grad) if weight.grad is not None else None
    if new is weight:
        return weight
    if fakes.on_card(new) and not fakes.on_card(weight) and new.dtype is weight.dtype:
        fakes.ledger.replaced(new, weight)
    else:
        weight.data = new
    if gradient is not None:
        weight.grad = gradient
    return weight
