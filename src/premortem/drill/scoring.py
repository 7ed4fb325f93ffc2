"""Pure: from the findings of the clean runs and of a mutant's run to the mutant's score."""

from dataclasses import dataclass, field

from premortem.drill.order import Dated, Heard

CAUGHT = "caught"
MISSED = "missed"
ABSENT = "does not apply here"
IDLE = "changes nothing here"
FAILED = "could not be run"
LOUD = "ends the script by itself"
OUTCOMES = (CAUGHT, MISSED, ABSENT, IDLE, FAILED, LOUD)


@dataclass(frozen=True, kw_only=True)
class Clean:
    """The script as it is, alone and watched."""

    alone: Heard
    watched: Heard

    @property
    def repeats(self) -> bool:
        """Whether the same script is the same training: only then a fingerprint proves anything."""
        return bool(self.alone.prints) and self.alone.prints == self.watched.prints

    @property
    def false_alarms(self) -> list[Dated]:
        return [finding for finding in self.watched.findings if finding.loud]

    @property
    def overhead(self) -> float | None:
        """Time of a step, watched, relative to alone."""
        alone, watched = self.alone.step_seconds, self.watched.step_seconds
        return watched / alone if alone and watched else None


@dataclass(frozen=True, kw_only=True)
class Score:
    mutant: str
    outcome: str
    detail: str = ""
    right_family: bool = False
    caught_by: Dated | None = None  # what caught it
    others: list[Dated] = field(default_factory=list)  # the other findings

    @property
    def effective(self) -> bool:
        return self.outcome in {CAUGHT, MISSED}


def score(name: str, families: frozenset[str], needs: str, clean: Clean, run: Heard) -> Score:
    if run.late:
        return Score(mutant=name, outcome=FAILED, detail="it took longer than --seconds")
    if not run.ended:
        return Score(mutant=name, outcome=FAILED, detail=f"its process died (exit code {run.code})")
    if not run.touched:
        return Score(mutant=name, outcome=ABSENT, detail=f"the script {needs}")
    if not took_effect(clean, run):
        return Score(mutant=name, outcome=IDLE, detail="the training is the same, bit for bit")
    known = {finding.code for finding in clean.false_alarms}
    new = [finding for finding in run.findings if finding.loud and finding.code not in known]
    right = [finding for finding in new if finding.family in families]
    if not new and ":" in run.ended and run.ended != clean.watched.ended:
        return Score(mutant=name, outcome=LOUD, detail=run.ended.partition("\n")[0])
    if not new:
        return Score(mutant=name, outcome=MISSED, detail=run.detail)
    # The first finding about it; what names the cause goes before what only noticed something.
    best = min(right or new, key=lambda finding: finding.step)
    others = [finding for finding in new if finding is not best]
    return Score(mutant=name, outcome=CAUGHT, right_family=bool(right), caught_by=best, others=others)


def took_effect(clean: Clean, run: Heard) -> bool:
    """The state of the training departed from the clean one, or a file is not what was saved."""
    if run.damaged:
        return True
    return run.prints != clean.alone.prints if clean.repeats else bool(run.touched)


def survived(name: str, needs: str, alone: Heard, watched: Heard) -> Score:
    """For what kills the process: are the files whole that would have been torn?"""
    if not watched.touched or not alone.touched:
        return Score(mutant=name, outcome=ABSENT, detail=f"the script {needs}")
    if not alone.damaged:
        return Score(mutant=name, outcome=IDLE, detail="the script alone left no torn file either")
    if watched.damaged:
        return Score(mutant=name, outcome=MISSED, detail=f"torn: {watched.damaged[0]}")
    detail = "alone it left a torn file; watched, none"
    return Score(mutant=name, outcome=CAUGHT, right_family=True, detail=detail)
