"""The script believes that it has a GPU: what it asks torch about one is answered as the named card would."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch._subclasses import fake_tensor
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils import _foreach_utils

from premortem.fit import lbfgs
from premortem.fit.fakes import CARD, HOST, Fakes

if TYPE_CHECKING:
    from typing_extensions import Self

_NOTHING = object()


class Patches:
    """Attributes that are replaced, and put back in the end."""

    def __init__(self) -> None:
        self._before: list[tuple[Any, str, Any]] = []

    def put(self, owner: Any, name: str, value: Any) -> None:
        self._before.append((owner, name, vars(owner).get(name, _NOTHING)))
        setattr(owner, name, value)

    def undo(self) -> None:
        while self._before:
            owner, name, value = self._before.pop()
            if value is _NOTHING:
                delattr(owner, name)
            else:
                setattr(owner, name, value)


@contextlib.contextmanager
def pretending(fakes: Fakes) -> Iterator[Patches]:
    patches = Patches()
    try:
        _answers(patches, fakes)
        _tensors(patches, fakes)
        _modules(patches, fakes)
        _autocast(patches)
        _surroundings(patches)
        yield patches
    finally:
        patches.undo()


# --- torch.cuda ------------------------------------------------------------------------------


class _Quiet:
    """A stream, an event: it can be called anything and does nothing."""

    device = CARD
    cuda_stream = 0

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def query(self) -> bool:
        return True

    def elapsed_time(self, _end: object) -> float:
        return 1.0

    def __getattr__(self, _name: str) -> Callable[..., None]:
        return _nothing


def _nothing(*_: Any, **__: Any) -> None:
    return None


def _answers(patches: Patches, fakes: Fakes) -> None:
    gpu, cuda = fakes.gpu, torch.cuda
    properties = types.SimpleNamespace(
        name=gpu.title,
        major=gpu.capability[0],
        minor=gpu.capability[1],
        total_memory=gpu.memory,
        multi_processor_count=gpu.processors,
        max_threads_per_multi_processor=gpu.threads,
        warp_size=32,
        is_integrated=0,
        L2_cache_size=50 << 20,
        gcnArchName="",
    )
    answers: dict[str, Any] = {
        "is_available": True,
        "is_initialized": True,
        "device_count": 1,
        "current_device": 0,
        "get_device_name": gpu.title,
        "get_device_capability": gpu.capability,
        "get_device_properties": properties,
        "get_arch_list": ["sm_{}{}".format(*gpu.capability)],
        "mem_get_info": (gpu.memory - gpu.context, gpu.memory),
        "memory_allocated": 0,
        "max_memory_allocated": 0,
        "memory_reserved": 0,
        "max_memory_reserved": 0,
        "memory_stats": {},
        "memory_summary": "",
        "utilization": 0,
        "is_bf16_supported": gpu.capability[0] >= 8,
        "get_rng_state_all": [],
        "initial_seed": 0,
        "seed": 0,
        "is_current_stream_capturing": False,
    }
    for name, answer in answers.items():
        patches.put(cuda, name, _always(answer))
    silent = """_lazy_init init synchronize empty_cache set_device manual_seed manual_seed_all seed_all ipc_collect
        reset_peak_memory_stats reset_max_memory_allocated reset_max_memory_cached reset_accumulated_memory_stats
        set_per_process_memory_fraction set_rng_state set_rng_state_all set_stream""".split()
    for name in silent:
        patches.put(cuda, name, _nothing)
    patches.put(cuda, "get_rng_state", lambda *_, **__: torch.get_rng_state())
    for name in ("Stream", "Event", "ExternalStream", "stream", "device", "device_of"):
        patches.put(cuda, name, _Quiet)
    for name in ("current_stream", "default_stream"):
        patches.put(cuda, name, lambda *_, **__: _Quiet())
    patches.put(torch.backends.cudnn, "is_available", _always(True))
    accelerator = getattr(torch, "accelerator", None)
    if accelerator is not None:
        for name, answer in {
            "is_available": True,
            "device_count": 1,
            "current_device_index": 0,
            "current_accelerator": torch.device("cuda"),
        }.items():
            if hasattr(accelerator, name):
                patches.put(accelerator, name, _always(answer))
        if hasattr(accelerator, "current_stream"):
            patches.put(accelerator, "current_stream", lambda *_, **__: _Quiet())
        for name in ("synchronize", "empty_cache", "set_device_index", "set_device_idx"):
            if hasattr(accelerator, name):
                patches.put(accelerator, name, _nothing)


def _always(answer: Any) -> Callable[..., Any]:
    return lambda *_, **__: answer


# --- tensors ---------------------------------------------------------------------------------


def _tensors(patches: Patches, fakes: Fakes) -> None:
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

    patches.put(FakeTensor, "device", property(where))
    patches.put(FakeTensor, "is_cuda", property(fakes.on_card))
    patches.put(FakeTensor, "is_cpu", property(lambda self: not fakes.on_card(self)))
    patches.put(FakeTensor, "get_device", lambda self: 0 if fakes.on_card(self) else -1)
    patches.put(FakeTensor, "tolist", lambda self: fakes.values.content(self, fakes.place()).tolist())
    patches.put(FakeTensor, "numpy", lambda self, **_: fakes.values.content(self, fakes.place()).numpy())
    patches.put(
        FakeTensor, "__array__", lambda self, *_, **__: fakes.values.content(self, fakes.place()).numpy()
    )
    patches.put(FakeTensor, "__deepcopy__", _copied)
    patches.put(Tensor, "to", moved)
    patches.put(Tensor, "cuda", lambda self, *_, **__: moved(self, CARD))
    patches.put(Tensor, "cpu", lambda self, *_, **__: moved(self, HOST))
    patches.put(Tensor, "pin_memory", lambda self, *_, **__: self)
    patches.put(Tensor, "is_pinned", lambda self, *_, **__: False)
    patches.put(Tensor, "record_stream", _nothing)
    patches.put(torch, "tensor", made(tensor))
    patches.put(torch, "as_tensor", made(as_tensor))
    patches.put(Tensor, "new_tensor", made(new_tensor))
    patches.put(torch, "Generator", _generator(torch.Generator))
    patches.put(fake_tensor, "init_gpu_context", _nothing)


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


def _modules(patches: Patches, fakes: Fakes) -> None:
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
        for name, weight in self._parameters.items():
            if weight is not None:
                self._parameters[name] = _applied(fakes, weight, fn)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    patches.put(nn.Parameter, "__new__", staticmethod(parameter))
    patches.put(nn.Module, "_apply", applied)
    patches.put(nn.RNNBase, "flatten_parameters", _nothing)  # the same bytes, in one piece
    patches.put(nn.Module, "compile", _nothing)


def _applied(fakes: Fakes, weight: Any, fn: Any) -> Any:
    """As `Module._apply`, but the parameter stays the same object, as it does on a real card."""
    with torch.no_grad():
        new = fn(weight)
        gradient = fn(weight.grad) if weight.grad is not None else None
    if new is weight:
        return weight
    if fakes.on_card(new) and not fakes.on_card(weight) and new.dtype is weight.dtype:
        del new
        fakes.move(weight)
    else:
        weight.data = new
    if gradient is not None:
        weight.grad = gradient
    return weight


# --- autocast --------------------------------------------------------------------------------


def _autocast(patches: Patches) -> None:
    """What is set for CUDA holds for the tensors that stand for it."""
    enabled, dtype = torch.set_autocast_enabled, torch.set_autocast_dtype

    def set_enabled(*args: Any) -> None:
        enabled(*args)
        if len(args) == 1 or args[0] == "cuda":
            enabled("cpu", args[-1])

    def set_dtype(device: str, kind: torch.dtype) -> None:
        dtype(device, kind)
        if device == "cuda":
            dtype("cpu", kind)

    patches.put(torch, "set_autocast_enabled", set_enabled)
    patches.put(torch, "set_autocast_dtype", set_dtype)


# --- around the model ------------------------------------------------------------------------


def _surroundings(patches: Patches) -> None:
    from torch.optim import optimizer
    from torch.utils.data import DataLoader

    init, load = DataLoader.__init__, torch.load

    def loader(self: Any, *args: Any, **kwargs: Any) -> None:
        # Workers are other processes, in which nothing of this holds.
        kwargs.update(num_workers=0, pin_memory=False, persistent_workers=False)
        kwargs.pop("prefetch_factor", None)
        kwargs.pop("multiprocessing_context", None)
        kwargs.pop("timeout", None)
        init(self, *args[:5], **kwargs)

    def loaded(f: Any, map_location: Any = None, **kwargs: Any) -> Any:
        return load(f, map_location="cpu", **kwargs)

    patches.put(DataLoader, "__init__", loader)
    patches.put(torch, "load", loaded)
    patches.put(torch, "compile", _uncompiled)
    patches.put(torch.optim.LBFGS, "step", lbfgs.step)
    # torch picks its multi-tensor kernels by the type and device of the parameters.
    patches.put(optimizer, "_foreach_supported_types", [*optimizer._foreach_supported_types, FakeTensor])
    devices = _foreach_utils._get_foreach_kernels_supported_devices
    patches.put(_foreach_utils, "_get_foreach_kernels_supported_devices", lambda: [*devices(), "cpu"])


def _uncompiled(model: Any = None, *_: Any, **__: Any) -> Any:
    return model if model is not None else lambda function: function
