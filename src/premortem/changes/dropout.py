"""Dropout: none."""

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
        evaluated=True,
        order=7,
        least=0.15,
        finding="dropout-near-one",
        remedy="lower the probability of dropout",
    )
    opening = ("dropout", "nothing is dropped in training")

    def put_on(self) -> None:
        from torch.nn import functional

        for name in _KINDS:
            self.reach.instead(functional, name, self._kept)

    def _kept(self, original: Any, input: Any, p: float = 0.5, *args: Any, **kwargs: Any) -> Any:  # noqa: A002 - torch's name
        self.touched += 1
        return original(input, 0.0, *args, **kwargs)
