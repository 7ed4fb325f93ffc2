from premortem.preflight.data import compared
from premortem.preflight.data.times import Times, length
from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity, minute

_SUMMER = 1.0  # hours, by which the offset of one zone changes in a year
_LATER = 0.1  # of the training's time, by which a split that is later begins later


class TimesDoNotFit(Check):
    """The times of two files are in other zones, or a later split begins before the training data ends.

    ## Why it matters
    Eight hours in a zone move every hour of the day. A forecast that is judged on days it was trained on is remembered.

    ## Usual causes
    Two exports, one in UTC and one in local time; a cutoff that was moved in one file and not in the other; windows that reach
    over the cutoff.

    ## What to do
    Convert all times to UTC where files are read. End the training data where the evaluation begins, less the length of a window.

    ## When it stays silent
    When offsets differ by an hour, as summer time does; when rows are not in the order of their times; when both splits cover the
    same time, as those of a random split do; of times in other units, which PM648 reports.
    """

    card = Card("PM644", "times-do-not-fit", "data-order", Severity.WARNING)

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        yield from self._beside(facts, root)
        for first, second in compared.splits(root.tables):
            for column, times in second.times.items():
                known = first.times.get(column)
                if known is None or not facts.uses(second, column):
                    continue
                names = (first.shown, second.shown)
                if other_zones(known, times):
                    yield self.finding(
                        f"`{column}` is {zones(known)} in `{names[0]}` and {zones(times)} in "
                        f"`{names[1]}` (`{known.example}`, `{times.example}`)",
                        cause="The same hour means another time of the day in each of them.",
                        remedy="Convert both to UTC where the files are read.",
                        column=column,
                        files=list(names),
                    )
                elif overlap(known, times):
                    yield self.finding(
                        f"`{names[0]}` goes from {minute(known.first)} to {minute(known.last)}, "
                        f"`{names[1]}` from {minute(times.first)} to {minute(times.last)}: they overlap",
                        cause=f"The splits are cut by `{column}`, and their times overlap: a part of what is judged was "
                        "trained on.",
                        remedy="End the training data where the evaluation begins.",
                        column=column,
                        files=list(names),
                    )

    def _beside(self, facts: DataFacts, root: Root) -> Findings:
        """Tables of other columns, row for row of the same length and step, whose clocks are hours apart: they are joined by them."""
        timed = [
            (table, column, times)
            for table in root.tables
            for column, times in table.times.items()
            if times.step and times.rising and facts.reads(table.path) and facts.uses(table, column)
        ]
        for at, (first, column, one) in enumerate(timed):
            for second, other, two in timed[at + 1 :]:
                if first.path == second.path or first.sample.columns == second.sample.columns:
                    continue
                if first.rows == second.rows and (hours := apart(one, two)):
                    names = (first.shown, second.shown)
                    yield self.finding(
                        f"the times of `{names[0]}` and `{names[1]}` are {abs(hours):g} hours apart: the one goes from "
                        f"{minute(one.first)} to {minute(one.last)}, the other from {minute(two.first)} to {minute(two.last)}, in {first.rows} rows each",
                        cause=f"Both have a row for each {length(one.step)} of the same stretch, and one of them is shifted as another time zone "
                        f"would shift it: joined by `{column}`, rows do not belong together.",
                        remedy="Convert both to UTC where the files are read.",
                        column=other,
                        files=list(names),
                        hours=hours,
                    )


def apart(first: Times, second: Times) -> float:
    """Hours, as a zone is: half ones, up to fourteen. One row is a lag, and meant."""
    start, end = second.first - first.first, second.last - first.last
    if start != end or first.step != second.step or first.unit != second.unit or abs(start) <= first.step:
        return 0.0
    return start / 3600 if start % 1800 == 0 and abs(start) <= 14 * 3600 else 0.0


def other_zones(first: Times, second: Times) -> bool:
    if first.zones & second.zones or first.unit or second.unit:
        return False
    if "" in first.zones | second.zones:
        return True
    return min(abs(offset(a) - offset(b)) for a in first.zones for b in second.zones) > _SUMMER


def offset(zone: str) -> float:
    if zone == "Z":
        return 0.0
    sign = -1 if zone[0] == "-" else 1
    return sign * (int(zone[1:3]) + int(zone[-2:]) / 60)


def zones(times: Times) -> str:
    return " and ".join(zone or "without a zone" for zone in sorted(times.zones)[:3])


def overlap(first: Times, second: Times) -> bool:
    """Each begins where the other has not, and they have a part in common."""
    length = first.last - first.first
    later = second.first > first.first + _LATER * length and second.last > first.last
    earlier = second.first < first.first and second.last < first.last - _LATER * length
    both = min(first.last, second.last) > max(first.first, second.first)
    return first.unit == second.unit and first.rising and second.rising and (later or earlier) and both
