"""What a checkpoint depends on besides its tensors: versions, code, configuration, random states, companions."""

import dataclasses
import hashlib
import os
import platform
import random
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from premortem.files.machine import installed
from premortem.files.plain import exact, plain

_MOST_FILES = 500
_LIBRARIES = ("torch", "numpy", "safetensors", "premortem")


@cache
def _installed() -> dict[str, str]:
    found = {"python": platform.python_version(), **installed(_LIBRARIES)}
    torch = sys.modules.get("torch")
    if torch is not None and torch.version.cuda:
        found["cuda"] = str(torch.version.cuda)
    return found


def versions() -> dict[str, str]:
    return dict(_installed())


def code() -> dict[str, str]:
    """The script and the modules beside it that are loaded now: name → digest."""
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    if main is None:  # a notebook, or `python -c`
        return {}
    root = os.path.dirname(os.path.abspath(main)) + os.sep  # noqa: PTH100, PTH120 - thousands of modules, during a save
    found: dict[str, str] = {}
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if not isinstance(file, str) or not file.endswith(".py") or len(found) >= _MOST_FILES:
            continue
        path = file if file[0] == os.sep else os.path.abspath(file)  # noqa: PTH100 - likewise
        if path.startswith(root) and "-packages" + os.sep not in path:
            with suppress(OSError):
                name = path.removeprefix(root).replace(os.sep, "/")
                found[name] = _digest_of(path, Path(path).stat().st_mtime_ns)
    return found


@cache
def _digest_of(path: str, changed: int) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]


def flat_config(config: Any) -> dict[str, Any]:
    """A mapping, a dataclass, or a namespace (argparse) as dotted names and plain values."""
    found: dict[str, Any] = {}
    _flatten(config, "", found, 0)
    return found


def digest(config: Mapping[str, Any]) -> str:
    return hashlib.sha256(exact(dict(sorted(config.items()))).encode()).hexdigest()[:16] if config else ""


def _flatten(value: Any, path: str, found: dict[str, Any], depth: int) -> None:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
    elif not isinstance(value, Mapping) and (depth == 0 or type(value).__name__.endswith("Namespace")):
        value = getattr(value, "__dict__", value)
    if isinstance(value, Mapping) and depth < 20:
        for key, item in value.items():
            _flatten(item, f"{path}.{key}" if path else str(key), found, depth + 1)
    elif path:
        found[path] = plain(value)


def random_states() -> dict[str, Any]:
    """Every generator of the process that training usually draws from."""
    import torch

    states: dict[str, Any] = {"python": random.getstate(), "torch": torch.get_rng_state()}
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        states["numpy"] = numpy.random.get_state()
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        states["cuda"] = torch.cuda.get_rng_state_all()
    return states


def restore_random_states(states: Mapping[str, Any]) -> list[str]:
    """Returns sentences about what could not be restored."""
    import torch

    trouble = []
    version, numbers, gauss = states["python"]
    random.setstate((version, tuple(numbers), gauss))
    torch.set_rng_state(states["torch"].cpu())
    if "numpy" in states:
        import numpy as np

        np.random.set_state(states["numpy"])  # noqa: NPY002 - it is the global one that scripts draw from
    if "cuda" in states:
        saved = states["cuda"]
        if not torch.cuda.is_available():
            trouble.append("The random state of the GPU was saved, and there is no GPU here.")
        elif len(saved) != torch.cuda.device_count():
            trouble.append(
                f"Random states of {len(saved)} GPUs were saved, and there are {torch.cuda.device_count()} here."
            )
            torch.cuda.set_rng_state(saved[0].cpu(), 0)
        else:
            torch.cuda.set_rng_state_all([each.cpu() for each in saved])
    elif torch.cuda.is_available() and torch.cuda.is_initialized():
        trouble.append("No random state of a GPU was saved, so its draws are not continued.")
    return trouble


def weights_digest(weights: Any) -> str:
    """A model, or a state_dict, known by its names, shapes and bits."""
    import torch

    from premortem.vault.snapshot import Camera
    from premortem.vault.store import fingerprint
    from premortem.vault.wrapping import unwrapped

    state = weights if isinstance(weights, Mapping) else unwrapped(weights).state_dict()
    tensors = {str(key): each for key, each in state.items() if isinstance(each, torch.Tensor)}
    snapshot = Camera().take({"": tensors})
    snapshot.ready()
    part = snapshot.parts[""]
    data = part.view()
    summary = {
        name: [slot.dtype, slot.shape, fingerprint(data[slot.begin : slot.end])]
        for name, slot in part.names.items()
    }
    return hashlib.sha256(exact(dict(sorted(summary.items()))).encode()).hexdigest()[:32]
