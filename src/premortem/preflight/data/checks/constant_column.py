import re

from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity, Table, some
from premortem.profile.alone import constants
from premortem.profile.wording import amount

_NEARLY = 0.95  # of the cells: the last evening of a year is the first of the next one elsewhere


class ConstantColumn(Check):
    """A column that the script uses is the same number in every row of a file.

    ## Why it matters
    A feature without information: the model is trained without it, and nothing else shows that.

    ## Usual causes
    A join that failed and left the default; a sensor that stands still; a column that was overwritten when the file was made.

    ## What to do
    Look at the column where the file is made, and count its different values.

    ## When it stays silent
    For 0 and 1, which are written on purpose; when a fifth of the columns are like it; and when the script names columns of
    the file and not this one. When the number says what the file is of: the year of a survey, or what stands in the file's name or
    in the cells of another column, as the year does in the dates of one year.
    """

    card = Card("PM679", "constant-column", "data-scale", Severity.WARNING).explaining(
        "column-is-one-number", "columns-differ-between-phases"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        for table in (t for t in root.tables if t.split in {"", "train"} and "=" not in t.part):
            found = [
                c
                for c in constants(table.profile)
                if facts.uses(table, c.name) and not _describes(table, c.name, amount(c.low))
            ]
            if found:
                yield self.finding(
                    f"{some([c.name for c in found])} {'is' if len(found) == 1 else 'are'} "
                    f"{amount(found[0].low)} in all {table.rows:,} rows of `{table.shown}`: a constant column",
                    cause="A feature has a single value, while the columns beside it vary.",
                    remedy="Look at the column where the file is made: a join that failed, a sensor that stands still.",
                    file=table.path,
                    columns=[c.name for c in found][:20],
                    value=found[0].low,
                )


def _describes(table: Table, column: str, number: str) -> bool:
    """Whether the constant says what the table is of."""

    def stands_in(text: str) -> bool:
        return number in re.findall(r"\d+", text)

    others = [cells for name, cells in table.cells.items() if name != column]
    return (
        is_time(column)
        or stands_in(table.path)
        or any(len(set(cells)) > 1 and sum(map(stands_in, cells)) >= _NEARLY * len(cells) for cells in others)
    )


def is_time(column: str) -> bool:
    """`year`, `survey_month`: when the rows are from. A join or a sensor that fails sets no clock."""
    return bool(set(re.split(r"[^a-z]+", column.lower())) & {"year", "month", "quarter"})
