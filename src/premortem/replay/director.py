"""Launches the script again and again until the plan is done.

Each launch is a process of its own, in the recorded folder, with the recorded arguments. What the script prints goes to
a file, what it writes goes to a folder that is thrown away (`sandbox.py`).
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from premortem.redaction import restored
from premortem.replay.autopsy import Plan, Report
from premortem.replay.capsule import NotReplayable, verified
from premortem.replay.crew import launch
from premortem.replay.order import Order
from premortem.replay.permission import check, recorded_environment
from premortem.replay.siblings import found, siblings
from premortem.replay.started import script_of
from premortem.replay.together import joined

MOST_LAUNCHES = 24
SECONDS = 600  # for one launch


@dataclass(frozen=True, kw_only=True)
class ReplayOptions:
    capsule: Path
    cwd: Path | None = None
    cpu: bool = False
    trust: bool = False
    quick: bool = False  # reproduce and locate, no interventions
    show_output: bool = False
    seconds: float = SECONDS


@dataclass
class Replayed:
    """A replay and its circumstances."""

    manifest: dict[str, Any]
    report: Report
    here: dict[str, Any] = field(default_factory=dict)
    launches: int = 0
    tail: str = ""  # the last lines that the script printed, when it went wrong
    faults: list[str] = field(default_factory=list)


def replay(options: ReplayOptions) -> Replayed:
    """Raises PremortemError when there is nothing to launch."""
    papers = siblings(found(options.capsule))
    if not options.trust:
        check(papers, options.cwd)
    manifest = joined([paper.manifest for paper in papers])
    cwd = _folder(options, manifest)
    for paper in papers:
        verified(paper)
    with tempfile.TemporaryDirectory(prefix="premortem-replay-") as scratch:
        order = Order(
            capsules=[paper.folder for paper in papers],
            scratch=Path(os.path.realpath(scratch)),
            cwd=str(cwd),
            argvs=[restored(paper.manifest["started"]["argv"], os.environ) for paper in papers],
            digests=[paper.digest for paper in papers],
            options={"quick": options.quick, "cpu": options.cpu},
        )
        return _direct(order, manifest, options)


def _direct(order: Order, manifest: dict[str, Any], options: ReplayOptions) -> Replayed:
    done = Replayed(manifest, Report())
    known = -1
    problem = ""
    while done.launches < MOST_LAUNCHES:
        plan = Plan(manifest, order.options, order.earlier())
        done.report = plan.report
        if plan.trial is None or problem:
            break
        if len(plan.report.results) == known:  # the last launch brought nothing new
            problem = "the script ended before the plan was done"
            break
        known = len(plan.report.results)
        order.launch = plan.trial.launch
        done.launches += 1
        environment = _environment(order, manifest, options)
        problem, done.tail = launch(order, environment, options.seconds, show_output=options.show_output)
        told = list(order.told())
        for _, line in told:
            done.here = line.get("here", done.here)
            if "fault" in line and line["fault"] not in done.faults:
                done.faults.append(line["fault"])
        problem = problem or _first_problem(order, told)
    done.report.problem = done.report.problem or problem
    return done


def _first_problem(order: Order, told: list[tuple[int, dict[str, Any]]]) -> str:
    """Of several ranks, what the first one said: the others were left alone by it."""
    said = [(line["at"], rank, line["problem"]) for rank, line in told if "problem" in line]
    if not said:
        return ""
    _, rank, problem = min(said)
    return str(problem) if order.alone else f"rank {rank}: {problem}"


def _environment(order: Order, manifest: dict[str, Any], options: ReplayOptions) -> dict[str, str]:
    variables = recorded_environment(manifest)
    variables["TORCHINDUCTOR_CACHE_DIR"] = str(order.scratch / "tmp")
    if options.cpu:
        variables["CUDA_VISIBLE_DEVICES"] = ""
    return variables


def _folder(options: ReplayOptions, manifest: dict[str, Any]) -> Path:
    recorded = Path(str(manifest["started"].get("cwd") or ""))
    cwd = options.cwd or recorded
    if not cwd.is_dir() or (options.cwd is None and not recorded.is_absolute()):
        raise NotReplayable(
            f"the folder {cwd} of the recorded run is not here; say where its script is with --cwd DIR"
        )
    cwd = Path(os.path.realpath(cwd))
    script = script_of(manifest["started"]["argv"], str(cwd))
    if script is not None and not script.is_file():
        raise NotReplayable(f"the script {script} is not here any more; a replay runs the script itself")
    return cwd
