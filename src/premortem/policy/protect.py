"""protect: the default. A run that can learn nothing any more does not burn another hour."""

from collections.abc import Sequence

from premortem.findings import Finding, Severity
from premortem.policy.base import Decision

# The weights themselves are lost: no later step can bring them back.
_FATAL = frozenset({"weights-stay-non-finite", "refused-too-often"})


class Protect:
    """Refuses updates that are not finite, and ends a run in which nothing else comes any more.

    Everything else is the user's to decide: a model that learns badly may still be wanted.
    """

    refuses = True

    def decide(self, finding: Finding, past: Sequence[Finding]) -> Decision:
        if finding.severity is Severity.ERROR and finding.name in _FATAL:
            return Decision.STOP
        return Decision.REPORT
