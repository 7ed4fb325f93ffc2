"""How far what a script generates is from what is real, where one model is given both: the measure that a GAN has."""

from collections import deque
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from premortem.changes.batches import leaves
from premortem.changes.reach import Reach
from premortem.why.measuring import Apart

_MADE = 8  # outputs of models that are known again when another one is given them
_ROWS, _NUMBERS = 128, 1024  # samples, and numbers of each, that are compared
_LEAST = 8  # samples: a distance between fewer is chance


class Generated:
    def __init__(self, apart: Apart) -> None:
        self.distances: list[float] = []
        self._apart = apart
        self._made: deque[torch.Tensor] = deque(
            maxlen=_MADE
        )  # kept, so that no other tensor gets their place
        self._real: dict[int, torch.Tensor] = {}

    def install(self, reach: Reach) -> None:
        reach.on_root_call(self._called)

    def _called(self, root: nn.Module, run: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        given = next((each for each in leaves((args, kwargs)) if _is_batch(each)), None)
        if given is not None and torch.is_grad_enabled():
            with self._apart():
                self._given(id(root), given.detach())
        made = run(*args, **kwargs)
        self._made.extend(each.detach() for each in leaves(made)[:1] if _is_batch(each))
        return made

    def _given(self, root: int, given: torch.Tensor) -> None:
        place = given.untyped_storage().data_ptr()
        if not any(each.untyped_storage().data_ptr() == place for each in self._made):
            self._real[root] = given
        elif (real := self._real.get(root)) is not None and real.shape[1:] == given.shape[1:]:
            self.distances.append(distance(_few(real), _few(given)))


def _is_batch(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() and tensor.dim() > 1 and len(tensor) >= _LEAST


def _few(tensor: torch.Tensor) -> torch.Tensor:
    flat = tensor[:_ROWS].flatten(1).float()
    return flat[:, :: max(1, flat.shape[1] // _NUMBERS)]


def distance(left: torch.Tensor, right: torch.Tensor) -> float:
    """The energy distance of two sets of samples: 0 where they are alike, 1 where each is one point and the points differ."""
    between = float(torch.cdist(left, right).mean())
    within = [float(torch.cdist(each, each).sum()) / (len(each) * (len(each) - 1)) for each in (left, right)]
    return max(0.0, (2 * between - sum(within)) / (2 * between)) if between > 0 else 0.0
