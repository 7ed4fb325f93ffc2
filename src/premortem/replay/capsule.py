"""A capsule: a folder with all that is needed to run one bad step again.

    capsule.json         strict JSON: how the run was started, versions, structure, checksums of the other two
    state.safetensors    before the step: parameters and buffers of the models, state of the optimizers
    step.safetensors     of the step: batches or inputs, random states, the exact bits of its loss
    signature            of capsule.json, by the key of the user who wrote it (trust.py)

safetensors holds numbers and nothing else, so a capsule from a stranger can be read: it cannot run code here. But
capsule.json names a command, and a replay starts it: only with a signature of one's own, or when asked to. Its checksums
make the signature one of all the files. Whoever checks a capsule hands on the digest of its capsule.json, and whoever reads
it next takes no other: it cannot be exchanged in between.
The folder is written under another name and renamed when it is complete, so there is never half a capsule.
"""

from __future__ import annotations

import errno
import hashlib
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from premortem.errors import MissingExtra, PremortemError
from premortem.files import private, trust
from premortem.files.plain import dumps
from premortem.files.untrusted import loads, not_strict
from premortem.vault.atomic import draft_beside, publish_folder, sweep

if TYPE_CHECKING:
    import torch

FORMAT = 1
MANIFEST = "capsule.json"
FILES = ("state.safetensors", "step.safetensors")
SIGNATURE = "signature"
PURPOSE = "capsule"  # of that signature
_MOST_MANIFEST = 64 << 20  # bytes; a larger one is not ours
_MOST_SIGNATURE = 200
_BLOCK = 1 << 20
_SPARE = 16 << 20  # bytes of a disk that are the script's alone


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
        from premortem.replay import tensor_file

        private.make_folder(folder.parent)
        sweep(folder.parent)
        needed = sum(each.nbytes for tensors in (self.state, self.step) for each in tensors.values())
        if shutil.disk_usage(folder.parent).free < needed + _SPARE:
            raise OSError(errno.ENOSPC, "the room that is left on the disk is the script's")
        draft = draft_beside(folder)
        draft.mkdir(private.FOLDER)
        try:
            sums = {}
            for name, tensors in zip(FILES, (self.state, self.step), strict=True):
                sums[name] = tensor_file.write(tensors, draft / name)
            manifest = {"capsule": FORMAT, "files": sums, **self.manifest}
            text = f"{dumps(manifest, indent=1)}\n".encode()
            private.write_bytes(draft / MANIFEST, text)
            if signature := trust.sign(PURPOSE, text):
                private.write_text(draft / SIGNATURE, f"{signature}\n")
            publish_folder(draft, folder)
        finally:
            shutil.rmtree(draft, ignore_errors=True)

    @classmethod
    def load(cls, folder: Path, digest: str = "") -> Capsule:
        """With `digest`, only the capsule that was checked. Raises CapsuleError, whose text says what is wrong with it."""
        load = _safetensors().load
        paper = read(folder, digest)
        parts = []
        for name in FILES:
            # Read once: what is compared with the checksum is what is used.
            data = _content(folder, name)
            if trust.digest(data) != paper.manifest["files"].get(name):
                raise _damaged(folder, name)
            try:
                parts.append(load(data))
            except Exception as error:
                raise CapsuleError(f"`{name}` of the capsule {folder} is damaged ({error})") from error
        return cls(paper.manifest, *parts)


@dataclass(frozen=True)
class Paper:
    """The description of a capsule, as it was when it was read."""

    folder: Path
    manifest: dict[str, Any]
    digest: str  # of the bytes that it was read from
    doubt: str  # why this user may not have written it; "" when they did


def verified(paper: Paper) -> Paper:
    """The files of a capsule are those that its description names. Needs no torch. Raises CapsuleError."""
    for name in FILES:
        sums = hashlib.sha256()
        with _opened(paper.folder, name) as file:
            while block := file.read(_BLOCK):
                sums.update(block)
        if sums.hexdigest() != paper.manifest["files"].get(name):
            raise _damaged(paper.folder, name)
    return paper


def read(folder: Path, digest: str = "") -> Paper:
    """The description of a capsule, checked so far that the rest can rely on its shape; with `digest`, no other one."""
    path = folder / MANIFEST
    if not folder.is_dir() or not path.is_file():
        what = "is not a capsule" if folder.exists() else "does not exist"
        raise CapsuleError(f"`{folder}` {what}; a capsule is a folder with a {MANIFEST} in it")
    text = _content(folder, MANIFEST, _MOST_MANIFEST)
    if digest and trust.digest(text) != digest:
        raise CapsuleError(f"{path} was exchanged while it was read")
    signature = ""
    if (folder / SIGNATURE).is_file():
        signature = _content(folder, SIGNATURE, _MOST_SIGNATURE).decode("ascii", "replace").strip()
    return Paper(folder, _manifest(path, text), trust.digest(text), trust.doubt(PURPOSE, text, signature))


def _manifest(path: Path, text: bytes) -> dict[str, Any]:
    try:
        manifest = loads(text, parse_constant=not_strict)
    except ValueError as error:
        raise CapsuleError(f"{path} is damaged; it is not valid JSON ({error})") from None
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


def _opened(folder: Path, name: str) -> BinaryIO:
    try:
        return trust.opened(folder / name)
    except OSError as error:
        raise CapsuleError(f"`{name}` of the capsule {folder} cannot be read ({error.strerror})") from error


def _content(folder: Path, name: str, most: int = -1) -> bytes:
    with _opened(folder, name) as file:
        data = file.read(most + 1 if most >= 0 else -1)
    if 0 <= most < len(data):
        raise CapsuleError(f"{folder / name} is far too large to be a part of a capsule")
    return data


def _damaged(folder: Path, name: str) -> CapsuleError:
    return CapsuleError(f"`{name}` of the capsule {folder} is not the file that was written; it is damaged")


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


def _safetensors() -> Any:
    try:
        from safetensors import torch as safetensors
    except ImportError:
        raise MissingExtra("A capsule", "torch") from None
    return safetensors
