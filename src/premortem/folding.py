"""One root cause, one finding: what a cause explains is folded under it, whichever was seen first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from premortem.cards import Card
from premortem.findings import Certainty, Finding, Severity

_WEIGHT = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}


def fold(findings: Sequence[Finding], cards: Mapping[str, Card]) -> list[Finding]:
    """Findings without those another one explains; errors first, each in the order it was seen.

    A cause keeps the names of what it swallowed as evidence (`also`), weighs as much as the heaviest of them (a
    likely cause of a certain failure is the error), and dates from the first of them: that is when it showed.
    A habit (`info`) explains nothing louder.
    """
    cause_of: dict[str, str] = {}
    for cause in findings:
        for name in explained_by(cause, cards):
            if name != cause.name and cause_of.get(cause.name) != name:
                if any(f.name == name and may_swallow(cause, f) for f in findings):
                    cause_of.setdefault(name, cause.name)
    kept = []
    for finding in findings:
        if finding.name not in cause_of:
            below = [f for f in findings if f.name != finding.name and root(f.name, cause_of) == finding.name]
            kept.append(weighed(finding, below) if below else finding)
    return sorted(kept, key=lambda f: _WEIGHT[f.severity])


def without_surpassed(found: Sequence[Finding], finding: Finding) -> list[Finding]:
    """What was found so far, without what this one says better: the same diagnosis, then only measured."""
    if finding.certainty is not Certainty.PROVED:
        return list(found)
    return [f for f in found if f.code != finding.code or f.certainty is Certainty.PROVED]


def root(name: str, cause_of: Mapping[str, str]) -> str:
    seen = set()
    while name in cause_of and name not in seen:
        seen.add(name)
        name = cause_of[name]
    return name


def weighed(cause: Finding, below: Sequence[Finding]) -> Finding:
    heaviest = min((f.severity for f in (cause, *below)), key=_WEIGHT.__getitem__)
    first = min(f.step for f in (cause, *below))
    return replace(cause, severity=heaviest, step=first).with_evidence(also=sorted({f.name for f in below}))


def explained_by(finding: Finding, cards: Mapping[str, Card]) -> tuple[str, ...]:
    card = cards.get(finding.code)
    return card.explains if card is not None else ()


def may_swallow(cause: Finding, consequence: Finding) -> bool:
    return cause.severity is not Severity.INFO or consequence.severity is Severity.INFO
