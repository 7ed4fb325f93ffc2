"""Lint's rules over the files that this run reads: the script, what it imports from the project, its configs."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from premortem.findings import Finding, Severity
from premortem.lint import fixes, problems, project, settings, verb
from premortem.lint.configs import SUFFIXES
from premortem.terminal.progress import Progress


def findings(root: Path, entry: Path, paths: Sequence[Path]) -> tuple[list[Finding], int]:
    """As `premortem lint` would say it, with the project's own settings for it; and how many are silenced."""
    asked = settings.read(entry)
    plan = project.plan(root, asked, whole=True)
    outcome = project.check([str(path) for path in paths], plan, None, Progress())
    patches = fixes.each_alone(outcome.diagnostics, outcome.contents)
    found = [verb.finding(one, patch) for one, patch in zip(outcome.diagnostics, patches, strict=True)]
    return [_weighed(one) for one in found if not _is_config_problem(one)], outcome.silenced


def _is_config_problem(finding: Finding) -> bool:
    """That is PM630's."""
    return finding.code == problems.UnreadableFile.card.code and str(finding.where.file).endswith(SUFFIXES)


def _weighed(finding: Finding) -> Finding:
    """A file that this run executes and Python cannot read is no warning any more."""
    broken = finding.code == problems.UnreadableFile.card.code and finding.severity is Severity.WARNING
    bare = replace(finding, severity=Severity.ERROR if broken else finding.severity, evidence={})
    return bare.with_patch(finding.patch)
