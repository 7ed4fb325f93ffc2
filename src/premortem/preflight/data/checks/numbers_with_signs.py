import re

from premortem.amounts import is_number
from premortem.preflight.data.data_facts import DataFacts, Root
from premortem.preflight.data.unit import Card, Check, Findings, Severity, share, whole_tables

# A sign or three letters before a number, or anything short behind it; one letter before it is the code of something (V573).
_SIGNED = re.compile(r"^(?:[^\w\s+\-.,]{1,3}|[A-Z]{3})\s?[+-]?\d[\d.,]*$|^[+-]?\d[\d.,]*\s?[^\d\s.,]{1,4}$")
_PLAIN = 0.3  # of the cells are numbers as they are,
_SOME = 0.02  # ... and so many have a sign or a unit
_OPEN = re.compile(r"^(<=?|≤|>=?|≥)?\s?(\d+(?:\.\d+)?)\s?(\+)?$")
_ENDS = 2
_ANSWERS = 20  # that people choose from
_TYPES = re.compile(r"^\d+[a-z]$", re.IGNORECASE)  # 3a is the number of a house


class NumbersWithSigns(Check):
    """A column of numbers has a currency, a unit or a percent sign in a part of its rows.

    ## Why it matters
    Code that turns what it cannot read into 0 or NaN takes these rows for nothing, and code that removes the sign takes percent for
    shares and kilograms for grams.

    ## Usual causes
    A form that people fill in; two exports put together.

    ## What to do
    Take the sign off where the file is read, convert by it, and stop at a cell that is not a number then.

    ## When it stays silent
    When all cells have one, below two percent of them, for numbers followed by one letter, which name things, and for answers that are open at
    the ends (`<5`, 5, 6, 7, `8+`).
    """

    card = Card("PM714", "numbers-with-signs", "data-scale", Severity.WARNING)

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        for table in whole_tables(root):
            for column, cells in table.cells.items():
                if not facts.uses(table, column):
                    continue
                odd = [
                    c
                    for c in cells
                    if not is_number(c) and _SIGNED.match(c.strip()) and not _TYPES.match(c.strip())
                ]
                plain = sum(map(is_number, cells)) if odd else 0
                if odd and is_open_at_the_ends(odd, [float(cell) for cell in cells if is_number(cell)]):
                    continue
                if (
                    len(odd) >= max(5, _SOME * len(cells))
                    and plain >= _PLAIN * len(cells)
                    and plain + len(odd) >= 0.9 * len(cells)
                ):
                    yield self.finding(
                        f"{len(odd):,} of {len(cells):,} cells of `{column}` in `{table.shown}` ({share(len(odd), len(cells))}) are "
                        f"written with a sign or a unit, such as `{odd[0]}`; the others are plain numbers",
                        cause="The rows come from two sources, and one of them writes what the number means into the cell.",
                        remedy="Take the sign off where the file is read, and convert by it.",
                        file=table.path,
                        column=column,
                        rows=len(odd),
                    )


def is_open_at_the_ends(odd: list[str], plain: list[float]) -> bool:
    """The first or the last of a few answers, beyond all others: `<5` before 5, `10+` after 9. A limit below which nothing was measured has
    numbers on both sides, or is another one in each series."""
    for cell in set(odd):
        found = _OPEN.match(cell.strip())
        if found is None or not plain:
            return False
        number, below = float(found[2]), found[1] in {"<", "≤", "<="}
        if not (number <= min(plain) if below else number >= max(plain)):
            return False
    return len(set(odd)) <= _ENDS and len(set(plain)) <= _ANSWERS
