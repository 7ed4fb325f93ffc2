"""The failure under investigation, and what came of one change of the step."""

from collections.abc import Generator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from premortem.changes import Change, RunDescription
from premortem.changes.base import OneStep
from premortem.replay.trial import Result, Trial

Trials = Generator[Trial, Result, "Outcome | None"]  # None: there was nothing to try


@dataclass
class Outcome:
    """What became of the failure under one change."""

    title: str
    gone: bool | None  # None: it could not be tried
    tells: str
    size: int  # how much of the run it changes; the smallest that helps is named
    loss: float | None = None
    trials: int = 1
    evidence: dict[str, Any] = field(default_factory=dict)


@dataclass
class Case:
    """The failure under investigation."""

    manifest: dict[str, Any]
    options: dict[str, Any]
    plain: Result  # the reproduction
    launch: dict[str, Any]
    certificate: dict[str, Any] | None = None

    def again(self, name: str, **how: Any) -> Trial:
        """The recorded step, from where it can be reproduced."""
        launch = {**self.launch, **how.pop("launch", {})}
        return Trial(name, launch=launch, apply=self.manifest["reason"] == "update", **how)

    def trial(self, cls: type[Change], **how: Any) -> Trial:
        """The same with this change."""
        return self.again(role_of(cls).title, change=cls.name, **how)

    @cached_property
    def run(self) -> RunDescription:
        manifest, plain = self.manifest, self.plain
        optimizer = manifest["optimizers"][manifest["optimizer"]] or {"groups": []}
        return RunDescription(
            device=str(manifest.get("device", "")),
            groups=tuple(optimizer["groups"]),
            low_precision=plain.low_precision,
            low_weights=plain.low_weights,
            compiled=bool(manifest.get("compiled")),
            samples=self.samples,
            failed_in_update=self.of_the_update,
            ranks=max(1, len(plain.parts)),
        )

    @property
    def together(self) -> bool:
        """Several ranks made the step."""
        return bool(self.plain.parts)

    @property
    def rank(self) -> int | None:
        """Of several, the one where it was born, or the only one whose loss is broken; None when it is not known."""
        known = (self.certificate or {}).get("rank")
        broken = [rank for rank, part in enumerate(self.plain.parts) if not part.loss_finite]
        return known if known is not None else broken[0] if len(broken) == 1 else None

    @property
    def everywhere(self) -> bool:
        """The same samples are to blame on every rank."""
        return bool((self.certificate or {}).get("everywhere"))

    @property
    def whose(self) -> str:
        """Whose samples are left out."""
        return "every rank" if self.everywhere else f"rank {self.rank}"

    @property
    def samples(self) -> int:
        """That can be left out: of several ranks, of the one that is to blame."""
        if not self.together:
            return self.plain.samples
        return self.plain.parts[self.rank].samples if self.rank is not None else 0

    @property
    def of_the_update(self) -> bool:
        """Loss and gradients are finite; what the optimizer makes of them is not."""
        return self.plain.loss_finite and not self.plain.bad_gradients and bool(self.plain.bad_update)

    @property
    def patience(self) -> int:
        """How many trials a search may take: where each one is a launch of its own, few."""
        return 6 if "position" in self.launch else 32


def role_of(cls: type[Change]) -> OneStep:
    assert cls.one_step is not None  # noqa: S101 - only those are tried
    return cls.one_step


def single(cls: type[Change], case: Case) -> Trials:
    """One change, one trial."""
    role = role_of(cls)
    why = cls.prevented(case.run)
    if why:
        return Outcome(role.title, None, why, role.size, trials=0)
    launch = {role.launch: True} if role.launch else {}
    if cls.name == "float32" and case.plain.low_policy:  # which only a new process can change
        launch["wide"] = True
    result = yield case.trial(cls, launch=launch)
    if not result.decided:
        return not_tried(role, result)
    tells = role.stays if result.failed else role.gone
    return Outcome(role.title, not result.failed, tells, role.size, result.loss)


def not_tried(role: OneStep, result: Result) -> Outcome:
    why = result.error or "the script did not come to its step"
    return Outcome(role.title, None, f"Could not be tried: {why}", role.size)
