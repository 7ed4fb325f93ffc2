"""What the checks of the rehearsal are given: what was seen, and what follows from it. Pure."""

import statistics
from dataclasses import dataclass, field

from premortem.findings import Finding, Severity
from premortem.proof.prove import Proof
from premortem.rehearsal.observations import Rehearsed, Schedule

# Seconds, 90 days: whoever plans more than that has written a number that is not meant, such as a data set of 10**10
# samples that is left by `break`.
BELIEVABLE = 90 * 86400.0


@dataclass(kw_only=True)
class Scene:
    facts: Rehearsed
    findings: list[Finding] = field(default_factory=list)  # of the detectors
    proof: Proof | None = None
    no_proof: str = ""

    @property
    def broken(self) -> bool:
        """A detector has found an error: what follows from it is not reported a second time."""
        return any(finding.severity is Severity.ERROR for finding in self.findings)

    @property
    def suspect(self) -> bool:
        return any(finding.severity is not Severity.INFO for finding in self.findings)

    @property
    def per_step(self) -> int:
        """Backward passes in one step."""
        return int(statistics.median(self.facts.backwards)) if self.facts.backwards else 1

    # -- how long ---------------------------------------------------------------------------

    @property
    def epoch_seconds(self) -> float | None:
        """One pass over the training data."""
        loader, split = self.facts.training, self.facts.split
        if loader is None or loader.batches is None or split is None or split.batch is None:
            return None
        seconds = loader.batches * split.batch
        return seconds if seconds < BELIEVABLE else None

    @property
    def evaluation_seconds(self) -> float:
        judged = [loader for loader in self.facts.loaders if not loader.training and loader.batches]
        return sum(loader.seconds * (loader.batches or 0) for loader in judged)

    @property
    def save_seconds(self) -> float:
        return statistics.median(save.seconds for save in self.facts.saved) if self.facts.saved else 0.0

    @property
    def total_seconds(self) -> float | None:
        facts, epoch = self.facts, self.epoch_seconds
        seconds = float("inf")
        if epoch is not None and facts.epochs:
            seconds = facts.epochs * (epoch + self.evaluation_seconds + self.save_seconds)
        elif facts.training is None and facts.split is not None and facts.planned_steps:
            seconds = facts.planned_steps * (facts.epochs or 1) * facts.split.step
        return seconds if seconds < BELIEVABLE else None

    @property
    def steps_per_epoch(self) -> int | None:
        loader = self.facts.training
        if loader is None or loader.batches is None or self.facts.optimizers != 1:
            return None
        return loader.batches // max(self.per_step, 1)

    def calls(self, schedule: Schedule) -> int | None:
        """How often it will be stepped in the whole run, as far as that is known."""
        steps, epochs = self.steps_per_epoch, self.facts.epochs
        if steps is None or not epochs:
            return None
        if per_step(schedule):
            return epochs * steps
        return epochs if schedule.per_epoch and steps > 1 else None


def per_step(schedule: Schedule) -> bool:
    return schedule.calls >= 3 and schedule.calls == schedule.steps
