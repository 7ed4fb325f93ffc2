"""keep: the state of the training, written whole or not at all: before a run is ended, or when its time is short."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from premortem.errors import VaultError
from premortem.tensors.nested import tensors
from premortem.vault.atomic import write_whole
from premortem.vault.health import examine

NAME = "last_good.pt"


def whose_turn() -> bool:
    """Of several processes that train together, one saves."""
    group = torch.distributed
    return not (group.is_available() and group.is_initialized()) or group.get_rank() == 0


def is_sharded(models: Mapping[str, torch.nn.Module]) -> bool:
    """No process has all the weights: putting them together needs the others, which may be dead by now."""
    return any(
        "FullyShardedDataParallel" in type(module).__name__
        or any(hasattr(parameter, "device_mesh") for parameter in module.parameters(recurse=False))
        for model in models.values()
        for module in model.modules()
    )


def keep(folder: Path, step: int, state: Mapping[str, Any]) -> Path:
    """Save the state; `torch.load` reads it with `weights_only=True`. Raises VaultError.

    Weights that are not finite are not saved: what was kept before is better."""
    needed = sum(tensor.numel() * tensor.element_size() for tensor in tensors(state))
    if shutil.disk_usage(folder).free < 1.5 * needed:
        raise VaultError(f"it needs {needed / 1e9:.1f} GB, and there is too little room on the disk")
    for name, model in state["models"].items():
        broken = examine({key: value for key, value in model.items() if isinstance(value, torch.Tensor)})
        if not broken.ok:
            raise VaultError(f"`{name}.{broken.non_finite[0]}` is not finite, so it was not saved")
    path = folder / NAME
    write_whole(path, lambda file: torch.save({"step": step, **state}, file), ours=True)
    return path
