"""Two changes at once: where a script has two faults, removing one of them may show nothing. Pure."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from premortem.why.verdict import FAILED, HELPS, NOTHING, SKIPPED, Row, least_of

AND = "+"


def parts(change: str) -> list[str]:
    """The names of the changes that are put on together."""
    return change.split(AND)


def pairs(rows: Sequence[Row]) -> list[Row]:
    """Those that may be tried together, the most promising first. One of them removes a mistake: two settings are a third
    one. Of two that pull the same lever one is enough."""
    tried = [row for row in rows if row.learning and row.family and row.verdict not in {FAILED, SKIPPED}]
    found = []
    for first, second in combinations(tried, 2):
        if first.family != second.family and (_mistake(first) or _mistake(second)):
            promise = sum(max(0.0, row.gain.size) for row in (first, second))
            found.append((promise, together(first, second)))
    return [row for _, row in sorted(found, key=lambda each: (not each[1].supported, -each[0]))]


def together(first: Row, second: Row) -> Row:
    """Named after the mistake in it, the more specific one where both are."""
    lead, other = sorted((first, second), key=_rank)
    if lead.learning is None or other.learning is None:
        raise ValueError("a proposal cannot be put on")
    both = replace(
        lead.learning,
        title=f"{lead.title} + {other.title}",
        same_loss=lead.learning.same_loss and other.learning.same_loss,
        least=max(lead.learning.least, other.learning.least),
        slow=lead.learning.slow or other.learning.slow,
        certain=False,
        finding="",
        remedy="; ".join(filter(None, (lead.learning.remedy, other.learning.remedy))),
    )
    return Row(
        AND.join((lead.change, other.change)),
        both.title,
        "sets",
        lead.family,
        supported=lead.supported or other.supported,
        learning=both,
    )


def settle(row: Row, rows: Sequence[Row]) -> None:
    """Two that help no more than one of them are that one."""
    alone = [each for each in rows if each.change in parts(row.change) and each.verdict == HELPS]
    best = max(alone, key=lambda each: each.gain.size, default=None)
    if len(parts(row.change)) == 1 or row.verdict != HELPS or best is None:
        return
    if row.gain.size < best.gain.size + least_of(row):
        row.verdict, row.why = NOTHING, f"no more than {best.title} alone"


def _mistake(row: Row) -> bool:
    return row.learning is not None and row.learning.mistake


def _rank(row: Row) -> tuple[bool, bool, int]:
    return not _mistake(row), not row.supported, row.learning.order if row.learning else 0
