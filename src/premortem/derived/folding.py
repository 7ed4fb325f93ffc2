"""One root cause, one finding: what a cause explains is folded under it, whichever was seen first.

The catalog says what may explain what (`Card.explains` and its two narrower forms); the findings say whether it can be
so in this run: at this place, at this time. That gives a graph of findings. Of every group that nothing else explains,
the one seen first is kept, so what is dropped is always explained by something that is kept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from premortem.cards import Card
from premortem.findings import Certainty, Finding, Severity, Where

_WEIGHT = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}
# The numbers of a step are read one or two steps late, and an alarm looks at the next few more closely: so many steps
# earlier than its sudden cause a consequence may still be dated.
_SLACK = 8


def fold(findings: Sequence[Finding], cards: Mapping[str, Card]) -> list[Finding]:
    """Findings without those another one explains; errors first, each in the order it was seen.

    A cause keeps the names of what it swallowed as evidence (`also`), and weighs as much as the heaviest of them: a
    likely cause of a certain failure is the error. Its step stays its own. A habit (`info`) explains nothing louder.
    """
    below = _explained(findings, cards)
    reached = [_reachable(start, below) for start in range(len(findings))]
    kept = [
        index
        for index in range(len(findings))
        # Nothing explains it, except what it explains itself and what was seen later.
        if all(index < cause and cause in reached[index] for cause in _causes(index, reached))
    ]
    under: dict[int, list[Finding]] = {index: [] for index in kept}
    for index in set(range(len(findings))) - set(kept):
        root = min(kept, key=lambda cause: (index not in below[cause], index not in reached[cause], cause))
        under[root].append(findings[index])
    folded = [_weighed(findings[index], under[index]) for index in kept]
    return sorted(folded, key=lambda finding: _WEIGHT[finding.severity])


def without_surpassed(found: Sequence[Finding], finding: Finding) -> list[Finding]:
    """What was found so far, without what this one says better: the same diagnosis, then only measured."""
    if finding.certainty is not Certainty.PROVED:
        return list(found)
    return [f for f in found if f.code != finding.code or f.certainty is Certainty.PROVED]


def _explained(findings: Sequence[Finding], cards: Mapping[str, Card]) -> list[list[int]]:
    """For each finding the places in the list of those that it explains."""
    named: dict[str, list[int]] = {}
    for index, finding in enumerate(findings):
        named.setdefault(finding.name, []).append(index)
    symptoms = [index for index, finding in enumerate(findings) if _is_symptom(finding, cards)]
    below = []
    for cause in findings:
        card = cards.get(cause.code)
        shown = [] if _is_symptom(cause, cards) or cause.severity is Severity.INFO else symptoms
        names = () if card is None else (*card.explains, *card.explains_here, *card.explains_later)
        candidates = sorted({other for name in names if name != cause.name for other in named.get(name, ())})
        below.append(sorted({*shown, *(o for o in candidates if card and _fits(card, cause, findings[o]))}))
    return below


def _is_symptom(finding: Finding, cards: Mapping[str, Card]) -> bool:
    card = cards.get(finding.code)
    return card is not None and card.symptom


def _fits(card: Card, cause: Finding, consequence: Finding) -> bool:
    """Whether what the catalog holds for possible can be so here."""
    if cause.severity is Severity.INFO and consequence.severity is not Severity.INFO:
        return False
    if (
        card.sudden
        and consequence.step < cause.step - _SLACK
        and not _same_line(cause.where, consequence.where)
    ):
        return False
    name = consequence.name
    return (
        name in card.explains
        or (name in card.explains_here and not _apart(cause.where, consequence.where))
        or (name in card.explains_later and consequence.step >= cause.step)
    )


def _same_line(one: Where, other: Where) -> bool:
    return bool(one.file and one.line) and (one.file, one.line) == (other.file, other.line)


def _apart(one: Where, other: Where) -> bool:
    """Whether both say where they are, as closely as both can, and it is not the same place."""
    if one.parameter and other.parameter:
        return one.parameter != other.parameter
    if one.module and other.module:
        outer, inner = sorted((one.module, other.module), key=len)
        return not f"{inner}.".startswith(f"{outer}.")
    return bool(one.line and other.line) and not _same_line(one, other)


def _reachable(start: int, below: Sequence[Sequence[int]]) -> set[int]:
    """All that one finding explains, and what those explain in turn."""
    reached: set[int] = set()
    waiting = list(below[start])
    while waiting:
        index = waiting.pop()
        if index not in reached:
            reached.add(index)
            waiting.extend(below[index])
    return reached


def _causes(index: int, reached: Sequence[set[int]]) -> list[int]:
    return [cause for cause, all_below in enumerate(reached) if index in all_below and cause != index]


def _weighed(cause: Finding, below: Sequence[Finding]) -> Finding:
    if not below:
        return cause
    heaviest = min((f.severity for f in (cause, *below)), key=_WEIGHT.__getitem__)
    # What was folded before, by a rank for itself, stays folded.
    also = {f.name for f in below}.union(*(f.evidence.get("also", ()) for f in (cause, *below)))
    return replace(cause, severity=heaviest).with_evidence(also=sorted(also - {cause.name}))
