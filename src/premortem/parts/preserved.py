"""A model that is borrowed, and given back as it was."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from premortem.tensors import generators


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """In eval mode and without gradients inside; afterwards each module is in the mode that it was in."""
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        model.train(modes[model])  # a model may do more than set a flag, such as unmerging weights
        for module, training in modes.items():
            module.training = training


@contextmanager
def preserved(model: nn.Module) -> Iterator[None]:
    """Modes, buffers, attributes that a forward pass sets, and random generators are put back."""
    modules = list(model.modules())
    attributes = [dict(module.__dict__) for module in modules]
    buffers = [dict(module._buffers) for module in modules]  # noqa: SLF001 - those of this module alone, with their names
    contents = [
        {name: buffer.clone() for name, buffer in held.items() if buffer is not None} for held in buffers
    ]
    with generators.kept():
        try:
            yield
        finally:
            for module, before, held, values in zip(modules, attributes, buffers, contents, strict=True):
                module.__dict__.clear()
                module.__dict__.update(before)
                module._buffers.clear()  # noqa: SLF001 - likewise
                module._buffers.update(held)  # noqa: SLF001 - likewise
                with torch.no_grad():
                    for name, value in values.items():
                        if (buffer := held[name]) is not None:
                            buffer.copy_(value)
