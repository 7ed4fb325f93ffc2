"""Weight decay: none."""

from functools import partial
from typing import Any

from premortem.changes.base import Change, Learning
from premortem.changes.edits import OPTIMIZERS, argument_edits


class NoWeightDecay(Change):
    """No optimizer shrinks the weights."""

    name = "no-weight-decay"
    edit = partial(
        argument_edits,
        names=dict.fromkeys(OPTIMIZERS, "weight_decay"),
        position=None,
        new=lambda _old: "0.0",
    )
    learning = Learning(
        title="no weight decay",
        family="weight-decay",
        order=6,
        least=0.15,
        finding="weight-decay-collapse",
    )
    opening = ("weight_decay", "no optimizer shrinks the weights")

    def put_on(self) -> None:
        self.reach.in_update("weight_decay", self._none)

    def _none(self, group: dict[str, Any], own: Any) -> float:
        self.touched += 1
        return 0.0
