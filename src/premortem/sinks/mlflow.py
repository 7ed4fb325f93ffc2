"""`--sink mlflow` or `mlflow:TRACKING_URI`: marks the run that the script has open, or else one of its own."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

from mlflow import MlflowClient
from mlflow.entities import Metric, RunTag

from premortem.events import StepStats
from premortem.files.plain import dumps
from premortem.findings import Finding
from premortem.sinks.base import Outcome, Sink, numbers
from premortem.sinks.words import in_one_line

LONGEST = 4000  # characters of a tag
AT_ONCE = 500  # metrics of one call


class MLflow(Sink):
    """A tag for each finding, a verdict, `premortem/findings.json`; loss, gradient norm and learning rate as metrics."""

    name = "MLflow"
    wants_steps = True

    def __init__(self, place: str) -> None:
        self._place = place or None
        self._client: MlflowClient | None = None
        self._run: str | None = None
        self._held: list[StepStats] = []
        self._findings: list[Finding] = []

    def notice(self) -> None:
        mlflow = sys.modules.get("mlflow")
        # The stack of runs belongs to the thread that has opened them.
        active = mlflow.active_run() if mlflow is not None and self._run is None else None
        if active is not None:
            self._run = active.info.run_id

    def steps(self, steps: Sequence[StepStats]) -> None:
        self._held += steps
        if self._run is not None:
            self._send_steps()

    def finding(self, finding: Finding) -> None:
        self._findings.append(finding)
        if self._run is not None:
            self._send_findings()

    def ended(self, outcome: Outcome) -> None:
        own = self._run is None
        client = self._connected()
        if self._run is None:
            self._run = client.create_run(experiment_id="0", run_name="premortem").info.run_id
        self._send_steps()
        self._send_findings()
        client.set_tag(self._run, "premortem.verdict", outcome.verdict)
        counts = {f"premortem/{noun}": float(n) for noun, n in outcome.counts.items()}
        self._log(counts, outcome.steps)
        findings = [finding.to_json() for finding in outcome.findings]
        client.log_text(self._run, dumps(findings, indent=2) + "\n", "premortem/findings.json")
        if own:
            client.set_terminated(self._run)

    def _connected(self) -> MlflowClient:
        if self._client is None:
            self._client = MlflowClient(self._place)
        return self._client

    def _send_steps(self) -> None:
        steps, self._held = self._held, []
        metrics: list[Any] = []
        now = int(time.time() * 1000)
        for stats in steps:
            valid, broken = numbers(stats)
            marks = {f"{name}_not_finite": 1.0 for name in broken}
            metrics += [Metric(key, value, now, stats.step) for key, value in {**valid, **marks}.items()]
        for start in range(0, len(metrics), AT_ONCE):
            self._connected().log_batch(self._run, metrics=metrics[start : start + AT_ONCE])

    def _send_findings(self) -> None:
        findings, self._findings = self._findings, []
        tags = [RunTag(f"premortem.{f.code}", in_one_line(f)[:LONGEST]) for f in findings]
        if tags:
            self._connected().log_batch(self._run, tags=tags)

    def _log(self, values: dict[str, float], step: int) -> None:
        now = int(time.time() * 1000)
        metrics = [Metric(key, value, now, step) for key, value in values.items()]
        self._connected().log_batch(self._run, metrics=metrics)
