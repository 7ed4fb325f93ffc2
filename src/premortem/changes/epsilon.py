from functools import partial
from typing import Any

from premortem.changes.base import Change, Learning, OneStep, RunDescription
from premortem.changes.edits import OPTIMIZERS, argument_edits

USUAL = 1e-8  # torch's own default


class Epsilon(Change):
    """An epsilon in the optimizer's division.

    Adam and its kin divide by the root of an average of squares, which is 0 where every gradient was 0.
    """

    name = "epsilon"
    edit = partial(
        argument_edits, names=dict.fromkeys(OPTIMIZERS, "eps"), position=None, new=lambda _old: f"{USUAL:g}"
    )
    one_step = OneStep(
        title=f"the optimizer's eps at {USUAL:g}",
        size=6,
        gone="The optimizer divides by 0: with an epsilon the same update is finite.",
        stays="Not the optimizer's epsilon.",
    )

    @classmethod
    def absent(cls, run: RunDescription) -> str:
        small = any(float(group["eps"]) < USUAL for group in run.groups if "eps" in group)
        return "" if run.failed_in_update and small else "no optimizer divides by less than that"

    def put_on(self) -> None:
        self.reach.in_update("eps", self._usual)

    def _usual(self, group: dict[str, Any], own: Any) -> float:
        self.touched += 1
        return USUAL


# Beyond these an optimizer hardly moves, or cannot stop: the highest that people use, and what is put in its place.
_HIGHEST = {"eps": (1e-4, USUAL), "momentum": (0.97, 0.9)}
_BETAS = ((0.97, 0.9), (0.99999, 0.999))


class UsualSettings(Change):
    """An epsilon, a momentum or a beta that no one uses is the usual one."""

    name = "usual-settings"
    learning = Learning(
        title="usual epsilon and momentum",
        family="config",
        order=5,
        least=0.1,
        remedy="leave eps and betas of the optimizer at their defaults, and momentum at 0.9",
    )
    opening = ("odd_settings", "the optimizer's epsilon and momentum are usual")

    def put_on(self) -> None:
        for name, (highest, usual) in _HIGHEST.items():
            self.reach.in_update(name, partial(self._usual, highest, usual))
        self.reach.in_update("betas", self._betas)

    def _usual(self, highest: float, usual: float, group: dict[str, Any], own: Any) -> Any:
        high = _above(own, highest)
        self.touched += high
        return usual if high else own

    def _betas(self, group: dict[str, Any], own: Any) -> Any:
        made = tuple(
            usual if _above(each, highest) else each
            for each, (highest, usual) in zip(own, _BETAS, strict=False)
        )
        self.touched += made != tuple(own)
        return made


def is_odd(group: dict[str, Any]) -> bool:
    """Of an optimizer's group of parameters."""
    high = any(_above(group.get(name), highest) for name, (highest, _) in _HIGHEST.items())
    betas = zip(group.get("betas") or (), _BETAS, strict=False)
    return high or any(_above(own, highest) for own, (highest, _) in betas)


def _above(own: Any, highest: float) -> bool:
    return isinstance(own, float) and own > highest  # Adafactor has two epsilons
