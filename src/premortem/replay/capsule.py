"""A capsule: a folder with all that is needed to run one bad step again.

    capsule.json         strict JSON: how the run was started, versions, structure, checksums of the other two
    state.safetensors    before the step: parameters and buffers of the models, state of the optimizers
    step.safetensors     of the step: batches or inputs, random states, the exact bits of its loss

safetensors holds numbers and nothing else, so a capsule from a stranger can be read: it cannot run code here.
The folder is written under another name and renamed when it is complete, so there is never half a capsule.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from premortem import private
from premortem.errors import MissingExtra, PremortemError
from premortem.plain import dumps
from premortem.vault.atomic import draft_beside, publish_folder, sha256_of, sweep

if TYPE_CHECKING:
    import torch

FORMAT = 1
MANIFEST = "capsule.json"
FILES = ("state.safetensors", "step.safetensors")
_MOST_MANIFEST = 64 << 20  # bytes; a larger one is not ours


class CapsuleError(PremortemError):
    """A capsule is missing, damaged, or of another version."""


class NotReplayable(PremortemError):  # noqa: N818 - reads as what it says
    """The capsule is whole, but its step cannot be run again."""


@dataclass
class Capsule:
    """What a capsule holds. `manifest` is plain JSON; the tensors are on the CPU."""

    manifest: dict[str, Any]
    state: dict[str, torch.Tensor] = field(default_factory=dict)
    step: dict[str, torch.Tensor] = field(default_factory=dict)

    def save(self, folder: Path) -> None:
        """Whole, or not at all. Raises OSError."""
        save_file = _safetensors().save_file
        private.make_folder(folder.parent)
        sweep(folder.parent)
        draft = draft_beside(folder)
        draft.mkdir(private.FOLDER)
        try:
            sums = {}
            for name, tensors in zip(FILES, (self.state, self.step), strict=True):
                save_file(tensors, draft / name)
                private.close_off(draft / name)  # the library asks for no rights
                sums[name] = sha256_of(draft / name)
            manifest = {"capsule": FORMAT, "files": sums, **self.manifest}
            private.write_text(draft / MANIFEST, dumps(manifest, indent=1) + "\n")
            publish_folder(draft, folder)
        finally:
            shutil.rmtree(draft, ignore_errors=True)

    @classmethod
    def load(cls, folder: Path) -> Capsule:
        """Raises CapsuleError, whose text says what is wrong with it."""
        load_file = _safetensors().load_file
        manifest = verified(folder)
        parts = []
        for name in FILES:
            try:
                parts.append(load_file(folder / name))
            except Exception as error:
                raise CapsuleError(f"`{name}` of the capsule {folder} is damaged ({error})") from error
        return cls(manifest, *parts)


def verified(folder: Path) -> dict[str, Any]:
    """The manifest of a capsule that is whole. Needs no torch. Raises CapsuleError."""
    manifest = read_manifest(folder)
    for name in FILES:
        try:
            same = sha256_of(folder / name) == manifest["files"].get(name)
        except OSError as error:
            raise CapsuleError(
                f"`{name}` of the capsule {folder} cannot be read ({error.strerror})"
            ) from error
        if not same:
            raise CapsuleError(
                f"`{name}` of the capsule {folder} is not the file that was written; it is damaged"
            )
    return manifest


def read_manifest(folder: Path) -> dict[str, Any]:
    """The JSON of a capsule, checked so far that the rest can rely on its shape."""
    path = folder / MANIFEST
    if not folder.is_dir() or not path.is_file():
        what = "is no capsule" if folder.exists() else "does not exist"
        raise CapsuleError(f"`{folder}` {what}; a capsule is a folder with a {MANIFEST} in it")
    try:
        if path.stat().st_size > _MOST_MANIFEST:
            raise CapsuleError(f"{path} is far too large to be the description of a capsule")
        manifest = json.loads(path.read_text(encoding="utf-8"), parse_constant=_not_strict)
    except (ValueError, RecursionError) as error:
        raise CapsuleError(f"{path} is damaged; it is not valid JSON ({error})") from None
    except OSError as error:
        raise CapsuleError(f"{path} cannot be read ({error.strerror})") from error
    if not isinstance(manifest, dict) or manifest.get("capsule") != FORMAT:
        version = manifest.get("capsule") if isinstance(manifest, dict) else None
        raise CapsuleError(f"{path} is a capsule of format {version!r}; this premortem reads format {FORMAT}")
    for key, kind in _SHAPE.items():
        if not isinstance(manifest.get(key), kind):
            raise CapsuleError(f"{path} is damaged; `{key}` is missing or not what it should be")
    started = manifest["started"]
    argv = started.get("argv")
    if not isinstance(argv, list) or not argv or not all(isinstance(word, str) for word in argv):
        raise CapsuleError(f"{path} does not say how its script was started")
    return manifest


_SHAPE: dict[str, type] = {
    "files": dict,
    "number": int,
    "reason": str,
    "started": dict,
    "versions": dict,
    "models": list,
    "optimizers": list,
    "draws": list,
    "calls": list,
    "targets": int,
    "losses": list,
    "notes": list,
}


def _not_strict(word: str) -> None:
    raise ValueError(f"{word} is no JSON")


def _safetensors() -> Any:
    try:
        from safetensors import torch as safetensors
    except ImportError:
        raise MissingExtra("A capsule", "torch") from None
    return safetensors
