from premortem.preflight.data.tables import Table, is_id
from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity, compared
from premortem.profile.facts import Unrelated
from premortem.profile.joint import is_as_far, unrelated
from premortem.profile.wording import unrelated as said


class ColumnOfOtherRows(Check):
    """One column goes with the others in one split, and does not in the other.

    ## Why it matters
    Each column looks as it should, and so do its mean and its range. But the numbers of one belong to other rows, or mean the opposite.

    ## Usual causes
    A column that was sorted, shuffled or joined by itself; a sign that was turned; a column that was filled from the target
    in one of the files.

    ## What to do
    Join by a key and not by position, and compare how each column goes with the target in both files.

    ## When it stays silent
    When several columns differ, or the other pairs of columns do not agree up to chance: then the data is of another time or place.
    Where the rows were divided by groups (patients, states) or at a time, when some groups or stretches of one file differ as much.
    """

    card = Card("PM627", "column-of-other-rows", "data-order", Severity.WARNING).explaining(
        "column-belongs-to-other-rows", "train-and-val-on-different-scales"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        for first, second in compared.splits(root.tables):
            if first.profile.kind != "table":
                continue
            found = unrelated(first.sample, second.sample)
            if found is None or not facts.uses(first, found.column) or not facts.uses(first, found.other):
                continue
            if is_id(found.column, None) or is_id(found.other, None) or is_of_groups(first, second, found):
                continue
            yield self.finding(
                f"{said(found, f'`{first.shown}`', f'`{second.shown}`')}",
                cause="In one of the files this column belongs to other rows (misaligned), has another sign, or was filled from the "
                "target (a leak).",
                remedy="Join by a key and not by position, and compare in both files how the column goes with the target.",
                file=second.path,
                column=found.column,
                other=found.other,
                first=found.first,
                second=found.second,
            )


def is_of_groups(first: Table, second: Table, found: Unrelated) -> bool:
    """Whether the rows were divided by groups or at a time, and groups or stretches of the first file differ as much in this."""
    column, other = (
        first.numbers(name) if name in first.cells else None for name in (found.column, found.other)
    )
    if column is None or other is None:
        return False
    import numpy as np

    made = np.array(column), np.array(other)
    return any(is_as_far(found, *(each[rows] for each in made)) for rows in compared.likewise(first, second))
