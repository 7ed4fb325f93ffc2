from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from math import isfinite

from premortem.preflight.data.data_facts import DataFacts, Root
from premortem.preflight.data.relations.columns import VARIED
from premortem.preflight.data.tables import is_whole
from premortem.preflight.data.unit import Card, Check, Findings, Severity, Table, compared, share, some
from premortem.profile.between import FEWEST, only_in
from premortem.profile.facts import Profile

_CHANCE = 1e-3  # that rows which come throughout a file all come after a time
_FEW = 60  # values: a column with more of them is no list of classes


class CategoryOnlyInOneSplit(Check):
    """The validation or test split has a class, or a category, that the training split never shows.

    ## Why it matters
    No network answers with a class it has never seen: every row of it is counted as wrong. A category of an input that was
    never trained has an embedding that is still random.

    ## Usual causes
    A download or an export that broke off; labels numbered from 0 in one file and from 1 in the other; another spelling; a
    split by time or place that a class does not share.

    ## What to do
    Count the labels of all splits where they are made, and make the training split again.

    ## When it stays silent
    When the splits have hardly a value in common, as names and identifiers, and when so few rows have it that chance
    explains it. For what is not predicted: where the column is a quantity; where a value comes in few stretches of the file, or in
    few of the patients or shops by which the rows were divided; where the rows were divided at a time, and the value comes only some time
    after that (a company that is listed since).
    """

    card = Card("PM676", "category-only-in-one-split", "data-labels", Severity.WARNING).explaining(
        "class-only-in-evaluation", "labels-numbered-differently", "odd-label"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        for first, second in compared.splits(root.tables):
            for column, counts in second.categories.items():
                known = first.categories.get(column)
                values = {value: number for value, number in counts.items() if value.strip()}
                if known and len(values) <= _FEW and facts.uses(second, column):
                    if not facts.predicts(column) and is_natural(first, second, column):
                        continue
                    yield from self._compare(column, (first.shown, known), (second.shown, values))
        folders = {(entry.place, entry.split): dict(entry.counts) for entry in root.classes if entry.split}
        for (place, split), counts in folders.items():
            trained = folders.get((place, "train"))
            if split != "train" and trained:
                yield from self._compare(
                    "class folder",
                    (place.replace("*", "train"), trained),
                    (place.replace("*", split), counts),
                )

    def _compare(self, column: str, first: compared.Counted, second: compared.Counted) -> Findings:
        one = Profile("", classes=tuple(first[1].items()))
        two = Profile("", classes=tuple(second[1].items()))
        absent = only_in(one, two)
        if not absent:
            return
        total, rows = sum(second[1].values()), sum(number for _, number in absent)
        names = [label for label, _ in absent]
        others = [label for label, _ in only_in(two, one)]
        back = f" {some(others)} only in the former." if others else ""
        yield self.finding(
            f"`{column}` is {some(names)} in {rows} of {total} rows of `{second[0]}` "
            f"({share(rows, total)}), and in no row of `{first[0]}`",
            cause=f"Class{'es' if len(names) > 1 else ''} {some(names)}: missing from the training split.{back}",
            remedy="Count the values where the files are made, and make the training split again.",
            column=column,
            classes=names[:20],
            rows=rows,
            of=total,
        )


def is_natural(first: Table, second: Table, column: str) -> bool:
    """Whether the column is a quantity, of which not each value has to come; or its values come in stretches, or the rows were divided by
    groups, and chance explains which of these have the value."""
    if column not in first.cells or column not in second.cells:
        return False
    one, two = first.cells[column], second.cells[column]
    if is_quantity(first.numbers(column)) or comes_later(first, second, column):
        return True
    units = [([key for key, _ in groupby(one)], [key for key, _ in groupby(two)])]
    for _, here, there in compared.groupings(first, second):
        units.append((in_groups(here, one), in_groups(there, two)))
    return any(
        not only_in(*(Profile("", classes=tuple(Counter(each).items())) for each in both)) for both in units
    )


def comes_later(first: Table, second: Table, column: str) -> bool:
    """Whether the rows were divided at a time, and what only the later ones have begins after that: another way of writing begins with them."""
    import numpy as np

    cells = np.array(second.cells[column])
    new = [cells == value for value in sorted(second.values(column) - first.values(column))]
    new = [rows for rows in new if rows.sum() >= FEWEST]
    return bool(new) and any(
        all((there >= there[rows].min()).mean() ** rows.sum() < _CHANCE for rows in new)
        for here, there in compared.at_a_time(first, second)
        if here.max() <= there.min() and np.isfinite(there).all()
    )


def in_groups(groups: Sequence[str], cells: Sequence[str]) -> list[str]:
    """Each value once for each group that has it."""
    return [cell for _, cell in set(zip(groups, cells, strict=True))]


def is_quantity(values: Sequence[float] | None) -> bool:
    """Not the numbers of classes, which are few, whole and leave hardly one out."""
    found = {value for value in values or () if isfinite(value)}
    return len(found) > 1 and (
        len(found) > VARIED or not is_whole(list(found)) or max(found) - min(found) >= 2 * len(found)
    )
