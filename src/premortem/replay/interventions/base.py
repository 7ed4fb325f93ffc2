"""What an intervention is."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from premortem.replay.trial import Result, Trial

# Groups of ranks have made their buffers for the type that the weights have.
KEPT = "Weights that several ranks hold together keep their type."
Trials = Generator[Trial, Result, "Outcome | None"]  # None: there was nothing to try


@dataclass
class Outcome:
    """What became of the failure under one intervention."""

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

    def trial(self, name: str, **changes: Any) -> Trial:
        """The recorded step with these changes, from where it can be reproduced."""
        launch = {**self.launch, **changes.pop("launch", {})}
        changes.setdefault("apply", self.manifest["reason"] == "update")
        rank = self.rank if "samples" in changes and not self.everywhere else None
        return Trial(name, launch=launch, rank=rank, **changes)

    @property
    def together(self) -> bool:
        """Several ranks made the step."""
        return bool(self.plain.parts)

    @property
    def rank(self) -> int | None:
        """Of several, the one where it was born, or the only one whose loss is broken; None when nobody can tell."""
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


class Intervention:
    """One change, one trial. Searches override `run`."""

    title: ClassVar[str]
    size: ClassVar[int]
    gone: ClassVar[str]  # what it tells when the failure goes away
    stays: ClassVar[str]

    def applies(self, case: Case) -> bool:
        return True

    def changes(self, case: Case) -> dict[str, Any]:
        raise NotImplementedError

    def impossible(self, case: Case) -> str:
        """Why it applies, but cannot be tried here; empty when it can."""
        return ""

    def run(self, case: Case) -> Trials:
        why = self.impossible(case)
        if why:
            return Outcome(self.title, None, why, self.size, trials=0)
        result = yield case.trial(self.title, **self.changes(case))
        return self.judge(result)

    def judge(self, result: Result) -> Outcome:
        if not result.decided:
            return self.not_tried(result)
        tells = self.stays if result.failed else self.gone
        return Outcome(self.title, not result.failed, tells, self.size, result.loss)

    def not_tried(self, result: Result) -> Outcome:
        why = result.error or "the script did not come to its step"
        return Outcome(self.title, None, f"Could not be tried: {why}", self.size)
