from typing import Any

from premortem.preflight.data import compared
from premortem.preflight.data.cells import is_key
from premortem.preflight.data.checks.column_tells_the_label import targets
from premortem.preflight.data.data_facts import DataFacts
from premortem.preflight.data.names import shown
from premortem.preflight.data.relations import leaking
from premortem.preflight.data.tables import Table, is_id
from premortem.preflight.unit import Card, Check, Findings, Severity


class ColumnTellsInTrainingOnly(Check):
    """One column tells the label nearly by itself in the training rows, and hardly in the rows that are judged; other columns say the same in both.

    ## Why it matters
    The model leans on this column and looks perfect in training. Where the column does not know the answer yet, little is left.

    ## Usual causes
    A count that went on after the outcome (calls to a customer who has left, visits after a diagnosis), in rows that were exported later than the others.

    ## What to do
    Count up to the day of the decision, or leave the column out. Train once without it: what is left is what the model will be worth.

    ## How it is measured
    How often the column puts a row of the one class above one of the other. In each of more than a hundred parts of the training rows, drawn at random and one after the
    other, and chosen as the other split was, it is worth far more than in the other split.

    ## When it stays silent
    Where half of what the column is worth is left; where the column grows along the rows or goes on to other values; where no other column says the same of the label in both splits, as then the labels may be wrong; for more than two
    classes, and below 20 rows of a class. Where the script does not show that it predicts this label, it is no more than a note.
    """

    card = Card(
        "PM746",
        "column-tells-in-training-only",
        "data-labels",
        Severity.WARNING,
        explains=("column-tells-the-label", "column-gives-target-away", "columns-differ-between-files"),
    )

    def look(self, facts: DataFacts) -> Findings:
        for root in facts.roots:
            for first, second in compared.splits([t for t in root.tables if t.cells]):
                if not (facts.reads(first.path) and facts.reads(second.path)):
                    continue
                for label, codes, proven in targets(first, facts):
                    values = sorted(set(first.cells[label]))
                    cells = second.cells.get(label, ())
                    if not cells or set(cells) != set(values):
                        continue
                    one, two = (numbers(table, label, facts) for table in (first, second))
                    others = [values.index(cell) for cell in cells]
                    found = leaking.leak(first, second, one, two, codes, as_codes(others))
                    if found is None:
                        continue
                    yield self.finding(
                        f"`{shown(root.name)}`: `{shown(found.column)}` alone puts {found.first:.0%} of all pairs of both `{shown(label)}` in the right order in "
                        f"`{shown(first.shown)}`, and {found.second:.0%} in `{shown(second.shown)}`; `{shown(found.other)}` says the same in both",
                        cause="The column holds what followed from the label in the training rows, and does not know it yet in the others (a leak of the target).",
                        remedy="Count up to the day of the decision; train once without this column.",
                        severity=Severity.WARNING if proven else Severity.INFO,
                        file=shown(first.path),
                        column=found.column,
                        target=label,
                    )


def numbers(table: Table, label: str, facts: DataFacts) -> dict[str, Any]:
    """Columns of numbers that are neither ids nor keys nor times."""
    import numpy as np

    made = {name: table.numbers(name) for name in table.cells if name != label and name not in table.times}
    return {
        name: np.array(values)
        for name, values in made.items()
        if values is not None and not is_key(name) and not is_id(name, values) and facts.uses(table, name)
    }


def as_codes(values: list[int]) -> Any:
    import numpy as np

    return np.array(values)
