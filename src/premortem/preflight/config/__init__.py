"""The settings, as the script will read them."""

from premortem.preflight.config.checks import ALL
from premortem.preflight.project import Part, Project, Tell

__all__ = ["ALL", "survey"]
TITLE = "Configuration and code"


def survey(project: Project, tell: Tell) -> Part:
    from premortem.preflight.config import gathering, linting

    if not project.target:
        return Part(title=TITLE, skipped="no script is named")
    facts, read = gathering.gather(project, tell)
    part = Part(title=TITLE, facts=gathering.lines(facts, read), record=gathering.record(facts))
    part.judge(ALL, facts)
    if read.entry is not None:
        tell("reading the code")
        code = [read.entry, *(path for path in read.paths if path != read.entry)]
        configs = [file.path for file in facts.files if not file.missing]
        found, part.silenced = linting.findings(read.root, read.entry, [*code, *configs])
        part.findings += found
    return part
