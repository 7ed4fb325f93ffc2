"""observe: say it, touch nothing."""

from collections.abc import Sequence

from premortem.findings import Finding
from premortem.policy.base import Decision


class Observe:
    """Only reports."""

    refuses = False

    def decide(self, finding: Finding, past: Sequence[Finding]) -> Decision:
        return Decision.REPORT
