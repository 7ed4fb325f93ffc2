"""Launches the script again and again until the plan is done.

Each launch is a process of its own, in the recorded folder, with the recorded arguments (`scriptrun/`).
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from premortem.redaction import restored
from premortem.replay.capsule import NotReplayable, verified
from premortem.replay.how_started import script_of
from premortem.replay.launches import launch
from premortem.replay.order import Order
from premortem.replay.permission import check, recorded_environment
from premortem.replay.plan import Plan, Report
from premortem.replay.rank_capsules import found, siblings
from premortem.replay.rank_results import joined
from premortem.scriptrun.run import Plan as ScriptPlan
from premortem.scriptrun.run import Script, ScriptRun
from premortem.terminal.progress import Progress

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
    # By the run itself: only where nothing that the script writes can reach the user's files.
    unasked: bool = False
    shown: Progress = field(default_factory=Progress)


@dataclass
class Replayed:
    """A replay and its circumstances."""

    manifest: dict[str, Any]
    report: Report
    here: dict[str, Any] = field(default_factory=dict)
    launches: int = 0
    tail: str = ""  # the last lines that the script printed, when it went wrong
    faults: list[str] = field(default_factory=list)
    sandbox: dict[str, Any] = field(default_factory=dict)
    interrupted: KeyboardInterrupt | None = None


def replay(options: ReplayOptions) -> Replayed:
    """Raises PremortemError when there is nothing to launch."""
    papers = siblings(found(options.capsule))
    if not options.trust:
        check(papers, options.cwd)
    manifest = joined([paper.manifest for paper in papers])
    cwd = _folder(options, manifest)
    for paper in papers:
        verified(paper)
    argvs = [restored(paper.manifest["started"]["argv"], os.environ) for paper in papers]
    plan = ScriptPlan(play="premortem.replay.replayed_script:play")
    variables = _environment(manifest, options)
    script = Script.from_words(argvs[0], cwd)
    with ScriptRun(script, plan, environment=variables, show_output=options.show_output) as run:
        run.strict = options.unasked
        order = Order(
            capsules=[paper.folder for paper in papers],
            shared=run.shared,
            argvs=argvs,
            digests=[paper.digest for paper in papers],
            options={"quick": options.quick, "cpu": options.cpu},
        )
        return _direct(run, order, manifest, options)


def _direct(run: ScriptRun, order: Order, manifest: dict[str, Any], options: ReplayOptions) -> Replayed:
    done = Replayed(manifest, Report())
    try:
        _launch_all(run, order, done, options)
    except KeyboardInterrupt as error:
        done.interrupted = error
        done.report = Plan(manifest, order.options, order.earlier()).report  # as far as it came
        done.report.problem = done.report.problem or "it was interrupted"
    return done


def _launch_all(run: ScriptRun, order: Order, done: Replayed, options: ReplayOptions) -> None:
    manifest, shown = done.manifest, options.shown
    shown.count(0, "trials")

    def heard(line: dict[str, Any]) -> None:
        if "trying" in line and not line.get("rank"):
            shown.advance()
            shown.say(line["trying"])

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
        shown.say(f"starting the script (launch {done.launches})")
        problem, done.tail, done.sandbox = launch(run, order, options.seconds, heard)
        told = list(order.told())
        for _, line in told:
            done.here = line.get("here", done.here)
            if "fault" in line and line["fault"] not in done.faults:
                done.faults.append(line["fault"])
        problem = problem or _first_problem(order, told)
    done.report.problem = done.report.problem or problem


def _first_problem(order: Order, told: list[tuple[int, dict[str, Any]]]) -> str:
    """Of several ranks, the problem of the first one that failed: the others lost their peer."""
    said = [(line["at"], rank, line["problem"]) for rank, line in told if "problem" in line]
    if not said:
        return ""
    _, rank, problem = min(said)
    return str(problem) if order.alone else f"rank {rank}: {problem}"


def _environment(manifest: dict[str, Any], options: ReplayOptions) -> dict[str, str]:
    variables = recorded_environment(manifest)
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
