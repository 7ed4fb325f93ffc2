"""The same batch through the evaluated model twice: is it the same?"""

from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as tree

from premortem.rehearsal.observations import Twice

_NOISY = (
    nn.Dropout,
    nn.Dropout1d,
    nn.Dropout2d,
    nn.Dropout3d,
    nn.AlphaDropout,
    nn.BatchNorm1d,
    nn.BatchNorm2d,
    nn.BatchNorm3d,
)


class Evaluated:
    """A forward pass of an evaluation, kept with the mode that every layer had in it."""

    def __init__(self, root: nn.Module, args: Any, kwargs: Any) -> None:
        self.root = root
        self.args = args
        self.kwargs = kwargs
        self.modes = [(module, module.training) for module in root.modules()]

    def again(self) -> Twice:
        result = Twice(tried=True)
        for module, mode in self.modes:
            module.training = mode
        result.noisy = [
            name or "the model"
            for name, module in self.root.named_modules()
            if module.training and isinstance(module, _NOISY)
        ][:8]
        try:
            with torch.no_grad():
                torch.manual_seed(1)
                first = outputs(self.root(*self.args, **self.kwargs))
                torch.manual_seed(2)
                second = outputs(self.root(*self.args, **self.kwargs))
        except Exception as error:  # noqa: BLE001 - a model that cannot be called again by others
            return Twice(why_not=f"the model could not be called again ({type(error).__name__})")
        result.same = all(torch.equal(a, b) for a, b in zip(first, second, strict=False))
        if not result.same:
            apart = [
                (a.double() - b.double()).abs().max()
                for a, b in zip(first, second, strict=False)
                if a.numel()
            ]
            result.difference = float(max(apart, default=torch.tensor(0.0)))
        return result


def outputs(thing: Any) -> list[torch.Tensor]:
    leaves = [leaf for leaf in tree.tree_leaves(thing) if isinstance(leaf, torch.Tensor)]
    return [leaf.detach().clone() for leaf in leaves if not leaf.is_complex()]
