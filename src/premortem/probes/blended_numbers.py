"""Whole numbers that an interpolation has mixed, and that are cut to whole numbers again: class numbers of a mask."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.nn import functional

from premortem.events import Blended
from premortem.probes.session import Session, user_site

_MIXING = frozenset("linear bilinear bicubic trilinear area".split())
_VALUES = range(3, 65)  # different ones: two cannot give a third, and more are the shades of a picture
_MOST = 64  # calls that are looked at
_LARGEST = 1 << 20  # elements
_FEW = 16  # results that are remembered


class BlendedNumbers:
    def __init__(self, session: Session) -> None:
        self.session = session
        self._looked = 0
        self._made: list[tuple[StorageWeakRef, str, int]] = []  # results, how they were made, values before

    def install(self) -> None:
        self._parameters = inspect.signature(functional.interpolate)
        self.session.around(functional, "interpolate", after=self._resized, quiet=None)

    def _resized(self, _note: Any, result: Any, *args: Any, **options: Any) -> None:
        if self._looked >= _MOST or not isinstance(result, torch.Tensor) or result.requires_grad:
            return
        given = self._parameters.bind(*args, **options).arguments
        mode, before = given.get("mode", "nearest"), given["input"]
        if mode not in _MIXING or not before.is_cpu or before.numel() > _LARGEST:
            return
        self._looked += 1
        values = before.unique()
        if len(values) in _VALUES and bool(
            (values == values.round()).all() and (result != result.round()).any()
        ):
            kept = (StorageWeakRef(result.untyped_storage()), mode, len(values))
            self._made = [*self._made[1 - _FEW :], kept]

    def cast(self, tensor: Any) -> None:
        """It is about to become a tensor of whole numbers."""
        if not self._made or not isinstance(tensor, torch.Tensor) or tensor.layout != torch.strided:
            return
        with self.session.looking_at("blended numbers"):
            mine = StorageWeakRef(tensor.untyped_storage())
            for made, mode, values in self._made:
                if made.cdata == mine.cdata and not made.expired():
                    shape = tuple(tensor.shape)
                    self.session.emit(
                        Blended(step=self.session.step, at=user_site(), mode=mode, values=values, shape=shape)
                    )
                    return
