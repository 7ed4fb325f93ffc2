"""What the newest run of a project has found in a file, at the lines as they stand now: for editors."""

import difflib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from premortem.errors import PremortemError
from premortem.findings import Finding
from premortem.journal import Run, schema
from premortem.journal.folders import HOME
from premortem.report.find import started, written
from premortem.report.finding_view import roots, source

Found = tuple[list[Finding], dict[str, str]]  # findings, and the files as they were


class Blamed:
    """Reads the newest journal of a project again only when it has changed."""

    def __init__(self) -> None:
        self._read: dict[Path, tuple[tuple[Path, float], Found]] = {}

    def __call__(self, project: Path, file: Path, text: str) -> list[Finding]:
        """Those whose line is still there, at its number of now: one that was edited is on its way to be fixed."""
        findings, sources = self._newest(project)
        found = []
        for finding in findings:
            before = source(finding.where.file, sources)
            if not finding.where.line or before is None or not _is(finding.where.file, file, project):
                continue
            line = _now(before.splitlines(), text.splitlines(), finding.where.line)
            if line is not None:
                found.append(replace(finding, where=replace(finding.where, file=str(file), line=line)))
        return found

    def _newest(self, project: Path) -> Found:
        try:
            journal = max((project / HOME / "runs").glob(f"*/{schema.FILE}"), key=started, default=None)
            if journal is None:
                return [], {}
            key = journal, written(journal)
            if project not in self._read or self._read[project][0] != key:
                with Run(journal) as run:
                    self._read[project] = key, (roots(run), run.sources())
        except (PremortemError, OSError, ValueError):  # being written, deleted, or another version's
            return [], {}
        return self._read[project][1]


def _is(blamed: str | None, file: Path, project: Path) -> bool:
    return blamed is not None and (project / blamed).resolve() == file.resolve()


def _now(before: Sequence[str], after: Sequence[str], line: int) -> int | None:
    """Where a line of the old text is in the new one; None when it was changed or removed."""
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for start, now, size in matcher.get_matching_blocks():
        if start < line <= start + size:
            return line - start + now
    return None
