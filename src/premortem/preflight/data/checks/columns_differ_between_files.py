"""PM675 columns-differ-between-files."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import ClassVar

from premortem.amounts import some
from premortem.cards import Card
from premortem.findings import Finding, Severity
from premortem.preflight.data import compared
from premortem.preflight.data.data_facts import DataFacts, Root
from premortem.preflight.data.names import shown
from premortem.preflight.data.tables import Table
from premortem.preflight.unit import Check
from premortem.profile.alone import ENOUGH
from premortem.profile.between import shifts
from premortem.profile.facts import Shift
from premortem.profile.sample import Sample
from premortem.profile.wording import shift

# Files of one split may come from different days and places, and halves of a file be sorted: they differ more by nature.
_FAR, _WIDE = 6.0, 12.0


class ColumnsDifferBetweenFiles(Check):
    """A column is on another scale, in another place or one number in one file, and not in those beside it.

    ## Why it matters
    The model is taught one thing and asked another, or taught two things under one name. Nothing crashes: a column in feet
    has the same type as one in metres.

    ## Usual causes
    An export whose units changed; a column that is empty in the newer file; columns or colour channels in another order;
    a sensor that was replaced in the middle of a recording.

    ## What to do
    Select columns by name, convert units where the file is read, and make the odd file again.

    ## When it stays silent
    When columns only wander: between splits a shift counts from four spreads and a width from six times, between files of
    one split and within a file from six spreads and twelve times.
    """

    card: ClassVar[Card] = Card(
        code="PM675",
        name="columns-differ-between-files",
        family="data-scale",
        severity=Severity.WARNING,
        explains=("columns-differ-between-phases", "train-and-eval-inputs-differ"),
    )

    def look(self, facts: DataFacts) -> Iterator[Finding]:
        for root in facts.roots:
            seen: set[str] = set()
            for first, second in compared.splits(root.tables):
                found = [s for s in shifts(first.profile, second.profile) if self._counts(facts, second, s)]
                if found:
                    seen |= {first.path, second.path}
                    yield self._say(
                        root, second, f"`{shown(first.shown)}`", f"`{shown(second.shown)}`", found
                    )
            yield from self._odd_files(facts, root, seen)
            yield from self._halves(facts, root, seen)

    def _odd_files(self, facts: DataFacts, root: Root, seen: set[str]) -> Iterator[Finding]:
        def differ(first: Table, second: Table) -> list[Shift]:
            found = shifts(first.profile, second.profile, far=_FAR, wide=_WIDE)
            return [s for s in found if self._counts(facts, second, s)]

        for table, found, number in compared.shards(root.tables, differ):
            if table.path not in seen:
                seen.add(table.path)
                yield self._say(
                    root, table, f"the {number} files beside it", f"`{shown(table.shown)}`", found
                )

    def _halves(self, facts: DataFacts, root: Root, seen: set[str]) -> Iterator[Finding]:
        for table in root.tables:
            if table.path in seen or table.profile.sampled < 4 * ENOUGH or table.profile.kind != "table":
                continue
            first, second = compared.halves(table)
            found = [s for s in shifts(first, second, far=_FAR, wide=_WIDE) if self._counts(facts, table, s)]
            # Sorted rows, and columns that go on growing, differ in all they have in common with the order.
            found = [s for s in found if s.how == "rescaled" or is_a_jump(table, s)]
            if found and len(found) <= max(1, len(first.columns) // 3):
                seen.add(table.path)
                where = f"of `{shown(table.shown)}`"
                yield self._say(root, table, f"the first half {where}", f"the second half {where}", found)

    def _counts(self, facts: DataFacts, table: Table, found: Shift) -> bool:
        return facts.uses(table, found.column) and compared.told(table, found)

    def _say(self, root: Root, table: Table, first: str, second: str, found: list[Shift]) -> Finding:
        names = [each.column for each in found]
        also = f"; also {some(names[1:])} of {len(table.profile.columns)} columns" if len(names) > 1 else ""
        return self.finding(
            f"`{shown(root.name)}`: {shift(found[0], first, second)}{also}",
            cause="The same column does not mean the same in both: other units, another order, or nothing at all.",
            remedy="Select columns by name, convert units where the file is read, or make the odd file again.",
            file=shown(table.path),
            columns=names[:20],
            how=found[0].how,
            first=found[0].first,
            second=found[0].second,
        )


def is_a_jump(table: Table, found: Shift) -> bool:
    """Within each half the rows do not follow their order."""
    place = table.sample.columns.index(found.column)
    return not any(follows_order(half, place) for half in table.sample.halves())


def follows_order(half: Sample, place: int) -> bool:
    rows = sorted(half.kept.values(), key=lambda row: row.place)
    values = [row.values[place] for row in rows]
    rising = sum(b >= a for a, b in pairwise(values))
    return len(values) < 20 or max(rising, len(values) - 1 - rising) > 0.8 * len(values)
