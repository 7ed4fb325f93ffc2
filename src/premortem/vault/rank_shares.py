"""What the first rank cannot save for all: a state of which other ranks hold other parts, and do not say so.

The first rank writes the model and the optimizer of all ranks. That is right for copies (`DistributedDataParallel`), and what is in
pieces is written by all ranks together (sharded_saving.py). Anything else would be a checkpoint of one rank's share.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from premortem.errors import UsageError, VaultError
from premortem.tensors.parts import is_share, is_stage
from premortem.vault import training_objects
from premortem.vault.parts import OWN
from premortem.vault.wrapping import bare, unwrapped

_EACH = (
    "give it as `own={...}`, with its optimizer, to `Vault(folder, each_rank=True)`, or save with "
    "torch.distributed.checkpoint"
)


def check(given: Mapping[str, Any], *, each_rank: bool) -> None:
    """Raises UsageError, on every rank that is asked, before anything is written or waited for."""
    if training_objects.processes() == 1:
        return
    for name, piece in given.items():
        if is_share(piece):
            raise UsageError(
                f"`{name}` is a DeepSpeed optimizer, and each rank holds a share of its state; save with "
                "`engine.save_checkpoint`"
            )
        if name.partition(".")[0] == OWN:
            if not each_rank:
                raise UsageError(
                    "`own=` is what every rank has of its own, and this vault saves the first rank's only; make it with "
                    "`Vault(folder, each_rank=True)`"
                )
        elif training_objects.is_module(piece) and is_stage(piece):
            raise UsageError(
                f"`{name}` is one stage of a pipeline, and other ranks hold other layers; {_EACH}"
            )


def shapes(given: Mapping[str, Any]) -> dict[str, str]:
    """A digest of the names and shapes of each module that is the same on all ranks, or should be."""
    return {
        name: hashlib.sha256(
            repr([(bare(key), tuple(p.shape)) for key, p in unwrapped(piece).named_parameters()]).encode()
        ).hexdigest()
        for name, piece in given.items()
        if training_objects.is_module(piece) and name.partition(".")[0] != OWN
    }


def compare(every: Sequence[Mapping[str, str]]) -> None:
    """`every`: the shapes of all ranks. Raises VaultError when ranks mean different modules by one name."""
    for name, digest in every[0].items():
        others = [rank for rank, each in enumerate(every) if each.get(name, digest) != digest]
        if others:
            raise VaultError(
                f"`{name}` has other parameters on rank {', '.join(map(str, others[:4]))} than on rank 0, which saves it for all; "
                f"{_EACH}"
            )
