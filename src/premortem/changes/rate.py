"""The learning rate: zero, a thousand times, ten times, a tenth, constant."""

import copy
from functools import partial
from typing import Any, ClassVar

from premortem.changes.base import Change, Harm, Learning, OneStep, RunDescription
from premortem.changes.edits import rate_edit, unscheduled

_NO_RATE = "builds no optimizer with a learning rate"


class RateAtBuild(Change):
    """Optimizers are built with another rate, as if it were written in the script."""

    factor: ClassVar[float]

    def put_on(self) -> None:
        self.reach.on_build(self._scaled)

    def _scaled(self, given: dict[str, Any]) -> None:
        """In the arguments of an optimizer: its own rate, and those of its groups."""
        groups = [dict(each) if isinstance(each, dict) else each for each in given["params"]]
        for owner in (given, *(group for group in groups if isinstance(group, dict))):
            if isinstance(owner.get("lr"), float):
                owner["lr"] *= self.factor
                self.touched += 1
        given["params"] = groups


class RateZero(RateAtBuild):
    """The learning rate is 0."""

    name = "rate-zero"
    factor = 0.0
    harm = Harm(families=frozenset({"lr", "optimizer-ownership"}), needs=_NO_RATE)


class RateThousandfold(RateAtBuild):
    """The learning rate is a thousand times too high."""

    name = "rate-thousandfold"
    factor = 1000.0
    harm = Harm(
        families=frozenset({"lr", "exploding", "numerics-nan", "numerics-overflow", "init-saturation"}),
        needs=_NO_RATE,
    )


class RateInUpdate(Change):
    """Each update is made at another rate. Whatever sets the rate, a scheduler or the loop, does not see it."""

    factor: ClassVar[float] = 1.0

    def put_on(self) -> None:
        self.reach.in_update("lr", self._rate)

    def _rate(self, group: dict[str, Any], own: Any) -> Any:
        self.touched += 1
        return own * self.factor


def _warming(_cls: type[Change], run: RunDescription) -> str:
    return "the rate is still rising: these steps do not see the end of its warm-up" if run.warming else ""


class RateTimesTen(RateInUpdate):
    """The learning rate is ten times as high."""

    name = "rate-times-ten"
    factor = 10.0
    edit = rate_edit(factor)
    learning = Learning(
        title="rate × 10",
        family="lr",
        mistake=False,
        order=8,
        further="rate-times-hundred",
        slow=True,
        against="rate-tenth",
        finding="updates-too-small",
    )
    prevented = classmethod(_warming)


class RateTimesHundred(RateInUpdate):
    """The learning rate is a hundred times as high."""

    name = "rate-times-hundred"
    factor = 100.0
    edit = rate_edit(factor)
    learning = Learning(
        title="rate × 100", family="lr", mistake=False, order=8, slow=True, finding="updates-too-small"
    )
    opening = ("stuck", "asked where ten times as much helps")
    prevented = classmethod(_warming)


class RateHundredth(RateInUpdate):
    """The learning rate is a hundredth."""

    name = "rate-hundredth"
    factor = 0.01
    edit = rate_edit(factor)
    learning = Learning(title="rate ÷ 100", family="lr", mistake=False, order=8, finding="updates-too-large")

    @classmethod
    def absent(cls, run: RunDescription) -> str:
        return "" if run.stuck or run.diverges else "asked where a tenth helps"


class RateTenth(RateInUpdate):
    """The learning rate is a tenth."""

    name = "rate-tenth"
    factor = 0.1
    edit = rate_edit(factor)
    learning = Learning(
        title="rate ÷ 10",
        family="lr",
        mistake=False,
        order=8,
        further="rate-hundredth",
        against="rate-times-ten",
        finding="updates-too-large",
    )
    one_step = OneStep(
        title="a tenth of the learning rate",
        size=8,
        gone="The learning rate is too high: at a tenth of it the same update is finite.",
        stays="Not the learning rate.",
    )

    @classmethod
    def absent(cls, run: RunDescription) -> str:
        return "loss and gradients fail before the update" if run.failed_in_update is False else ""


class RateConstant(RateInUpdate):
    """The learning rate stays what the optimizer was built with."""

    name = "rate-constant"
    edit = partial(unscheduled)
    learning = Learning(
        title="constant rate", family="scheduler", order=4, least=0.15, finding="scheduler-stepped-per-batch"
    )
    opening = ("schedules", "the learning rate does not vary")
    prevented = classmethod(_warming)

    def put_on(self) -> None:
        self._first: list[tuple[Any, list[Any]]] = []
        self.reach.on_built(self._met)
        super().put_on()

    def _met(self, optimizer: Any) -> None:
        # Copies: a scheduler writes into a rate that is a tensor. By place: `load_state_dict` makes new groups.
        self._first.append((optimizer, [copy.deepcopy(group.get("lr")) for group in optimizer.param_groups]))

    def _rate(self, group: dict[str, Any], own: Any) -> Any:
        self.touched += 1
        pairs = [pair for each, rates in self._first for pair in zip(each.param_groups, rates, strict=False)]
        return next((rate for held, rate in pairs if held is group), own)
