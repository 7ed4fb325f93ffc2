from premortem.preflight.data.data_facts import LABELS, DataFacts, Root
from premortem.preflight.data.tables import is_id
from premortem.preflight.data.unit import Card, Check, Findings, Severity, Table, compared

_TIMES = (
    10  # that a row of the training file comes, on average: rare classes that are shown more often stay below
)
_ENOUGH = 200  # rows
_OWN = 2  # rows of one value, on average: beyond that it is a category
_AT_MOST = 3.0  # equal pairs that may be there where none was seen, in nineteen of twenty draws


class FewRowsManyTimes(Check):
    """The training file holds few different rows, each of them many times; the file beside it does not.

    ## Why it matters
    The file looks large and says little: a handful of samples is learnt by heart, the rest is hardly seen, and what is measured on other
    rows is far worse than the loss of the training.

    ## Usual causes
    A join with a table that has many rows for one key; a file that was written to again and again; `np.resize` where rows were missing.

    ## What to do
    Join with one row for each key, or drop the copies: `DataFrame.drop_duplicates()`.

    ## When it stays silent
    Below ten copies of a row on average, and where rows of the other split repeat as often: then they are alike by nature. Where the other
    file has other columns, or the script does not read one of them; and where rows have nothing but ids, labels and categories, which repeat
    by nature.
    """

    card = Card("PM715", "few-rows-many-times", "data-order", Severity.WARNING)

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        for first, second in compared.splits(root.tables):
            if not (facts.reads(first.path) and facts.reads(second.path)):
                continue
            if first.sample.columns != second.sample.columns or not copied(first, second):
                continue
            distinct = first.sample.distinct
            yield self.finding(
                f"the {first.sample.rows:,} rows of `{first.shown}` are {distinct:,} different rows, repeated "
                f"{first.sample.rows / distinct:.0f} times on average; of `{second.shown}`, {second.sample.distinct:,} of "
                f"{second.sample.rows:,} rows are distinct",
                cause="Rows were duplicated: a join found many partners for one key, or the file was written to more than once.",
                remedy="Join with one row for each key, or remove the copies, before you train.",
                file=first.path,
                rows=first.sample.rows,
                distinct=distinct,
            )


def copied(first: Table, second: Table) -> bool:
    """Whether rows of the first repeat as they would not if both were drawn alike, by the pairs that are equal in the second."""
    if set(first.columns) != set(second.columns) or not measures(second):
        return False
    rows, others = first.sample.rows, second.sample.rows
    distinct = min(first.sample.distinct, rows)
    if min(rows, others) < _ENOUGH or distinct * _TIMES > rows:
        return False
    equal = max(_AT_MOST, others - min(second.sample.distinct, others))
    by_nature = equal * (rows / others) ** 2
    return rows - distinct > 2 * by_nature


def measures(table: Table) -> bool:
    """Whether a column, of those that are neither ids nor labels, has so many values that few rows share one."""
    if not table.columns:
        return True  # an array
    few = {name for name, values in table.categories.items() if _OWN * len(values) < table.read}
    return any(
        name not in few and name.lower() not in LABELS and not is_id(name, None) for name in table.columns
    )
