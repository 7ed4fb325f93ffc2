"""One root cause, one finding: what a cause explains is folded under it, whichever was seen first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from premortem.cards import Card
from premortem.findings import Finding, Severity

_WEIGHT = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}


def fold(findings: Sequence[Finding], cards: Mapping[str, Card]) -> list[Finding]:
    """Findings without those another one explains; errors first, each in the order it was seen.

    A cause keeps the names of what it swallowed as evidence (`also`). An error is only swallowed by an
    error: a suspicion does not outweigh a certainty.
    """
    swallowed: dict[str, str] = {}
    for cause in findings:
        for name in explained_by(cause, cards):
            if name != cause.name and swallowed.get(cause.name) != name:
                if any(f.name == name and may_swallow(cause, f) for f in findings):
                    swallowed.setdefault(name, cause.name)
    kept = []
    for finding in findings:
        if finding.name in swallowed:
            continue
        also = sorted({f.name for f in findings if swallowed.get(f.name) == finding.name})
        kept.append(finding.with_evidence(also=also) if also else finding)
    return sorted(kept, key=lambda f: _WEIGHT[f.severity])


def explained_by(finding: Finding, cards: Mapping[str, Card]) -> tuple[str, ...]:
    card = cards.get(finding.code)
    return card.explains if card is not None else ()


def may_swallow(cause: Finding, consequence: Finding) -> bool:
    return _WEIGHT[cause.severity] <= _WEIGHT[consequence.severity]
