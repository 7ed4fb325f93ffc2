from __future__ import annotations

from itertools import groupby
from math import log
from typing import Any

from premortem.preflight.data.relations import columns
from premortem.preflight.data.unit import Check, DataFacts, Root, Table, compared, some
from premortem.preflight.unit import Card, Finding, Findings, Severity
from premortem.profile.alone import column_of
from premortem.profile.between import WITHIN, along, is_sorted_by, shifts
from premortem.profile.facts import Shift
from premortem.profile.lone import between_splits, is_as_far, two_groups
from premortem.profile.wording import shift

_AT_THE_CUT = 16  # rows on each side, by which it is known how far rows are from each other
_SAME = (
    1.25  # times: no two units are so near each other, and what grows ever faster does so from where it was
)
_WIDER = 4.0  # times: of so few rows the quartiles say no more
_NEXT = 5  # ... and those of them that are next to it


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
    one split and within a file from six spreads and twelve times. Where three other columns agree up to chance, the files were
    drawn alike, and one spread is enough. Where a column is one number in a long stretch of the training rows, too, and
    where the other file goes on where the training rows end.
    """

    card = Card("PM675", "columns-differ-between-files", "data-scale", Severity.WARNING).explaining(
        "labels-follow-in-part",
        "columns-differ-between-phases",
        "train-and-eval-inputs-differ",
        "column-of-other-rows",
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        seen: set[str] = set()
        yield from self._groups(facts, root, seen)
        for first, second in compared.splits(root.tables):
            if first.path in seen:
                continue
            found = [s for s in shifts(first.profile, second.profile) if not goes_over(first, second, s)]
            if not found and first.profile.kind == "table":
                lone = between_splits(first.sample, second.sample)
                found = [lone] if lone and not is_of_groups(first, second, lone) else []
            found = [
                s
                for s in found
                if self._counts(facts, second, s)
                and not is_a_stretch(first, second, s)
                and not divides(first, second, s.column)
            ]
            if found:
                seen |= {first.path, second.path}
                yield self._say(second, f"`{first.shown}`", f"`{second.shown}`", found)
        yield from self._odd_files(facts, root, seen)
        yield from self._halves(facts, root, seen)

    def _odd_files(self, facts: DataFacts, root: Root, seen: set[str]) -> Findings:
        def differ(first: Table, second: Table) -> list[Shift]:
            found = shifts(first.profile, second.profile, far=WITHIN[0], wide=WITHIN[1])
            return [s for s in found if self._counts(facts, second, s)]

        for table, found, number in compared.shards(root.tables, differ):
            if table.path not in seen:
                seen.add(table.path)
                yield self._say(table, f"the {number} files beside it", f"`{table.shown}`", found)

    def _groups(self, facts: DataFacts, root: Root, seen: set[str]) -> Findings:
        """Half of the stations in Celsius, and half in Fahrenheit."""
        for same in compared.numbered(root.tables):
            groups = two_groups([table.sample for table in same]) if same[0].profile.kind == "table" else None
            if groups is None:
                continue
            found_one, few = groups
            table = same[few[0]]
            if self._counts(facts, table, found_one):
                seen |= {compared.numberless(table.path), *(each.path for each in same)}
                odd = [same[at].shown for at in few]
                yield self._say(table, f"the {len(same) - len(few)} files beside it", some(odd), [found_one])

    def _halves(self, facts: DataFacts, root: Root, seen: set[str]) -> Findings:
        for table in root.tables:
            if table.path in seen or table.profile.kind != "table" or in_groups(root, table):
                continue
            found = [s for s in along(table.sample, "table") if self._counts(facts, table, s)]
            if found:
                seen.add(table.path)
                where = f"of `{table.shown}`"
                yield self._say(table, f"the first half {where}", f"the second half {where}", found)

    def _counts(self, facts: DataFacts, table: Table, found: Shift) -> bool:
        return facts.uses(table, found.column) and compared.reportable(table, found)

    def _say(self, table: Table, first: str, second: str, found: list[Shift]) -> Finding:
        names = [each.column for each in found]
        also = f"; also {some(names[1:])} of {len(table.profile.columns)} columns" if len(names) > 1 else ""
        return self.finding(
            f"{shift(found[0], first, second)}{also}",
            cause="The same column does not mean the same in both: other units, another order, or nothing at all.",
            remedy="Select columns by name, convert units where the file is read, or make the odd file again.",
            file=table.path,
            columns=names[:20],
            how=found[0].how,
            first=found[0].first,
            second=found[0].second,
        )


def in_groups(root: Root, table: Table) -> bool:
    """Whether another array of the file says that its rows stand in groups, one behind the other."""
    return any(
        is_sorted_by(other.sample, at)
        for other in root.tables
        if other.path == table.path and other.rows == table.rows and other is not table
        for at in range(len(other.sample.columns))
    )


def is_a_stretch(first: Table, second: Table, found: Shift) -> bool:
    """Whether the number that a column is in the whole second file is what it is in a stretch of the first that is half as long: the flag of
    a year, in rows that were divided at a time."""
    if found.how != "constant" or found.second_spread:
        return False
    place = first.sample.columns.index(found.column)
    rows = sorted(first.sample.kept.values(), key=lambda row: row.place)
    same = [
        len(list(run)) for still, run in groupby(rows, lambda row: row.values[place] == found.second) if still
    ]
    return 2 * max(same, default=0) * first.rows >= second.rows * len(rows)


def goes_over(first: Table, second: Table, found: Shift) -> bool:
    """Whether the second file goes on where the first one ends, however far it leads from there: prices of a hundred years, divided at one of
    them. Another unit begins with the first row."""
    if (
        found.how not in {"shifted", "rescaled"}
        or found.factor <= 0
        or found.column not in first.sample.columns
    ):
        return False
    here, there = (in_order_of_rows(table, found.column) for table in (first, second))
    before, behind = (column_of(found.column, some) for some in (here[-_AT_THE_CUT:], there[:_AT_THE_CUT]))
    last, begin = (column_of(found.column, some) for some in (here[-_NEXT:], there[:_NEXT]))
    if min(before.counted, behind.counted) < _AT_THE_CUT or min(before.middle, behind.middle) <= 0:
        return False
    moves = found.first > 0 and abs(log(max(found.second / found.first, 1e-9))) > 0.5 * abs(log(found.factor))
    if moves and last.median > 0 and 1 / _SAME < begin.median / last.median < _SAME:
        return True
    near = abs(begin.median - last.median) < max(before.middle, behind.middle)
    return near and abs(log(behind.middle / before.middle)) < min(log(_WIDER), 0.5 * abs(log(found.factor)))


def divides(first: Table, second: Table, column: str) -> bool:
    """Whether the rows of both files are sorted by a column, and one file begins where the other ends: it is the time at which they were
    divided."""
    if column not in first.sample.columns:
        return False
    made, more = (in_order_of_rows(table, column) for table in (first, second))
    apart = max(made) <= min(more) or max(more) <= min(made)
    return apart and all(columns.is_in_order(values) for values in (made, more))


def in_order_of_rows(table: Table, column: str) -> Any:
    import numpy as np

    place = table.sample.columns.index(column)
    made = np.array(
        [row.values[place] for row in sorted(table.sample.kept.values(), key=lambda row: row.place)]
    )
    return made[np.isfinite(made)]


def is_of_groups(first: Table, second: Table, found: Shift) -> bool:
    """Whether the rows were divided by groups or at a time, and groups or stretches of the first file differ as much in this."""
    values = first.numbers(found.column) if found.column in first.cells else None
    if values is None:
        return False
    whole = column_of(found.column, values)
    return any(
        is_as_far(found, whole, column_of(found.column, [values[at] for at in rows]))
        for rows in compared.likewise(first, second)
    )
