"""Pictures as a model is given them, beside the same memory read in the other usual layout.

    images.reshape(n, 3, h, w)      <- of (n, h, w, 3): the numbers stay where they are, and neighbours are neighbours no more

Neighbours in a picture are alike. Where they are more alike once the memory is read as (height, width, channels), whoever
made the tensor drew borders anew where axes should have been moved: in torch, in numpy, or in the file.

A texture that comes again every three or four pixels (tiles of a map, the mosaic of a camera) is alike at that distance as well. But
where one of its rows ends and the next begins, it is cut; pictures with their channels last go on there, as it is no end of theirs.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch.nn.modules.conv import _ConvNd

from premortem.events import LayoutRead
from premortem.probes.model_registry import Model
from premortem.probes.modules import Models
from premortem.probes.session import Session

_LOOKS = 4  # at each model
_CHANNELS = (3, 4)
_SIDE = 8  # of a picture
_ROWS = 32  # samples of a batch
_FEWEST = 2048  # differences: means of so many are within a few percent, whatever the order of the numbers


class PictureLayout:
    def __init__(self, session: Session, models: Models) -> None:
        self.session = session
        self.models = models
        self._looks: dict[int, int] = {}

    def install(self) -> None:
        self.models.on_call.append(self.called)

    def called(self, model: Model, grad: bool, inputs: list[torch.Tensor]) -> None:
        if not grad or self._looks.get(model.key, 0) >= _LOOKS:
            return
        module = model.module()
        if module is None or not any(isinstance(part, _ConvNd) for part in module.modules()):
            self._looks[model.key] = _LOOKS  # without filters, neighbours are nothing to it
            return
        for pictures in inputs[:1]:
            found = torn(pictures) if pictures.is_cpu and not pictures.requires_grad else None
            if found is not None:
                self._looks[model.key] = self._looks.get(model.key, 0) + 1
                self.session.emit(
                    LayoutRead(
                        step=self.session.step,
                        model=model.key,
                        name=model.name,
                        shape=tuple(pictures.shape),
                        across=found.across,
                        down=found.down,
                        seams=found.seams,
                    )
                )


class Torn(NamedTuple):
    """The memory, read with the channels last: how far numbers are apart, in units of others."""

    across: float  # neighbours in a row, in units of numbers that are nearer in memory: below 1 if it lies so
    down: float  # neighbours in a column, in units of those of now
    seams: float  # neighbours between which a row ends now, in units of those right beside them: 1 if that is no end


def torn(pictures: torch.Tensor) -> Torn | None:
    """What says whether the memory has its channels last; None where it cannot be known."""
    if pictures.dim() != 4 or pictures.shape[1] not in _CHANNELS or min(pictures.shape[2:]) < _SIDE:
        return None
    some = pictures.detach()[:_ROWS].float()
    number, channels, height, width = some.shape
    if some.numel() < _FEWEST:
        return None
    other = some.reshape(number, height, width, channels)
    nearer = min(
        float((some[..., by:] - some[..., :-by]).abs().mean()) for by in range(1, channels)
    )  # a mosaic of two is alike at four as well
    now = float(some.diff(dim=2).abs().mean())
    beside, between = _seams(some)
    if not min(nearer, now, beside) > 0:
        return None
    return Torn(
        float(other.diff(dim=2).abs().mean()) / nearer,
        float(other.diff(dim=1).abs().mean()) / now,
        between / beside,
    )


def _seams(pictures: torch.Tensor) -> tuple[float, float]:
    """How far numbers are apart that are as many places from each other as there are channels: right beside the end of a row, and over it.
    Only of those ends that are none if the channels come last."""
    number, channels, height, width = pictures.shape
    flat = pictures.reshape(number, -1)
    apart = (flat[:, channels:] - flat[:, :-channels]).abs().mean(0)
    ends = torch.arange(1, channels * height) * width
    ends = ends[ends % (width * channels) != 0]
    places = ends[:, None] + torch.arange(-channels, 0)
    beside = torch.cat([places - channels, places + channels], 1)
    return float(apart[beside].mean()), float(apart[places].mean())
