"""What is in force, and not merely configured: asked of the operations themselves, in one step of the script's own."""

import sys
import time
from typing import Any

import torch
from torch.amp.autocast_mode import autocast
from torch.amp.grad_scaler import GradScaler
from torch.utils._python_dispatch import TorchDispatchMode

from premortem.points import OVER, Subscriptions
from premortem.probes.session import user_site
from premortem.rehearsal.observations import Force

_PRODUCTS = frozenset({"mm", "addmm", "bmm", "baddbmm", "linear", "matmul", "convolution", "_convolution"})
_LOW = (torch.float16, torch.bfloat16)


class Looks:
    """Notes what the script asks for. `look` is a mode for one forward pass."""

    def __init__(self) -> None:
        self.force = Force()

    def install(self) -> None:
        points = Subscriptions()
        points.add(autocast, "__enter__", self._wrap_enter, order=OVER)
        points.add(GradScaler, "__init__", self._wrap_scaler, order=OVER)
        points.add(GradScaler, "scale", self._wrap_scale, order=OVER)
        points.add(torch, "compile", self._wrap_compile, order=OVER)
        points.add(torch.nn.Module, "compile", self._wrap_compile, order=OVER)

    def _wrap_enter(self, original: Any) -> Any:
        def __enter__(region: Any) -> Any:  # noqa: N807
            if (
                getattr(region, "_enabled", False)
                and torch.is_grad_enabled()
                and not torch.compiler.is_compiling()
            ):
                named = f"{region.device} {str(region.fast_dtype).removeprefix('torch.')}"
                if named not in self.force.autocast:
                    self.force.autocast.append(named)
                    self.force.autocast_at = place()
            return original(region)

        return __enter__

    def _wrap_scaler(self, original: Any) -> Any:
        def __init__(scaler: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            original(scaler, *args, **kwargs)
            if scaler.is_enabled():
                self.force.scaler, self.force.scaler_at = True, place()

        return __init__

    def _wrap_scale(self, original: Any) -> Any:
        def scale(scaler: Any, *args: Any, **kwargs: Any) -> Any:
            self.force.scaled += bool(scaler.is_enabled())
            return original(scaler, *args, **kwargs)

        return scale

    def _wrap_compile(self, original: Any) -> Any:
        def compile(*args: Any, **kwargs: Any) -> Any:  # noqa: A001
            if not kwargs.get("disable"):
                self.force.compiled, self.force.compiled_at = True, place()
            return original(*args, **kwargs)

        return compile

    def mode(self) -> TorchDispatchMode | None:
        """None under torch.compile, which a mode would switch off."""
        return None if self.force.compiled else _Look(self.force)

    def finish(self, loader: Any) -> Force:
        if self.force.compiled:
            self._ask_the_compiler()
        if loader is not None:
            self._ask_the_cache(loader)
        return self.force

    def _ask_the_compiler(self) -> None:
        force, dynamo = self.force, sys.modules.get("torch._dynamo")
        if dynamo is None:
            return
        counters = sys.modules["torch._dynamo.utils"].counters
        force.graphs = int(counters["stats"].get("unique_graphs", 0))
        force.frames = int(counters["frames"].get("total", 0))
        force.frames_ok = int(counters["frames"].get("ok", 0))
        force.breaks = [str(reason).splitlines()[0][:160] for reason in counters["graph_break"]][:8]
        force.hidden_errors = bool(dynamo.config.suppress_errors)

    def _ask_the_cache(self, loader: Any) -> None:
        """A dataset that keeps samples in itself: one of its dictionaries grows when a sample is asked for."""
        dataset = loader.dataset
        kept = {
            name: value for name, value in getattr(dataset, "__dict__", {}).items() if type(value) is dict
        }
        if not kept or not hasattr(dataset, "__getitem__") or not hasattr(dataset, "__len__"):
            return
        try:
            before = {name: set(value) for name, value in kept.items()}
            index = len(dataset) - 1
            first = _seconds(dataset, index)
            new = {name: set(value) - before[name] for name, value in kept.items()}
            grown = [name for name in kept if new[name]]
            second = _seconds(dataset, index)
        except Exception:  # noqa: BLE001 - a dataset that wants to be asked in another way
            return
        held = grown or [name for name, value in kept.items() if value and index in value]
        if held:
            self.force.cache = held[0]
            one = sum(_bytes(kept[held[0]][key]) for key in new[held[0]])
            self.force.cache_bytes = one * len(dataset)
            self.force.cache_lost = bool(grown) and loader.num_workers > 0 and not loader.persistent_workers
            self.force.cache_speedup = first / second if grown and second > 0 else None


def _seconds(dataset: Any, index: int) -> float:
    began = time.perf_counter()
    dataset[index]
    return time.perf_counter() - began


def _bytes(value: Any) -> int:
    """Of the tensors and arrays in it."""
    if isinstance(value, (tuple, list)):
        return sum(map(_bytes, value))
    if isinstance(value, dict):
        return sum(map(_bytes, value.values()))
    found = getattr(value, "nbytes", 0)
    return found if isinstance(found, int) else 0


class _Look(TorchDispatchMode):
    """Looks at each operation of one forward pass; changes nothing."""

    def __init__(self, force: Force) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.force = force
        force.looked = True

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        if name in _PRODUCTS or name.startswith("_scaled_dot_product"):
            made = result[0] if isinstance(result, tuple) else result
            if made.is_floating_point():
                self.force.low += made.dtype in _LOW
                self.force.full += made.dtype not in _LOW
        if name in {"convolution", "_convolution"} and telling(args[1]) and telling(args[0]):
            self.force.convolutions += 1
            self.force.last_weights += channels_last(args[1])
            self.force.last_inputs += channels_last(args[0])
        return result


def telling(tensor: torch.Tensor) -> bool:
    """Whether its strides can tell the formats apart: with one channel or one pixel they are the same."""
    return tensor.dim() in {4, 5} and tensor.shape[1] > 1 and tensor.shape[2:].numel() > 1


def channels_last(tensor: torch.Tensor) -> bool:
    form = torch.channels_last if tensor.dim() == 4 else torch.channels_last_3d
    return tensor.is_contiguous(memory_format=form)


def place() -> tuple[str, int] | None:
    site = user_site()
    return (site.file, site.line) if site is not None else None
