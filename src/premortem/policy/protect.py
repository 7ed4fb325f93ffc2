"""protect: the default. A run that can learn nothing any more does not burn another hour."""

from collections.abc import Sequence

from premortem.findings import Finding, Severity
from premortem.policy.base import Decision

# The weights themselves are lost: no later step can bring them back.
_FATAL = frozenset({"weights-stay-non-finite"})


class Protect:
    """Reports, and stops a run whose weights have been non-finite for many steps.

    Everything else is the user's to decide: a model that learns badly may still be wanted.
    """

    def decide(self, finding: Finding, past: Sequence[Finding]) -> Decision:
        if finding.severity is Severity.ERROR and finding.name in _FATAL:
            return Decision.STOP
        return Decision.REPORT
