import re
from typing import Any

from premortem.preflight.data.relations import columns
from premortem.preflight.data.tables import Table, numbers_in
from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity, compared

_FEWEST = 100  # rows
_MOST = 50  # whole numbers
_MIXED = re.compile(
    r"smote|imblearn|adasyn|mix_?up|cutmix|smooth|synthe|augment|soft_?label|distil", re.IGNORECASE
)
_WHOLE = 0.2  # of the rows are whole numbers in the other split, at most


class RoundedInOneSplit(Check):
    """A column has only whole numbers in one split, and hardly any in the other.

    ## Why it matters
    What lies between two whole numbers is gone in the one. A quantity of small range has a few steps left.

    ## Usual causes
    A type of whole numbers in one export (`astype(int)`), which cuts off what is behind the point.

    ## What to do
    Export the column again with its digits.

    ## When it stays silent
    For wide columns, of which the digits behind the point are a small part: more than 50 whole numbers. Where the whole numbers are those
    of the evaluation, it is no more than a note, and nothing where the script names SMOTE or mixup: the digits of training rows that were mixed
    from others are no loss of the others. For files that the script does not read.
    """

    card = Card("PM739", "rounded-in-one-split", "data-scale", Severity.WARNING)

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        for first, second in compared.splits([t for t in root.tables if t.cells]):
            for table, other in ((first, second), (second, first)):
                trained = table is first
                if facts.reads(table.path) and (trained or not any(map(_MIXED.search, facts.names))):
                    yield from self._pair(facts, table, other, trained)

    def _pair(self, facts: DataFacts, table: Table, other: Table, trained: bool) -> Findings:
        import numpy as np

        fine = columns.measured(other)
        for name, values in fine.items():
            made = numbers(table, name)
            if made is None or min(len(made), len(values)) < _FEWEST or not facts.uses(table, name):
                continue
            there = values[np.isfinite(values)]
            if (
                (made % 1 == 0).all()
                and (there % 1 == 0).mean() <= _WHOLE
                and 1 < len(np.unique(made)) <= _MOST
            ):
                yield self.finding(
                    f"`{name}` has only whole numbers in `{table.shown}` ({len(np.unique(made))} different ones), and digits behind the "
                    f"point in `{other.shown}`",
                    cause="One of the files went through a type of whole numbers: the digits behind the point are lost.",
                    remedy="Export the column again with its digits.",
                    severity=Severity.WARNING if trained else Severity.INFO,
                    file=table.path,
                    column=name,
                )


def numbers(table: Table, name: str) -> Any:
    import numpy as np

    found = numbers_in(table.cells[name]) if name in table.cells else None
    if found is None:
        return None
    made = np.array(found)
    return made[np.isfinite(made)]
