"""A few real steps of the user's own script, a save and a resume, in a scratch folder."""

from __future__ import annotations

from premortem.preflight.project import Part, Project, Tell
from premortem.preflight.unit import Check

ALL: tuple[type[Check], ...] = ()


def survey(project: Project, tell: Tell) -> Part:
    from premortem.rehearsal.director import RehearsalOptions, rehearse

    part = Part(title="Rehearsal")
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
    part.findings += outcome.findings
    part.record = {"facts": outcome.facts.to_json()}
    return part
