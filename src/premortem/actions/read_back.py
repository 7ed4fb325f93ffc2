"""Reading back what was just written: each returns what is wrong with it, "" when nothing is."""

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from premortem.errors import VaultError
from premortem.vault.formats.distributed import Distributed
from premortem.vault.zips import Archive

_ZIP = b"PK\x03\x04"  # how a zip begins; its directory, at the end, is written last


def of_torch(path: Path) -> str:
    """Every record against the checksum that torch computed from memory. The old format has none."""
    size = path.stat().st_size
    if not size:
        return "the file is empty"
    with path.open("rb") as file:
        if not zipfile.is_zipfile(file):
            file.seek(0)
            torn = file.read(len(_ZIP)) == _ZIP
            return "it begins like a checkpoint and its end is missing" if torn else ""
        try:
            damaged = next(iter(Archive(file, size).damaged(lambda _count: None)), None)
        except VaultError as error:
            return str(error)
    return f"the record `{damaged[0]}`: {damaged[1]}" if damaged is not None else ""


def of_safetensors(tensors: Mapping[str, Any], path: Path) -> str:
    """The file has no checksums: its bytes against the memory they came from, one tensor at a time."""
    from safetensors import safe_open

    with safe_open(path, framework="pt") as file:
        names = set(file.keys())
        for name, tensor in tensors.items():
            if name not in names:
                return f"the tensor `{name}` is missing"
            if not _same_bits(file.get_tensor(name), tensor.detach()):
                return f"the tensor `{name}` is another one"
    return ""


def of_folder(path: Path) -> str:
    """A checkpoint of torch.distributed: its list of contents, the files it names, and the checksums in them.

    What is laid out in another way than torch's own cannot be judged, and is not."""
    metadata = path / ".metadata"
    if not metadata.is_file() or not metadata.stat().st_size:
        return "`.metadata`, which says what is in it, is missing"
    try:
        with Distributed(path) as contents:
            found = next(contents.altered(), None)
    except VaultError as error:
        return str(error) if error.record.endswith(".distcp") else ""  # missing, or cut off
    return f"`{found[0]}`: {found[1]}" if found is not None else ""


def _same_bits(read: torch.Tensor, written: torch.Tensor) -> bool:
    if read.shape != written.shape or read.dtype != written.dtype:
        return False
    if not read.numel():
        return True
    flat = written.contiguous().to("cpu").reshape(-1)
    return torch.equal(read.contiguous().reshape(-1).view(torch.uint8), flat.view(torch.uint8))
