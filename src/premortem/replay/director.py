"""Launches the script again and again until the plan is done.

Each launch is a process of its own, in the recorded folder, with the recorded arguments (`scriptrun/`).
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from premortem.errors import UsageError
from premortem.replay.autopsy import Plan, Report
from premortem.replay.capsule import NotReplayable, read_manifest
from premortem.replay.crew import launch
from premortem.replay.order import Order
from premortem.replay.siblings import found, siblings
from premortem.replay.started import script_of
from premortem.replay.together import joined
from premortem.scriptrun.run import Plan as ScriptPlan
from premortem.scriptrun.run import Script, ScriptRun

MOST_LAUNCHES = 24
SECONDS = 600  # for one launch
# Of the recorded environment only these are set again, and only to words of this kind.
_AGAIN = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "PYTHONHASHSEED",
    "CUBLAS_WORKSPACE_CONFIG",
    "NVIDIA_TF32_OVERRIDE",
)
_WORD = re.compile(r"[\w:,.-]{1,64}")


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
    sandbox: dict[str, Any] = field(default_factory=dict)


def replay(options: ReplayOptions) -> Replayed:
    """Raises PremortemError when there is nothing to launch."""
    capsules = siblings(found(options.capsule))
    manifests = [read_manifest(each) for each in capsules]
    manifest = joined(manifests)
    cwd = _folder(options, manifest)
    for capsule in capsules:
        _check_trust(options, capsule, cwd, manifest)
    argvs = [each["started"]["argv"] for each in manifests]
    plan = ScriptPlan(play="premortem.replay.child:play")
    variables = _environment(manifest, options)
    script = Script.from_words(argvs[0], cwd)
    with ScriptRun(script, plan, environment=variables, show_output=options.show_output) as run:
        order = Order(
            capsules=capsules,
            shared=run.shared,
            argvs=argvs,
            options={"quick": options.quick, "cpu": options.cpu},
        )
        return _direct(run, order, manifest, options)


def _direct(run: ScriptRun, order: Order, manifest: dict[str, Any], options: ReplayOptions) -> Replayed:
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
        problem, done.tail, done.sandbox = launch(run, order, options.seconds)
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


def _environment(manifest: dict[str, Any], options: ReplayOptions) -> dict[str, str]:
    recorded = manifest["started"].get("environment", {})
    variables = {
        name: recorded[name]
        for name in _AGAIN
        if isinstance(recorded.get(name), str) and _WORD.fullmatch(recorded[name])
    }
    if options.cpu:
        variables["CUDA_VISIBLE_DEVICES"] = ""
    return variables


# --- may it be launched? ---------------------------------------------------------------------


def _folder(options: ReplayOptions, manifest: dict[str, Any]) -> Path:
    recorded = manifest["started"].get("cwd")
    cwd = options.cwd or Path(str(recorded))
    if not cwd.is_dir():
        raise NotReplayable(
            f"the folder {cwd} of the recorded run is not here; say where its script is with --cwd DIR"
        )
    cwd = Path(os.path.realpath(cwd))
    script = script_of(manifest["started"]["argv"], str(cwd))
    if script is not None and not script.is_file():
        raise NotReplayable(f"the script {script} is not here any more; a replay runs the script itself")
    return cwd


def _check_trust(options: ReplayOptions, capsule: Path, cwd: Path, manifest: dict[str, Any]) -> None:
    """A capsule brings no code, but it says which command to start: one from a stranger must be asked about."""
    if options.trust or (capsule.is_relative_to(cwd) and options.cwd is None):
        return
    command = " ".join(["python", *manifest["started"]["argv"]])
    raise UsageError(
        f"this capsule does not lie in the folder of its run; it would start `{command}` in {cwd}. "
        "If that is what you want, add --trust"
    )
