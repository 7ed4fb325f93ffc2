import re
from typing import Any

from premortem.preflight.data.checks.another_unit_in_a_part import alike
from premortem.preflight.data.data_facts import DataFacts, Root
from premortem.preflight.data.relations import columns
from premortem.preflight.data.unit import Card, Check, Findings, Severity, Table, share, whole_tables

_MANY = 0.25  # of the rows at one end, where nothing else says that it is one
_SOME = 0.05  # ... where another file goes beyond it
_TIMES = 8.0  # as many as another value has
_LEVELS = (
    8.0  # times as often as the middle one a value of ten comes: an index of a few levels, and no measure
)
_NOTED = 0.95  # of the rows at the end have one mark,
_ELSEWHERE = 0.1  # ... and so many of the others another;
_ONLY = 0.9  # ... where no name says that the column is a time: then the mark stands for the end, and for hardly anything else
_LASTS = re.compile(
    r"(^|[^a-z])(fu|os|pfs|dfs|exit|(fol|sur)\w*)?(time|days?|weeks?|months?|years?|hours?|duration|tenure|follow\w*|surv\w*|exit)([^a-z]|$)"
)
_NATURAL = frozenset({0.0, 1.0, -1.0, 10.0, 100.0, 255.0})  # ends that are meant


class CutAtACeiling(Check):
    """A column ends at one value, at which a large part of its rows lies.

    ## Why it matters
    Everything beyond is one number. What the column was to tell apart there is gone, and a target that ends so cannot be predicted.

    ## Usual causes
    A meter at the end of its range; a type that holds no larger number; ages and incomes that were cut for privacy.

    ## What to do
    Ask for the uncut column, or mark the rows at the end.

    ## When it stays silent
    At 0, 1, 10, 100 and 255, which are ends by nature; for an index of a few levels; for a time until something happens, where another column
    marks the rows at the end, in which it has not happened yet; below a quarter of the rows, or five percent where another file goes beyond. Where no
    other file goes beyond it and the end is no round number, it is no more than a note: a formula ends somewhere, too.
    """

    card = Card("PM706", "cut-at-a-ceiling", "data-scale", Severity.WARNING)

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        seen: set[str] = set()
        for first, second in alike(root.tables):
            one, two = columns.measured(first), columns.measured(second)
            for name in [n for n in one if n in two and facts.uses(second, n)]:
                for table, here, other, there in ((first, one, second, two), (second, two, first, one)):
                    found = end(here[name], _SOME)
                    if found is None or name in seen:
                        continue
                    value, number, of, high = found
                    beyond = int((there[name] > value).sum() if high else (there[name] < value).sum())
                    if beyond >= _SOME * len(there[name]):
                        seen.add(name)
                        yield self.finding(
                            f"`{name}` of `{table.shown}` ends at {value:g}, where {number:,} of {of:,} rows lie "
                            f"({share(number, of)}); in `{other.shown}` {beyond:,} rows go beyond it",
                            cause="The values of one file were cut: a meter at the end of its range, or a type that holds no larger number.",
                            remedy="Ask for the uncut column, or mark these rows.",
                            file=table.path,
                            column=name,
                            value=value,
                        )
        for table in whole_tables(root):
            for name, values in columns.measured(table).items():
                found = end(values, _MANY) if facts.uses(table, name) and name not in seen else None
                if found is not None and not is_noted(table, name, values == found[0]):
                    value, number, of, _ = found
                    seen.add(name)
                    yield self.finding(
                        f"`{name}` of `{table.shown}` ends at {value:g}, where {number:,} of {of:,} rows lie "
                        f"({share(number, of)}), and the values before it come one by one",
                        cause="All that lies beyond was set to this value.",
                        remedy="Ask for the uncut column, or mark these rows.",
                        severity=Severity.WARNING if is_chosen(value) else Severity.INFO,
                        file=table.path,
                        column=name,
                        value=value,
                    )


def is_noted(table: Table, name: str, at_the_end: Any) -> bool:
    """Whether a column of two values marks the rows at the end: of a time until something happens, which has not happened there."""
    import numpy as np

    elsewhere = _ELSEWHERE if _LASTS.search(name.lower()) else _ONLY
    for other, cells in table.cells.items():
        marks = np.array(cells)
        if other != name and len(set(cells)) == 2:
            mark = max(set(cells), key=marks[at_the_end].tolist().count)
            if (marks[at_the_end] == mark).mean() >= _NOTED and (
                marks[~at_the_end] != mark
            ).mean() >= elsewhere:
                return True
    return False


def is_chosen(value: float) -> bool:
    """A number at which a person or a type cuts: 45, 104, 0.95, 65535. Not 6.90775, which is where a formula ends."""
    limit = abs(value) + 1
    return float(f"{value:.3g}") == value or (limit.is_integer() and int(limit).bit_count() == 1)


def end(values: Any, least: float) -> tuple[float, int, int, bool] | None:
    """The end at which that part of the rows lies: its value, rows there, rows in all, and whether it is the upper one."""
    import numpy as np

    made = values[np.isfinite(values)]
    if len(made) < 100:
        return None
    found, counts = np.unique(made, return_counts=True)
    if len(found) < columns.VARIED:
        return None
    usual = float(np.quantile(counts[1:-1], 0.9))
    if usual > _LEVELS * np.median(counts[1:-1]):
        return None
    for at, high in ((-1, True), (0, False)):
        value, number = float(found[at]), int(counts[at])
        nearest = abs(found[at] - found[at - 1 if high else 1])
        spread = float(found[-2] - found[1])
        if (
            value in _NATURAL
            or number < least * len(made)
            or number < _TIMES * usual
            or nearest > 0.2 * spread
        ):
            continue
        return value, number, len(made), high
    return None
