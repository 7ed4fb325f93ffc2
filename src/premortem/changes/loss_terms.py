"""The loss, term by term: what was added up to make it, and the loss without one term."""

from __future__ import annotations

from dataclasses import dataclass

from premortem.changes.base import Change, OneStep, RunDescription


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
