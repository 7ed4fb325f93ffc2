"""The machine and the folders, without running anything."""

from premortem.preflight.environment.checks import ALL
from premortem.preflight.environment.checks.deadline_too_close import DeadlineTooClose
from premortem.preflight.environment.checks.quota_too_small import QuotaTooSmall
from premortem.preflight.environment.checks.source_changed_since_import import SourceChangedSinceImport
from premortem.preflight.project import Part, Project, Tell
from premortem.preflight.unit import Check

__all__ = ["ALL", "STATIC", "TIME", "survey"]

# What waits for the rehearsal to say how long the run takes.
TIME: tuple[type[Check], ...] = (DeadlineTooClose, QuotaTooSmall)
# What is known before anything runs.
STATIC = tuple(check for check in ALL if check not in {*TIME, SourceChangedSinceImport})


def survey(project: Project, tell: Tell) -> Part:
    from premortem.preflight.environment import gathering

    facts, read = gathering.gather(project, tell)
    part = Part(title="Environment", facts=gathering.lines(facts, read), record=gathering.record(facts))
    part.judge(STATIC, facts)
    return part
