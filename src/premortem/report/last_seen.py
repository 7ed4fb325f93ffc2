"""What runs of this folder have found under a code: the newest one that has anything of it."""

from collections.abc import Iterable
from pathlib import Path

from premortem.errors import PremortemError
from premortem.findings import Finding
from premortem.journal import Run, schema
from premortem.journal.folders import HOME
from premortem.report.find import written
from premortem.report.finding_view import roots

_MOST = 20  # runs that are asked


def last_seen(codes: Iterable[str], folder: Path) -> dict[str, tuple[str, Finding]]:
    """Code -> the name of the run, and the finding: proved ones first. What cannot be read is passed over."""
    wanted, found = set(codes), {}
    journals = sorted((folder / HOME / "runs").glob(f"*/{schema.FILE}"), key=written, reverse=True)
    for journal in journals[:_MOST]:
        if not wanted:
            break
        try:
            with Run(journal) as run:
                known = roots(run)
        except (PremortemError, OSError, ValueError):
            continue
        for finding in sorted(known, key=lambda each: each.certainty.value != "proved"):
            if finding.code in wanted:
                wanted.discard(finding.code)
                found[finding.code] = (journal.parent.name, finding)
    return found
