"""`--sink wandb`: marks the run that the script has open, or else one of its own. Offline is as good."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import wandb

from premortem.events import StepStats
from premortem.findings import Finding, Severity
from premortem.sinks.base import Outcome, Sink, numbers
from premortem.sinks.words import in_one_line


class WandB(Sink):
    """Findings in the summary, as alerts and as a tag; loss, gradient norm and learning rate in the history."""

    name = "W&B"
    wants_steps = True

    def __init__(self, place: str) -> None:
        self._project = place or None
        self._run: Any = None  # the script's
        self._open = False
        self._about: dict[str, Any] = {}
        self._steps: list[StepStats] = []
        self._unsure: list[StepStats] = []  # sent to the script's run, and perhaps in none of its rows yet
        self._rows = 0  # of the script's run, when they were sent
        self._findings: list[Finding] = []

    def notice(self) -> None:
        run = wandb.run
        self._open = run is not None
        if run is not None and run is not self._run:
            self._run = run
            self._about = {"id": run.id, "project": run.project, "entity": run.entity or None}

    def steps(self, steps: Sequence[StepStats]) -> None:
        self._steps += steps
        if self._still_open():
            self._send_steps(self._run)

    def finding(self, finding: Finding) -> None:
        self._findings.append(finding)
        if self._still_open():
            self._send_findings(self._run)

    def _still_open(self) -> bool:
        """What is sent to a run that the script has finished since the last look is lost."""
        return self._open and wandb.run is self._run

    def ended(self, outcome: Outcome) -> None:
        if not self._open:  # what was sent while the script ended its run may be lost; twice does no harm
            self._steps = self._unsure + self._steps
        run = self._run if self._open else self._reopened()
        self._send_steps(run)
        self._send_findings(run)
        counts = {f"premortem/{noun}": n for noun, n in outcome.counts.items()}
        lines = {f"premortem/{f.code}": in_one_line(f) for f in outcome.findings}
        run.summary.update({**counts, **lines, "premortem/verdict": outcome.verdict})
        if not self._open:
            run.finish()

    def _reopened(self) -> Any:
        """The script has finished its run, or had none."""
        wanted = {**self._about, "resume": "allow"} if self._about else {"project": self._project}
        return wandb.init(**wanted, settings=wandb.Settings(silent=True))

    def _send_steps(self, run: Any) -> None:
        if run is self._run:
            if run.step > self._rows:
                self._rows, self._unsure = run.step, []
            self._unsure += self._steps
        steps, self._steps = self._steps, []
        for stats in steps:
            valid, broken = numbers(stats)
            # Without a commit it joins the script's next row, and the script's own steps stay what they are. A row may
            # hear of several steps: an earlier step's number must not stand in for one that is not valid.
            marks = {f"{name}_not_finite": stats.step for name in broken}
            row = {"premortem/step": stats.step, **valid, **dict.fromkeys(broken), **marks}
            run.log(row, commit=run is not self._run)

    def _send_findings(self, run: Any) -> None:
        findings, self._findings = self._findings, []
        for finding in findings:
            run.summary.update({f"premortem/{finding.code}": in_one_line(finding)})
            mark = f"premortem-{finding.severity.value}"
            if mark not in (run.tags or ()):
                run.tags = (*(run.tags or ()), mark)
            if finding.severity is not Severity.INFO:
                level = (
                    wandb.AlertLevel.ERROR if finding.severity is Severity.ERROR else wandb.AlertLevel.WARN
                )
                run.alert(title=f"{finding.code} {finding.name}", text=in_one_line(finding), level=level)
