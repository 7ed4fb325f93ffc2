from collections import Counter
from collections.abc import Iterator

from premortem.preflight.data.code.habits import is_target
from premortem.preflight.data.data_facts import DataFacts, Root
from premortem.preflight.data.relations.ahead import Ahead, Base, ahead
from premortem.preflight.data.unit import Card, Check, Findings, Severity, Table, whole_tables

_MOST_TARGETS = 4
_MOST_ALIKE = 3  # tables of the same columns: a file for each site is made by one program


class InputFromLaterRows(Check):
    """The target is a later row, and an input is made from rows after its own.

    ## Why it matters
    The input holds what is to be predicted, or what comes after it. The score is too good, and on the day of the prediction these rows
    are not there.

    ## Usual causes
    `rolling(5, center=True)`; a rolling mean over rows in reversed order; a smoothed column that was made of the whole series; `shift(-1)`
    in place of `shift(1)`.

    ## What to do
    End each window at its own row, and compute the column anew.

    ## How it is seen
    In a table in the order of time, one series or several, the target is some rows later in another column, or its change until then. The
    input is, to rounding, a mean, a sum, the highest or the lowest of that column over a window that reaches to the target.

    ## When it stays silent
    Unless the script, a small file that it reads or the name says which column is the target; where the target is of the same moment; for
    windows that end at their own row; for columns that the script does not use; for windows that begin after their own row, which may be
    other targets, unless a list of inputs has them; where a window that ends in time says the same.
    """

    card = Card("PM742", "input-from-later-rows", "data-labels", Severity.WARNING).explaining(
        "column-gives-target-away"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        said = set[tuple[str, str]]()
        alike = Counter[tuple[str, ...]]()
        for table in (t for t in whole_tables(root) if t.times and facts.reads(t.path)):
            alike[table.columns] += 1
            if alike[table.columns] > _MOST_ALIKE:
                continue
            for target, bases in list(targets(facts, root, table))[:_MOST_TARGETS]:
                inputs, sure = used(facts, root, table, target)
                for found in ahead(table, next(iter(table.times.values())), target, bases, inputs):
                    if (table.path, found.column) in said or (found.start >= 1 and found.column not in sure):
                        continue
                    said.add((table.path, found.column))
                    yield self.finding(
                        f"`{found.column}` of `{table.shown}` is {worded(found)}, in {found.rows:,} of {found.of:,} "
                        f"rows; `{target}`, which is to be predicted, is {meant(found.base)}. A window of {found.end - found.start + 1} that ends at "
                        f"its own row is up to {found.away:.4g} away",
                        cause="The input looks ahead (a leak): it "
                        + (
                            "contains the target."
                            if found.end >= found.base.later
                            else "knows rows that are not there yet."
                        ),
                        remedy="End the window at its own row (`rolling` without `center=True`, on rows in the order of time), and compute the column anew.",
                        file=table.path,
                        column=found.column,
                        target=target,
                        base=found.base.column,
                        later=found.base.later,
                        window=[found.start, found.end],
                        of=found.how,
                    )


def targets(facts: DataFacts, root: Root, table: Table) -> Iterator[tuple[str, list[Base]]]:
    """Columns that are predicted, and what the script makes of later rows."""
    for name, column, rows in sorted(facts.later):
        if column in table.cells and (name in facts.targets or is_target(name)):
            yield name, [Base(column, rows, "")]
    asked = [each for each in root.chosen if each.key in facts.words and is_target(each.key)]
    chosen = {name for each in asked for name in each.names}
    for name in table.cells:
        if name in chosen or facts.predicts(name, last=name == list(table.cells)[-1]):
            yield name, []


def used(facts: DataFacts, root: Root, table: Table, target: str) -> tuple[frozenset[str], frozenset[str]]:
    """The columns that may be inputs, and those that a list of inputs names."""
    lists = [
        each.names
        for each in root.chosen
        if each.key in facts.words and not each.alone and not is_target(each.key)
    ]
    lists = [
        each
        for each in (*lists, *facts.columns)
        if target not in each and len(set(each) & set(table.cells)) >= 2
    ]
    named = {name for each in lists for name in each}
    inputs = frozenset(
        name
        for name in table.cells
        if name not in facts.dropped
        and name not in facts.targets
        and (name in named or (not lists and facts.uses(table, name)))
    )
    return inputs, frozenset(inputs & named)


def worded(found: Ahead) -> str:
    if found.start == found.end:
        return f"`{found.base.column}` {rows(found.end)} later"
    what = found.how if found.how in {"mean", "sum"} else f"{found.how} value"
    begin = (
        f"{rows(-found.start)} before"
        if found.start < 0
        else "its own row"
        if found.start == 0
        else f"{rows(found.start)} after"
    )
    return f"the {what} of `{found.base.column}` from {begin} to {rows(found.end)} after its own"


def meant(base: Base) -> str:
    column = f"`{base.column}`"
    return (
        f"the {base.how} of {column} in the next {rows(base.later)}"
        if base.how
        else f"{column} {rows(base.later)} later"
    )


def rows(number: int) -> str:
    return f"{number} row" + ("" if number == 1 else "s")
