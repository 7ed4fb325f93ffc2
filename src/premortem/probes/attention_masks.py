"""What a padding mask of an attention lets it look at, in audited steps: the sequences, or what fills them up."""

from __future__ import annotations

import math
import weakref
from typing import Any

import torch
from torch.nn import functional

from premortem.events import PaddingMask
from premortem.probes.model_registry import Model
from premortem.probes.modules import Models
from premortem.probes.session import Session, user_site

_MOST = 4  # attentions of a step


class AttentionMasks:
    def __init__(self, session: Session, models: Models) -> None:
        self.session = session
        self.models = models
        self._given: list[weakref.ref[torch.Tensor]] = []  # what the running root was given
        self._step = -1
        self._seen = 0

    def install(self) -> None:
        self.models.on_call.append(self._called)
        self.session.around(functional, "multi_head_attention_forward", before=self._attends, quiet=None)

    def _called(self, model: Model, grad: bool, inputs: list[torch.Tensor]) -> None:
        if self.session.auditing:
            self._given = [weakref.ref(tensor) for tensor in inputs[:4]]

    def _attends(self, *args: Any, **kwargs: Any) -> None:
        mask = kwargs.get("key_padding_mask")
        if not self.session.auditing or not isinstance(mask, torch.Tensor) or mask.dim() != 2:
            return
        if self._step != self.session.step:
            self._step, self._seen = self.session.step, 0
        self._seen += 1
        if self._seen > _MOST or not self.models.depth:
            return
        hidden = mask if mask.dtype == torch.bool else mask == -math.inf
        for reference in self._given:
            tensor = reference()
            if (
                tensor is not None
                and tensor.device == mask.device
                and tuple(tensor.shape[:2]) == tuple(mask.shape)
            ):
                self._compare(hidden, tensor)
                return

    def _compare(self, hidden: torch.Tensor, given: torch.Tensor) -> None:
        if given.dim() > 3 or (given.dim() == 3) != given.is_floating_point() or given.dtype == torch.bool:
            return
        shown, masked = given[~hidden], given[hidden]
        if given.dim() == 3:  # features: filled up with zeros
            shown, masked = (part.detach().abs().amax(1) > 0 for part in (shown, masked))
        self.session.emit(
            PaddingMask(
                step=self.session.step,
                at=user_site(),
                shown=len(shown),
                masked=len(masked),
                shown_values=len(shown.unique()),
                masked_values=len(masked.unique()),
                empty=given.dim() == 3 and not bool(shown.any()),
                full=given.dim() == 3 and bool(masked.all()),
            )
        )
