"""The loss, term by term: what was added up to make it, the loss without one term, no gradients from one term."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from premortem.changes.base import Change, Learning, OneStep, RunDescription
from premortem.changes.late import torch


@dataclass
class Term:
    """One summand of the loss."""

    index: int
    op: str
    file: str
    line: int
    value: float | str
    finite: bool
    gradient_finite: bool | None

    @property
    def healthy(self) -> bool:
        return self.finite and self.gradient_finite is not False


class WithoutTerm(Change):
    """One summand of the loss is left out, by its number (`settings["index"]`)."""

    name = "without-term"
    one_step = OneStep(title="loss terms one by one", size=2)

    @classmethod
    def absent(cls, run: RunDescription) -> str:
        return "the loss and its gradients are finite" if run.failed_in_update else ""

    def put_on(self) -> None:
        from premortem.changes.summands import Summands

        Summands(self.reach, without=self.settings["index"]).install()


class SilentTerm(Change):
    """One summand of the loss sends no gradients back. The loss keeps its value, so that it can be compared."""

    number: ClassVar[int]
    least: ClassVar[int] = 2  # terms

    @classmethod
    def absent(cls, run: RunDescription) -> str:
        return "" if run.terms >= max(cls.least, cls.number) else "the loss is not a sum of so many terms"

    def put_on(self) -> None:
        self.reach.on_backward(self._silenced)

    def _silenced(self, loss: torch.Tensor) -> torch.Tensor:
        found = summands(loss)
        if len(found) >= max(self.least, self.number):
            self.touched += 1
            for node in self.silent(found):
                node.register_prehook(_nothing)
        return loss

    def silent(self, found: list[Any]) -> list[Any]:
        return [found[self.number - 1]]


_WITHOUT = Learning(title="", question="loss", family="loss-definition", same_loss=False, order=6, least=0.3)


class FirstTermSilent(SilentTerm):
    """The first term of the loss trains nothing."""

    name = "first-term-silent"
    number = 1
    learning = replace(_WITHOUT, title="without the first term of the loss")


class SecondTermSilent(SilentTerm):
    """The second term of the loss trains nothing."""

    name = "second-term-silent"
    number = 2
    learning = replace(_WITHOUT, title="without the second term of the loss")


class ThirdTermSilent(SilentTerm):
    """The third term of the loss trains nothing."""

    name = "third-term-silent"
    number = 3
    learning = replace(_WITHOUT, title="without the third term of the loss")


class LoneTerm(SilentTerm):
    """One summand of the loss trains alone. Of two it is what the other one without gradients is."""

    least = 3

    def silent(self, found: list[Any]) -> list[Any]:
        return [node for number, node in enumerate(found, 1) if number != self.number]


class FirstTermAlone(LoneTerm):
    """Only the first term of the loss trains."""

    name = "first-term-alone"
    number = 1
    learning = replace(_WITHOUT, title="the first term of the loss alone", order=7, where_stuck=True)


class SecondTermAlone(LoneTerm):
    """Only the second term of the loss trains."""

    name = "second-term-alone"
    number = 2
    learning = replace(_WITHOUT, title="the second term of the loss alone", order=7, where_stuck=True)


class ThirdTermAlone(LoneTerm):
    """Only the third term of the loss trains."""

    name = "third-term-alone"
    number = 3
    learning = replace(_WITHOUT, title="the third term of the loss alone", order=7, where_stuck=True)


def summands(loss: torch.Tensor) -> list[Any]:
    """The nodes of the graph whose sum this loss is, in the order in which they stand in the source. A factor around the
    whole sum (a scaler's, one over the number of micro-batches) does not matter."""
    node = loss.grad_fn
    while node is not None and node.name().startswith(("Mul", "Div")):
        inner = [each for each, _ in node.next_functions if each is not None]
        if len(inner) != 1:
            break
        node = inner[0]
    found, left = [], [node]
    while left:
        node = left.pop()
        if node is not None and node.name() in {"AddBackward0", "SubBackward0"}:
            left += [each for each, _ in reversed(node.next_functions)]
        elif node is not None:
            found.append(node)
    return found


def _nothing(gradients: Any) -> Any:
    return tuple(None if each is None else each * 0 for each in gradients)
