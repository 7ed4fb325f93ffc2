"""The kit that checks are written with: a card, and findings from what a part has surveyed."""

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from premortem.cards import Card
from premortem.findings import Certainty, Finding, Severity, Where

__all__ = ["Card", "Certainty", "Check", "Finding", "Findings", "Severity", "Where"]

Findings = Iterator[Finding]


class Check:
    """Looks at what its part has surveyed and yields a finding when it is sure.

    Built without arguments, pure: the part gathers the facts, the check judges them. So a check can be tested with
    facts that no machine at hand has.
    """

    card: ClassVar[Card]

    def look(self, facts: Any) -> Iterable[Finding]:
        raise TypeError(f"{type(self).__name__} does not look")

    def finding(
        self,
        message: str,
        *,
        cause: str = "",
        remedy: str = "",
        where: Where | None = None,
        severity: Severity | None = None,
        certainty: Certainty = Certainty.MEASURED,
        step: int = 0,
        **evidence: Any,
    ) -> Finding:
        return Finding(
            code=self.card.code,
            name=self.card.name,
            family=self.card.family,
            severity=severity or self.card.severity,
            certainty=certainty,
            step=step,
            where=where or Where(),
            message=message,
            cause=cause,
            remedy=remedy,
            evidence={name: value for name, value in evidence.items() if value is not None},
        )
