"""`premortem.check_modules()`: for notebooks and other processes that live long."""

from pathlib import Path

from premortem.findings import Finding
from premortem.preflight.environment.checks.source_changed_since_import import SourceChangedSinceImport
from premortem.preflight.environment.modules import stale_modules
from premortem.terminal.console import Console


def check_modules(folder: str | Path | None = None) -> list[Finding]:
    """Say which imported modules of this project have changed on the disk since: what runs is then the old code.

    `folder` is the project's; without it, the working folder.
    """
    findings = stale_findings(folder)
    console = Console()
    for finding in findings:
        console.finding(finding)
    return findings


def stale_findings(folder: str | Path | None = None) -> list[Finding]:
    """The same, without a word."""
    stale = stale_modules(folder=Path(folder) if folder is not None else None)
    return list(SourceChangedSinceImport().look(stale))
