"""A folder with one file for each part, as Transformers, Accelerate and Diffusers write it.

checkpoint-500/model.safetensors     →  model.…
               optimizer.pt          →  optimizer.…
               scheduler.pt          →  scheduler.…
"""

from pathlib import Path

from premortem.vault.contents import Contents, open_contents
from premortem.vault.formats.composed import Composed, close_all, opened
from premortem.vault.formats.sharded import Sharded

_MODELS = ("model", "pytorch_model", "adapter_model", "diffusion_pytorch_model")
_PARTS = ("optimizer", "scheduler", "scaler", "ema", "rng_state")
_SUFFIXES = (".safetensors", ".bin", ".pt", ".pth")


class Bundle(Composed):
    format = "folder of parts"

    @staticmethod
    def recognises(path: Path) -> bool:
        return path.is_dir() and (Sharded.recognises(path) or _file(path, _MODELS) is not None)

    @staticmethod
    def open(path: Path) -> Contents:
        parts: dict[str, Contents] = {}
        try:
            if Sharded.recognises(path):
                parts["model"] = Sharded.open(path)
            for name in (_MODELS, *((part,) for part in _PARTS)):
                file = _file(path, name)
                key = "model" if name == _MODELS else name[0]
                if file is not None and key not in parts:
                    parts[key] = opened(file, open_contents)
        except BaseException:
            close_all(parts)
            raise
        # A model alone is what it is, without a prefix in front of every name.
        if len(parts) == 1:
            return parts["model"]
        return Bundle(path, {name: part.tree for name, part in parts.items()}, parts)


def _file(folder: Path, names: tuple[str, ...]) -> Path | None:
    candidates = (folder / f"{name}{suffix}" for name in names for suffix in _SUFFIXES)
    return next((path for path in candidates if path.is_file()), None)
