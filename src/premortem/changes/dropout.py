"""Dropout: none."""

from __future__ import annotations

from typing import Any

from premortem.changes.base import Change, Learning

_KINDS = ("dropout", "alpha_dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout")


class NoDropout(Change):
    """Nothing is dropped in training."""

    name = "no-dropout"
    learning = Learning(
        title="dropout 0",
        question="mode",
        family="config",
        mistake=False,
        same_loss=False,
        order=7,
        finding="dropout-near-one",
        remedy="lower the probability of dropout",
    )
    opening = ("dropout", "nothing is dropped in training")

    def put_on(self) -> None:
        from torch.nn import functional

        for name in _KINDS:
            self.reach.instead(functional, name, self._kept)

    def _kept(self, original: Any, given: Any, p: float = 0.5, *args: Any, **kwargs: Any) -> Any:
        self.touched += 1
        return original(given, 0.0, *args, **kwargs)
