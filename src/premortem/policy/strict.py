"""strict: the first error ends the run."""

from collections.abc import Sequence

from premortem.findings import Finding, Severity
from premortem.policy.base import Decision


class Strict:
    """Stops at the first error: for tests, continuous integration and short queues."""

    refuses = True

    def decide(self, finding: Finding, past: Sequence[Finding]) -> Decision:
        return Decision.STOP if finding.severity is Severity.ERROR else Decision.REPORT
