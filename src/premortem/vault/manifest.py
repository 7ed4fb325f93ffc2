"""The manifest: what a checkpoint is, in one JSON file that is written last.

    {
     "vault": 1,
     "step": 1200,
     "files": {"model.safetensors": {"sha256": "…", "bytes": 4096, "header": "…"}},
     "tensors": {"model.fc.weight": {"shape": [10, 4], "dtype": "float32", "fingerprint": "xxh3:…", …}},
     …
     "seal": "sha256 of everything above"
    }

A checkpoint of `premortem.Vault` is a folder:

    step-000001200/
      model.safetensors        the keys are the model's own
      optimizer.safetensors    `state.0.exp_avg`; also scheduler, scaler, ema, loader, rng where they hold tensors
      state.json               everything that is not a tensor (tree.py)
      manifest.json
      .metadata, __0_0.distcp  of sharded pieces: what each rank wrote (joint.py)

A tensor is called by its file's piece and its key: `model.fc.weight`. What rank 3 has of its own is a piece as well,
`rank-3.rng` (parts.py). A checkpoint without a valid manifest does not exist. The manifest is canonical: it is read only if
it is, byte for byte, what this module writes for the same content, so no bit of it can change unseen. The same class, with most of it
left empty, is the record of a file that a script saved by itself.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from premortem.errors import VaultError
from premortem.files import trust, untrusted
from premortem.files.plain import plain
from premortem.vault.atomic import Written, write_whole

FORMAT = 1
NAME = "manifest.json"
_PURPOSE = "source"  # of a signature
_ENTRIES = ("files", "tensors")
_MOST = 256 << 20  # bytes; a larger one is not ours


@dataclass(frozen=True)
class FileRecord:
    """One file of a checkpoint. `header` is the sha256 of a safetensors file's header, for loading in one pass."""

    sha256: str
    bytes: int
    header: str = ""


@dataclass(frozen=True)
class TensorEntry:
    """One tensor. Tied weights are two entries with the same `file` and `key`."""

    shape: list[int]
    dtype: str  # as torch prints it, without `torch.`
    file: str = ""
    key: str = ""  # its name inside the file
    fingerprint: str = ""  # `xxh3:` and 32 hex digits, of its bytes
    raw: bool = False  # safetensors has no name for the dtype; the file holds its bytes


@dataclass(frozen=True)
class HealthRecord:
    """The result of checking the numbers."""

    ok: bool = True
    non_finite: list[str] = field(default_factory=list)
    all_zero: list[str] = field(default_factory=list)

    @property
    def problem(self) -> str:
        """For people; "" when it is well."""
        if self.ok:
            return ""
        if self.non_finite or not self.all_zero:
            return f"not finite: {', '.join(self.non_finite[:3])}"
        return f"nothing but zeros in {', '.join(self.all_zero[:3])}"


