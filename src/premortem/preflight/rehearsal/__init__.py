"""A few real steps of the user's own script, a save and a resume, in a sandbox."""

from pathlib import Path
from typing import Any

from premortem.preflight.project import Part, Project, Tell
from premortem.preflight.rehearsal.checks import ALL
from premortem.preflight.rehearsal.scene import Scene
from premortem.preflight.rehearsal.words import facts_of

__all__ = ["ALL", "survey"]


def survey(project: Project, tell: Tell) -> Part:
    """Raises UsageError when there is no such script."""
    from premortem.rehearsal.director import RehearsalOptions, rehearse

    part = Part(title="Rehearsal")
    if not project.target:
        part.skipped = "no script was named"
        return part
    outcome = rehearse(
        RehearsalOptions(
            folder=project.folder,
            target=project.target,
            module=project.module,
            argv=project.argv,
            steps=project.steps,
            seconds=project.seconds,
            tell=tell,
        )
    )
    scene = Scene(
        facts=outcome.facts,
        findings=outcome.findings,
        proof=outcome.proof,
        no_proof=outcome.no_proof,
    )
    part.interrupted = outcome.interrupted
    part.findings += outcome.findings
    part.judge(ALL, scene)
    if outcome.facts.steps:
        part.facts = facts_of(scene)
    else:
        part.skipped = nothing_trained(scene)
    part.record = {
        "facts": outcome.facts.to_json(),
        "launches": outcome.launches,
        "start_up_seconds": outcome.facts.start_up,
        "epoch_seconds": scene.epoch_seconds,
        "evaluation_seconds": scene.evaluation_seconds,
        "save_seconds": scene.save_seconds,
        "eta_seconds": scene.total_seconds,
        **checkpoints(scene),
    }
    return part


def checkpoints(scene: Scene) -> dict[str, Any]:
    """Of a script that writes a new file at each save: how large, how many, where."""
    rehearsed = scene.facts
    numbered = [save for save in rehearsed.saved if save.numbered and save.bytes]
    if not numbered or not rehearsed.epochs:
        return {}
    last = numbered[-1]
    folder = str(Path(last.path).parent)
    return {"checkpoint_bytes": last.bytes, "checkpoint_count": rehearsed.epochs, "checkpoint_folder": folder}


def nothing_trained(scene: Scene) -> str:
    """One sentence: why there was no training step."""
    rehearsed = scene.facts
    if rehearsed.faults:
        return f"premortem itself failed in the script's process ({rehearsed.faults[0]})"
    if rehearsed.ended == "late":
        return f"the script made no training step within {rehearsed.seconds:.0f} s (see --seconds)"
    if rehearsed.ended == "interrupted":
        return "interrupted before the first training step"
    if rehearsed.refused:
        return f"the sandbox refused a write, and the script ended over it: {rehearsed.message[:300]}. {rehearsed.sandbox['note']}"
    if rehearsed.ended in {"crashed", "died"} or (rehearsed.ended == "exited" and rehearsed.code):
        lines = [line.strip() for line in rehearsed.tail.splitlines() if line.strip()]
        return f"the script ended before its first training step: {(lines or [rehearsed.message])[-1][:300]}"
    return "the script ran to its end without a training step: no optimizer of torch's was stepped"
