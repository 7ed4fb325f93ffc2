"""PM646 shard-comes-twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from premortem.amounts import share
from premortem.cards import Card
from premortem.findings import Finding, Severity
from premortem.preflight.data.data_facts import DataFacts
from premortem.preflight.data.names import shown
from premortem.preflight.unit import Check


class ShardComesTwice(Check):
    """Two files of one split hold the same samples, under other names.

    ## Why it matters
    The samples that should be in the second file are missing, and those of the first weigh twice. Sizes and counts are as expected.

    ## Usual causes
    A download that was tried again and stored under the next name; a job that wrote its part twice.

    ## What to do
    Fetch the file again, and compare checksums of what is inside.

    ## When it stays silent
    When less than nine tenths of a file are in the other, and for files whose rows repeat by nature.
    """

    card: ClassVar[Card] = Card(
        code="PM646",
        name="shard-comes-twice",
        family="data-order",
        severity=Severity.WARNING,
        explains=("copies-within-split",),
    )

    def look(self, facts: DataFacts) -> Iterator[Finding]:
        for root in facts.roots:
            for first, second, shared, of in root.twice:
                yield self.finding(
                    f"`{shown(root.name)}`: {shared} of {of} samples of `{shown(second)}` ({share(shared, of)}) are those of `{shown(first)}`",
                    cause="The second file is the first once more: what should be in it is missing.",
                    remedy=f"Fetch or make `{shown(second)}` again.",
                    files=[shown(first), shown(second)],
                    shared=shared,
                    of=of,
                )
