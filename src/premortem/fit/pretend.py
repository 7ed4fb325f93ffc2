"""The script believes that it has a GPU: what it asks torch about one is answered as the named card would."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils import _foreach_utils

from premortem.fit import lbfgs
from premortem.fit.fakes import CARD, Fakes
from premortem.fit.moving import cover_modules, cover_tensors, nothing
from premortem.fit.saving import cover_saving
from premortem.points import Subscriptions

if TYPE_CHECKING:
    from typing_extensions import Self


_EAGER = "what torch.compile was asked to compile is predicted as if it ran eagerly"


@contextlib.contextmanager
def pretending(fakes: Fakes) -> Iterator[Subscriptions]:
    points = Subscriptions()
    try:
        _answers(points, fakes)
        cover_tensors(points, fakes)
        cover_modules(points, fakes)
        _autocast(points)
        _surroundings(points, fakes)
        yield points
    finally:
        points.end()


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
        return nothing


def _answers(points: Subscriptions, fakes: Fakes) -> None:
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
        points.replace(cuda, name, _always(answer))
    silent = """_lazy_init init synchronize empty_cache set_device manual_seed manual_seed_all seed_all ipc_collect
        reset_peak_memory_stats reset_max_memory_allocated reset_max_memory_cached reset_accumulated_memory_stats
        set_per_process_memory_fraction set_rng_state set_rng_state_all set_stream""".split()
    for name in silent:
        points.replace(cuda, name, nothing)
    points.replace(cuda, "get_rng_state", lambda *_, **__: torch.get_rng_state())
    for name in ("Stream", "Event", "ExternalStream", "stream", "device", "device_of"):
        points.replace(cuda, name, _Quiet)
    for name in ("current_stream", "default_stream"):
        points.replace(cuda, name, lambda *_, **__: _Quiet())
    points.replace(torch.backends.cudnn, "is_available", _always(True))
    accelerator = getattr(torch, "accelerator", None)
    if accelerator is not None:
        for name, answer in {
            "is_available": True,
            "device_count": 1,
            "current_device_index": 0,
            "current_accelerator": torch.device("cuda"),
        }.items():
            if hasattr(accelerator, name):
                points.replace(accelerator, name, _always(answer))
        if hasattr(accelerator, "current_stream"):
            points.replace(accelerator, "current_stream", lambda *_, **__: _Quiet())
        for name in ("synchronize", "empty_cache", "set_device_index", "set_device_idx"):
            if hasattr(accelerator, name):
                points.replace(accelerator, name, nothing)


def _always(answer: Any) -> Callable[..., Any]:
    return lambda *_, **__: answer


# --- autocast --------------------------------------------------------------------------------


def _autocast(points: Subscriptions) -> None:
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

    points.replace(torch, "set_autocast_enabled", set_enabled)
    points.replace(torch, "set_autocast_dtype", set_dtype)


# --- around the model ------------------------------------------------------------------------


def _surroundings(points: Subscriptions, fakes: Fakes) -> None:
    from torch.optim import optimizer
    from torch.utils.data import DataLoader

    init = DataLoader.__init__

    def loader(self: Any, *args: Any, **kwargs: Any) -> None:
        # Workers are other processes, in which nothing of this holds.
        kwargs.update(num_workers=0, pin_memory=False, persistent_workers=False)
        kwargs.pop("prefetch_factor", None)
        kwargs.pop("multiprocessing_context", None)
        kwargs.pop("timeout", None)
        init(self, *args[:5], **kwargs)

    points.replace(DataLoader, "__init__", loader)
    cover_saving(points)
    points.replace(torch.distributions.Distribution, "_validate_args", False)

    def uncompiled(model: Any = None, *_: Any, **__: Any) -> Any:
        fakes.values.assumed[_EAGER] += 1
        return model if model is not None else lambda function: function

    points.replace(torch, "compile", uncompiled)
    points.replace(torch.nn.Module, "compile", uncompiled)
    points.replace(torch.optim.LBFGS, "step", lbfgs.step)
    # torch picks its multi-tensor kernels by the type and device of the parameters.
    points.replace(optimizer, "_foreach_supported_types", [*optimizer._foreach_supported_types, FakeTensor])
    devices = _foreach_utils._get_foreach_kernels_supported_devices
    points.replace(_foreach_utils, "_get_foreach_kernels_supported_devices", lambda: [*devices(), "cpu"])
