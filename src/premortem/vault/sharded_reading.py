"""`torch.distributed.checkpoint`'s own loading, without what it would run.

A checkpoint may have come from elsewhere, and torch reads two things in it as programs: `.metadata` is a pickle, and values that
are not tensors are loaded with `weights_only=False`. Here a pickle may name what such a checkpoint is made of, and nothing else.
"""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any

from premortem.errors import Refused, VaultError
from premortem.files.trust import opened
from premortem.vault.formats.distributed import CLASSES, METADATA

_PATHS = {"Path", "PosixPath", "WindowsPath", "PurePath", "PurePosixPath", "PureWindowsPath"}
_NAMES = {
    *CLASSES,
    "collections.OrderedDict",
    "torch.Size",
    "torch.device",
    "torch.serialization._get_layout",
    *(f"{module}.{name}" for module in ("pathlib", "pathlib._local") for name in _PATHS),
}


def load(path: Path, state: dict[str, Any], *, alone: bool) -> None:
    """Read into the tensors of `state`. Raises VaultError before torch has read anything that would run."""
    from torch.distributed.checkpoint.api import CheckpointException
    from torch.distributed.checkpoint.default_planner import DefaultLoadPlanner
    from torch.distributed.checkpoint.filesystem import FileSystemReader
    from torch.distributed.checkpoint.metadata import StorageMeta
    from torch.distributed.checkpoint.state_dict_loader import load as read

    metadata = _metadata(path)

    class Reader(FileSystemReader):
        def read_metadata(self, *_args: Any, **_kwargs: Any) -> Any:
            if getattr(metadata, "storage_meta", None) is None:
                metadata.storage_meta = StorageMeta()
            metadata.storage_meta.load_id = self.load_id
            return metadata

    class Planner(DefaultLoadPlanner):
        def load_bytes(self, read_item: Any, value: io.BytesIO) -> None:
            super().load_bytes(read_item, _plain(value))

    # Else a rank that holds nothing of a small parameter (FSDP1) takes the checkpoint for one of an old torch.
    planner = Planner(flatten_sharded_tensors=False)
    try:
        read(state, checkpoint_id=path, storage_reader=Reader(path), planner=planner, no_dist=alone)
    except CheckpointException as error:  # torch gathers what went wrong on all ranks into a BaseException
        refused = next((each for each, _ in error.failures.values() if isinstance(each, Refused)), None)
        if refused is None:
            raise
        raise refused from error


def _metadata(path: Path) -> Any:
    try:
        with opened(path / METADATA) as file:
            return _Names(file).load()
    except Refused:
        raise
    except Exception as error:
        raise VaultError(f"`{METADATA}` of {path} cannot be read ({error})", record=METADATA) from error


def _plain(value: io.BytesIO) -> io.BytesIO:
    """The same bytes, when they hold nothing but plain values."""
    import torch

    data = value.read()
    try:
        torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise Refused("a value of the checkpoint is more than plain data; it was not loaded") from error
    return io.BytesIO(data)


class _Names(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        import torch

        whole = f"{module}.{name}"
        if whole in _NAMES or (module == "torch" and isinstance(getattr(torch, name, None), torch.dtype)):
            return super().find_class(module, name)
        raise Refused(
            f"`{METADATA}` names `{whole}`, which has no place in a checkpoint; do not load this one"
        )
