"""How an optimizer updates many parameters: in one kernel, one by one."""

from collections.abc import MutableMapping
from functools import partial
from typing import Any

from premortem.changes.base import Change, Memory, RunDescription, Time
from premortem.changes.edits import OPTIMIZERS, with_keyword

_NO_LISTS = "the update does not run in multi-tensor kernels"


class Fused(Change):
    """`fused=True`: the optimizer reads and writes each weight once, without temporaries as large as the weights."""

    name = "fused-optimizer"
    edit = partial(with_keyword, names=("Adam", "AdamW", "SGD", "Adagrad"), keyword="fused", text="True")
    memory = Memory(title="give the optimizer fused=True", cost="none; it is also faster")
    time = Time()

    @classmethod
    def absent(cls, run: RunDescription) -> str:
        if not all("fused" in group for group in run.groups):
            return f"{', '.join(sorted(set(run.optimizers)))} has no fused form"
        if run.groups and all(group["fused"] for group in run.groups):
            return "it is fused already"
        return _NO_LISTS if run.foreach is False else ""

    @classmethod
    def prevented(cls, run: RunDescription) -> str:
        if not run.fusible:
            return "it is not made for where the weights are"
        return "the update is differentiated" if any(g.get("differentiable") for g in run.groups) else ""

    def put_on(self) -> None:
        self.reach.on_settings(self._fused)
        for optimizer in self.reach.optimizers:
            for parameter, held in optimizer.state.items():
                step = held.get("step") if isinstance(held, dict) else None
                if getattr(step, "device", parameter.device) != parameter.device:
                    self._move(held, parameter.device)

    def _fused(self, group: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        self.touched += "fused" in group
        return {"fused": True, "foreach": False} if "fused" in group else {}

    def _move(self, held: dict[str, Any], device: Any) -> None:
        """Fused kernels count steps where the weights are."""
        before = held["step"].device
        held["step"] = held["step"].to(device)
        self.reach.undoing(lambda: held.update(step=held["step"].to(before)))

    def how(self) -> str:
        return f"{self.run.optimizers[0]}(..., fused=True)"


class OneByOne(Change):
    """The parameters are updated one after the other, so temporaries are as large as the largest of them."""

    name = "foreach-false"
    edit = partial(with_keyword, names=OPTIMIZERS, keyword="foreach", text="False")
    memory = Memory(
        title="give the optimizer foreach=False",
        cost="a slower optimizer step; fused=True is better where it exists",
    )
    opening = ("foreach", _NO_LISTS)

    def put_on(self) -> None:
        self.reach.on_settings(self._one_by_one)

    def _one_by_one(self, group: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        listed = "foreach" in group and not group.get("fused")
        self.touched += listed
        return {"foreach": False} if listed else {}
