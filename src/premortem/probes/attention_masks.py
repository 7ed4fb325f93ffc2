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
from premortem.probes.numbers import on_host
from premortem.probes.session import Session, user_site

_MOST = 4  # attentions of a step


class AttentionMasks:
    def __init__(self, session: Session, models: Models) -> None:
        self.session = session
        self.models = models
        self._given: list[weakref.ref[torch.Tensor]] = []  # what the running root was given
        self._step = -1
        self._seen = 0
        self._by_hand = 0
        self._within = False  # torch's own multi-head attention, which joins its masks to one

    def install(self) -> None:
        self.models.on_call.append(self._called)
        self.session.around(
            functional, "multi_head_attention_forward", before=self._attends, after=self._attended, quiet=None
        )
        self.session.around(functional, "scaled_dot_product_attention", before=self._given_a_mask, quiet=None)

    def _called(self, model: Model, grad: bool, inputs: list[torch.Tensor]) -> None:
        if self.session.auditing:
            self._given = [weakref.ref(tensor) for tensor in inputs[:4]]

    def _attends(self, *args: Any, **kwargs: Any) -> None:
        self._within = True
        mask = kwargs.get("key_padding_mask")
        if not self.session.auditing or not isinstance(mask, torch.Tensor) or mask.dim() != 2:
            return
        if self._step != self.session.step:
            self._new_step()
        self._seen += 1
        if self._seen > _MOST or not self.models.depth:
            return
        hidden = mask if mask.dtype == torch.bool else mask == -math.inf
        tensor = self._laid_under(mask.shape[0], mask.shape[1], mask.device)
        if tensor is not None:
            self._compare(hidden, tensor, "key_padding_mask")

    def _attended(self, *_args: Any, **_kwargs: Any) -> None:
        self._within = False

    def _given_a_mask(
        self, _query: Any, _key: Any, _value: Any, attn_mask: Any = None, *_args: Any, **_kwargs: Any
    ) -> None:
        """In `attn_mask` True means *look here*: the other way round than in `key_padding_mask`."""
        if not self.session.auditing or self._within or not self.models.depth:
            return
        # One for all samples hides no padding.
        if not isinstance(attn_mask, torch.Tensor) or attn_mask.dim() < 3 or not self._has_looks_left():
            return
        if attn_mask.dtype == torch.bool:
            hides = ~attn_mask
        else:  # is added to the scores: what a softmax gives nothing
            mask = attn_mask.detach().float()
            hides = (mask - mask.amax(-1, keepdim=True)).exp() == 0
        self._hide(hides, "attn_mask")

    def _new_step(self) -> None:
        self._step, self._seen, self._by_hand = self.session.step, 0, 0

    def _has_looks_left(self) -> bool:
        """At attentions without a `key_padding_mask`, in this step."""
        if self._step != self.session.step:
            self._new_step()
        return self._by_hand < _MOST

    def _laid_under(
        self, samples: int, places: int, device: torch.device, *, heads: bool = False
    ) -> torch.Tensor | None:
        """What the root was given, of as many samples (of which each may stand there once for each head) and places."""
        for reference in self._given:
            tensor = reference()
            if tensor is None or tensor.dim() < 2 or tensor.device != device:
                continue
            rows, columns = tensor.shape[:2]
            if rows and columns == places and (samples == rows or (heads and samples % rows == 0)):
                return tensor
        return None

    def weighed(self, weights: torch.Tensor) -> None:
        """Attention that is written by hand: a softmax inside of a model. What it hides has no weight at all."""
        if weights.dim() >= 2 and self._has_looks_left():
            self._hide(weights.detach() == 0, "softmax")

    def _hide(self, hides: torch.Tensor, by: str) -> None:
        """By samples (or samples and heads) first, the places that are looked at last."""
        given = self._laid_under(hides.shape[0], hides.shape[-1], hides.device, heads=True)
        if given is None:
            return
        self._by_hand += 1
        # From no place of the sample, and by no head: what is hidden from the past only is no padding.
        hidden = on_host(hides).reshape(given.shape[0], -1, hides.shape[-1]).all(1).cpu()
        shown = hidden.shape[1] - hidden.sum(1)
        both = (shown > 0) & (shown < hidden.shape[1])
        # Fillings differ in their length. A mark at a fixed place, which all may look at, does not.
        if len(shown[both].unique()) > 1:
            self._compare(hidden[both], given.detach().cpu()[both], by)

    def _compare(self, hidden: torch.Tensor, given: torch.Tensor, by: str) -> None:
        if given.dim() > 3 or (given.dim() == 3) != given.is_floating_point() or given.dtype == torch.bool:
            return
        shown, masked = given[~hidden], given[hidden]
        if given.dim() == 3:  # features: filled up with zeros
            shown, masked = (part.detach().abs().amax(1) > 0 for part in (shown, masked))
        self.session.emit(
            PaddingMask(
                step=self.session.step,
                at=user_site(),
                by=by,
                shown=len(shown),
                masked=len(masked),
                shown_values=len(shown.unique()),
                masked_values=len(masked.unique()),
                empty=given.dim() == 3 and not bool(shown.any()),
                full=given.dim() == 3 and bool(masked.all()),
            )
        )
