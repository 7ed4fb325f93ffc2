from collections.abc import Iterator
from itertools import combinations, islice

from premortem.preflight.data.data_facts import DataFacts, Root
from premortem.preflight.data.relations import clocks, columns
from premortem.preflight.data.times import Times
from premortem.preflight.data.unit import Card, Check, Findings, Severity, Table, minute, whole_tables

_MOST_PAIRS = 24  # of tables: the largest take a second each


class ClockChangesMidway(Check):
    """From one row on the clock of a series is that of another time zone.

    ## Why it matters
    The hour of the day is off for all rows behind: what a model has learnt about the morning is asked about the night. Joined to another
    table by time, rows do not belong together.

    ## Usual causes
    A new logger or gateway that writes UTC where the old one wrote local time; two exports that were put together.

    ## What to do
    Bring all rows to one zone before the hour is computed and before tables are joined.

    ## How it is seen
    The clock jumps, and the day of a column moves with it. Or two tables that are joined by time go together best at one lag up to some
    moment, and at another one from there on.

    ## When it stays silent
    For a change by one hour (summer time), for gaps behind which the days go on as before, and for series without a rhythm of the day
    that no other table follows; for times that are written with several zones; where other columns of the same two tables keep their lag.
    """

    card = Card("PM720", "clock-changes-midway", "data-order", Severity.WARNING).explaining(
        "columns-differ-between-files", "uninformative-labels"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        named = set[str]()
        timed = list(clocked(facts, root))
        for table, column, times in timed:
            if table.path in named:
                continue
            found = clocks.zone_changes(times.head, times.step, columns.measured(table))
            if found is not None:
                named.add(table.path)
                way = "back" if found.hours < 0 else "ahead"
                yield self.finding(
                    f"at row {found.row:,} of `{table.shown}` ({minute(times.head[found.row])}) the clock in "
                    f"`{column}` jumps {way} by {abs(found.hours):g} hours, and the day of `{found.column}` moves with it: the hours "
                    f"before and behind correlate at {found.before:.2f} as they stand, and at {found.after:.2f} once the clock is put right",
                    cause="The timestamps are of another time zone from there on (UTC and local time).",
                    remedy="Bring all rows to one time zone before the hour is computed.",
                    file=table.path,
                    column=column,
                    row=found.row,
                    hours=found.hours,
                )
        yield from self._beside(facts, [each for each in timed if each[0].path not in named])

    def _beside(self, facts: DataFacts, timed: list[tuple[Table, str, Times]]) -> Findings:
        pairs = (
            (one, two)
            for one, two in combinations(timed, 2)
            if one[0].path != two[0].path
            and one[0].columns != two[0].columns
            and one[2].step == two[2].step
            and facts.reads(one[0].path)
            and facts.reads(two[0].path)
        )
        named = set[str]()
        for both in islice(pairs, _MOST_PAIRS):
            if named & {table.path for table, *_ in both}:
                continue
            first, second = (
                (times.head, {n: v for n, v in columns.measured(table).items() if facts.uses(table, n)})
                for table, _, times in both
            )
            found = clocks.lag_changes(first, second, both[0][2].step)
            if found is None:
                continue
            table, column, _ = both[found.first is False]
            other = both[found.first is not False][0]
            named |= {table.path} if found.first is not None else {table.path, other.path}
            jump = f"; there `{column}` of `{table.shown}` " + (
                f"leaves out {found.jump:g} hours" if found.jump > 0 else f"has {-found.jump:g} hours twice"
            )
            yield self.finding(
                f"`{found.column}` of `{both[0][0].shown}` and `{found.other}` of `{both[1][0].shown}` go "
                f"together best at a lag of {found.before:g} hours up to {minute(found.at)}, and of {found.behind:g} hours from there on (behind it they "
                f"correlate at {found.alike:.2f}, and at the lag before it at {found.stands:.2f})"
                + (jump if found.first is not None else ""),
                cause="The timestamps of one of the two are of another time zone from there on (UTC and local time): joined by time, rows do not "
                "belong together.",
                remedy="Bring all rows to one time zone before the tables are joined.",
                file=table.path,
                other=other.path,
                column=column,
                hours=found.behind - found.before,
            )


def clocked(facts: DataFacts, root: Root) -> Iterator[tuple[Table, str, Times]]:
    """Tables with a row for each step of a clock, all rows of which are known; times with a zone of their own in each row are right as
    they are."""
    for table in whole_tables(root):
        for column, times in table.times.items():
            if (
                times.step
                and len(times.head) == table.rows
                and len(times.zones) <= 1
                and facts.uses(table, column)
            ):
                yield table, column, times
