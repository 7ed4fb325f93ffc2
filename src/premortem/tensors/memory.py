"""Which memory a tensor has."""

import torch

from premortem.tensors.sharding import local


def storage(tensor: torch.Tensor) -> int:
    """The same for all views of the same memory; of a tensor in pieces, that of this rank's; of a sparse one, that of its values."""
    held = local(tensor)
    if held.layout != torch.strided:
        if held.is_mkldnn:
            return id(held)
        held = held._values() if held.layout == torch.sparse_coo else held.values()  # noqa: SLF001 - `values()` wants it coalesced
    memory: int = held.untyped_storage()._cdata  # noqa: SLF001 - torch has no public name for it
    return memory
