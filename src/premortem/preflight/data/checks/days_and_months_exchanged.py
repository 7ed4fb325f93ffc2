from itertools import pairwise

from premortem.preflight.data.data_facts import DataFacts, Root
from premortem.preflight.data.unit import Card, Check, Findings, Severity, whole_tables

_RISING = 0.995  # of the rows, once days and months have changed places
_FEWEST = 50  # rows that are exchanged


class DaysAndMonthsExchanged(Check):
    """Days up to the twelfth are written as months: put back, the file is in the order of its times, and as it stands it is not.

    ## Why it matters
    Only rows whose day may be a month are moved, by weeks or months. Sorted by time, a series is shuffled; cut by time, the training has
    seen what it is judged by.

    ## Usual causes
    A program that reads 03/04 as it likes, and can read 13/04 in one way only.

    ## What to do
    Read dates with their format (`format="%d/%m/%Y"`), never by guessing.

    ## When it stays silent
    When the file is in order as it stands, and when exchanging does not bring it into order.
    """

    card = Card("PM712", "days-and-months-exchanged", "data-order", Severity.WARNING)

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        for table in whole_tables(root):
            for column in table.times:
                cells = table.cells[column]
                put_back = [exchanged(cell) for cell in cells]
                moved = sum(a != b for a, b in zip(cells, put_back, strict=True))
                if moved < _FEWEST or not facts.uses(table, column) or rising(list(cells)) >= _RISING:
                    continue
                if rising(put_back) >= _RISING:
                    example = next((a, b) for a, b in zip(cells, put_back, strict=True) if a != b)
                    yield self.finding(
                        f"in {moved:,} rows of `{table.shown}` day and month of `{column}` are exchanged (`{example[0]}` "
                        f"for `{example[1]}`): put back, the rows are in the order of their times",
                        cause="A program took days up to the twelfth for months.",
                        remedy="Read dates with their format, and never by guessing.",
                        file=table.path,
                        column=column,
                        rows=moved,
                    )


def exchanged(cell: str) -> str:
    year, month, day, rest = cell[:4], cell[5:7], cell[8:10], cell[10:]
    may = cell[4:5] == "-" and cell[7:8] == "-" and month.isdigit() and day.isdigit() and int(day) <= 12
    return f"{year}-{day}-{month}{rest}" if may else cell


def rising(cells: list[str]) -> float:
    return sum(a <= b for a, b in pairwise(cells)) / max(1, len(cells) - 1)