@dataclass
class Manifest:
    """What is known of one checkpoint, or (reduced) of one kept file."""

    step: int | None = None
    time: float = 0.0  # seconds since the epoch
    kind: str = "checkpoint"  # or "kept": a file that a script saved itself
    source: str = ""  # of a kept file: the path it was saved to
    signature: str = ""  # of that path, by the key of the user who saved it there (trust.py)
    files: dict[str, FileRecord] = field(default_factory=dict)
    tensors: dict[str, TensorEntry] = field(default_factory=dict)
    pieces: dict[str, str] = field(default_factory=dict)  # what was saved → the class it was saved from
    optimizers: dict[str, list[list[str]]] = field(default_factory=dict)  # names, group by group
    config: dict[str, Any] = field(default_factory=dict)  # flat: "optimizer.lr" → value
    config_digest: str = ""
    code: dict[str, str] = field(default_factory=dict)  # file → digest
    versions: dict[str, str] = field(default_factory=dict)
    companions: dict[str, str] = field(default_factory=dict)  # name → digest of its weights
    data: dict[str, Any] = field(default_factory=dict)  # where in the data it stood, for people
    metrics: dict[str, float] = field(default_factory=dict)
    health: HealthRecord = field(default_factory=HealthRecord)
    left_out: list[str] = field(default_factory=list)  # sentences: what could not be stored
    sharded: list[str] = field(default_factory=list)  # pieces that were written rank by rank
    ranks: int = 0  # that have each added what is their own; 0 when the first one wrote it all

    def render(self) -> bytes:
        """The bytes of the file. The same content gives the same bytes."""
        body: dict[str, Any] = {"vault": FORMAT}
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name in _ENTRIES:  # ours, and there may be thousands: a save should not be felt
                body[each.name] = {name: vars(entry) for name, entry in value.items()}
            else:
                body[each.name] = plain(vars(value) if isinstance(value, HealthRecord) else value)
        return _sealed(body)

    def write(self, path: Path, *, durable: bool = True, ours: bool = False) -> Written:
        """Whole or not at all; not `durable`: but not safe from a power cut. Raises VaultError."""
        content = self.render()
        return write_whole(path, lambda file: file.write(content), durable=durable, ours=ours)

    @property
    def doubt(self) -> str:
        """Why this user may not have saved anything at `source`; "" when they did."""
        return trust.doubt(_PURPOSE, os.fsencode(self.source), self.signature)

    @property
    def size(self) -> int:
        """Bytes on the disk."""
        return sum(record.bytes for record in self.files.values())

    @classmethod
    def read(cls, path: Path) -> Manifest:
        """Raises VaultError, whose text says what is wrong with it."""
        try:
            raw = untrusted.read(path, _MOST)
        except FileNotFoundError:
            raise VaultError(f"{path} does not exist; without a manifest there is no checkpoint") from None
        except OSError as error:
            raise VaultError(f"{path} cannot be read ({error.strerror})") from error
        return cls.parse(raw, str(path))

    @classmethod
    def parse(cls, raw: bytes, where: str) -> Manifest:
        """The manifest in these bytes. `where` is how a message calls them."""
        try:
            body = untrusted.loads(raw, parse_constant=untrusted.not_strict)
        except ValueError as error:
            raise VaultError(f"{where} is damaged; it is not valid JSON ({error})") from None
        if not isinstance(body, dict) or "vault" not in body:
            raise VaultError(f"{where} is not a manifest of a vault")
        if body["vault"] != FORMAT:
            raise VaultError(
                f"{where} is a manifest of format {body['vault']!r}; this premortem reads format {FORMAT}"
            )
        body.pop("seal", None)
        if raw != _sealed(body):
            raise VaultError(f"{where} is not the manifest that was written; it is damaged or was changed")
        del body["vault"]
        try:
            return cls(**_parts(body))
        except (TypeError, ValueError, AttributeError) as error:
            raise VaultError(f"{where} is damaged; a field is not what it should be ({error})") from None


def saved_at(source: Path) -> dict[str, Any]:
    """Fields of a manifest. `ckpt restore` writes to the path that a manifest names only where its user has signed that."""
    named = str(source)
    return {"source": named, "signature": trust.sign(_PURPOSE, os.fsencode(named))}


def _parts(body: Mapping[str, Any]) -> dict[str, Any]:
    known = {each.name for each in fields(Manifest)}
    parts = {name: value for name, value in body.items() if name in known}
    parts["files"] = {name: FileRecord(**each) for name, each in parts.get("files", {}).items()}
    parts["tensors"] = {name: TensorEntry(**each) for name, each in parts.get("tensors", {}).items()}
    parts["health"] = HealthRecord(**parts.get("health", {}))
    parts["metrics"] = {name: float(each) for name, each in parts.get("metrics", {}).items()}
    for name in parts["files"]:
        # A manifest comes from wherever the checkpoint came from: it must not point out of its folder.
        if name.startswith("/") or any(part in {"..", ".", ""} for part in name.split("/")):
            raise TypeError(f"`{name}` is not a file of this folder")
    return parts


def _sealed(body: Mapping[str, Any]) -> bytes:
    """The one way to write it: a line for each key, file and tensor, and the seal at its end."""
    lines = []
    for key, value in body.items():
        if key in _ENTRIES and value:
            entries = ",\n".join(f"  {json.dumps(name)}: {_compact(each)}" for name, each in value.items())
            lines.append(f" {json.dumps(key)}: {{\n{entries}\n }}")
        else:
            lines.append(f" {json.dumps(key)}: {_compact(value)}")
    content = ",\n".join(lines)
    seal = hashlib.sha256(content.encode()).hexdigest()
    return f'{{\n{content},\n "seal": "{seal}"\n}}\n'.encode()


def _compact(value: Any) -> str:
    return json.dumps(value, allow_nan=False)
