"""What the journal's writer asks of a run by itself, now and then, without the run noticing.

All of it is read from the host's memory: nothing here waits for a device, and nothing imports torch.
"""

import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from premortem.files import variables
from premortem.files.machine import installed, operating_system
from premortem.vault.surroundings import code

# Libraries whose version can change what a training does.
_LIBRARIES = (
    "accelerate bitsandbytes datasets deepspeed diffusers flash_attn jax lightning monai numpy peft pytorch_lightning "
    "ray scipy sklearn timm tokenizers torch torchaudio torchdata torchvision transformers triton trl xformers"
).split()


def device_memory() -> dict[str, float]:
    """Bytes that tensors hold on the GPUs of this process, and that it has taken for them."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is None or not cuda.is_initialized():
        return {}
    numbers = {}
    for device in range(cuda.device_count()):
        counted = cuda.memory_stats_as_nested_dict(device)
        taken = counted.get("reserved_bytes", {}).get("all", {}).get("current", 0)
        if taken:
            held = counted["allocated_bytes"]["all"]["current"]
            numbers[f"GPU {device}: held by tensors"] = float(held)
            numbers[f"GPU {device}: taken from the device"] = float(taken)
    return numbers


def ledgers() -> list[dict[str, Any]]:
    """What each term of each guarded loss did."""
    part = sys.modules.get("premortem.parts.guarded_loss")
    return [] if part is None else part.accounts()


def environment() -> dict[str, Any]:
    """Versions and settings, as far as they can change what a training does."""
    return {
        "python": platform.python_version(),
        "platform": operating_system(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "host": platform.node(),
        "libraries": dict(sorted(_libraries().items())),
        "devices": _devices(),
        "settings": variables.recorded(os.environ),
    }


def _libraries() -> dict[str, str]:
    found: dict[str, str] = {}
    for name in _LIBRARIES:
        if name in sys.modules:
            version = getattr(sys.modules[name], "__version__", None)
            found |= {name: version} if isinstance(version, str) else installed([name])
    return found


def _devices() -> list[str]:
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    if torch is None or cuda is None or not cuda.is_initialized():
        return []
    return [f"{cuda.get_device_name(each)}, CUDA {torch.version.cuda}" for each in range(cuda.device_count())]


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.machine()
    names = (line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name"))
    return next(names, platform.machine())  # not platform.processor(), which starts a process to find out


class _Environment:
    """Looked at again only when something was imported that counts, or a GPU came into use."""

    def __init__(self) -> None:
        self._seen: tuple[Any, ...] = ()
        self._known: dict[str, Any] = {}

    def __call__(self) -> dict[str, Any]:
        cuda = getattr(sys.modules.get("torch"), "cuda", None)
        seen = (*(name in sys.modules for name in _LIBRARIES), cuda is not None and cuda.is_initialized())
        if seen != self._seen:
            self._seen, self._known = seen, environment()
        return self._known


class _Code:
    """Digests of the script and of the modules beside it, each as it was when it was first seen loaded."""

    def __init__(self) -> None:
        self._seen: dict[str, str] = {}

    def __call__(self) -> dict[str, str]:
        self._seen = {**code(), **self._seen}
        return self._seen


def accounts() -> dict[str, Callable[[], Any]]:
    """What only has a newest state: the journal keeps that."""
    return {"loss ledger": ledgers, "environment": _Environment(), "code": _Code()}
