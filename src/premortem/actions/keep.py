"""keep: the last good weights, written whole or not at all, before a run is ended."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch

NAME = "last_good.pt"


def keep(folder: Path, step: int, models: dict[str, Any], optimizers: list[Any]) -> Path:
    """Save the state of models and optimizers; `torch.load` reads it with `weights_only=True`."""
    state = {
        "step": step,
        "models": {name: model.state_dict() for name, model in models.items()},
        "optimizers": [optimizer.state_dict() for optimizer in optimizers],
    }
    path, draft = folder / NAME, folder / f".{NAME}.{os.getpid()}"
    try:
        with draft.open("wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return path
