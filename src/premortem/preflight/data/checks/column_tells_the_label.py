from collections.abc import Iterator
from typing import Any

from premortem.preflight.data.data_facts import DataFacts, Root
from premortem.preflight.data.relations import columns, telling
from premortem.preflight.data.unit import Card, Check, Findings, Severity, Table, whole_tables


class ColumnTellsTheLabel(Check):
    """One column tells the label nearly by itself, and all others together tell far less.

    ## Why it matters
    It may hold what followed from the label: fees after a default, a code that is given when a case is closed. On the day of the
    prediction it will not be there, and the score will not either.

    ## Usual causes
    A table that was exported today, and not as of the day of the decision; a field that is filled in afterwards.

    ## What to do
    Ask when the column is filled. Train once without it: what is left is what the model will be worth.

    ## When it stays silent
    Where other columns tell as much, where the classes touch in this column (a rule that was drawn at a limit), for more than two classes.
    Where no column is called label or target and the script does not show which it predicts, the last column is taken for it, and what is
    found is no more than a note.
    """

    card = Card("PM721", "column-tells-the-label", "data-labels", Severity.WARNING).explaining(
        "column-gives-target-away"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        seen: set[tuple[str, str]] = set()
        for table in (t for t in whole_tables(root) if facts.reads(t.path)):
            for label, wanted, proven in targets(table, facts):
                used = {
                    name: values
                    for name, values in columns.measured(table).items()
                    if name != label and facts.uses(table, name)
                }
                found = telling.teller(used, wanted)
                if found is None or (found.column, label) in seen:
                    continue
                seen.add((found.column, label))
                yield self.finding(
                    f"`{found.column}` of `{table.shown}` tells `{label}` by itself: a limit at {found.cut:g} "
                    f"gets {found.alone:.0%} of both classes right, and all other columns together {found.others:.0%}",
                    cause="The values form two heaps that are the classes, which no other column knows of: the column probably holds what followed "
                    "from the label (a leak of the target).",
                    remedy="Ask when this column is filled; train once without it.",
                    severity=Severity.WARNING if proven else Severity.INFO,
                    file=table.path,
                    column=found.column,
                    target=label,
                )


def targets(table: Table, facts: DataFacts) -> Iterator[tuple[str, Any, bool]]:
    """The column that the script predicts, that is called the label, or the last one, where it has two values; and whether it is sure that
    this is the label."""
    import numpy as np

    last = list(table.cells)[-1:]
    used = [name for name in table.cells if name in facts.targets]
    named = used or [name for name in table.cells if facts.predicts(name)]
    for name in (named or last)[:1]:
        values = sorted(set(table.cells[name]))
        if len(values) == 2 and facts.uses(table, name) and columns.counts():
            codes = np.array([values.index(cell) for cell in table.cells[name]])
            yield name, codes, facts.predicts(name, last=name in last)
