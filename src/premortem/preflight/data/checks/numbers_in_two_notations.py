from premortem.preflight.data.cells import Notation
from premortem.preflight.data.relations import thousands
from premortem.preflight.data.unit import Check, DataFacts, Root, Table, count, some, whole_tables
from premortem.preflight.unit import Card, Finding, Findings, Severity

_FEWEST = 3  # cells of each
_SHARE = 0.01


class NumbersInTwoNotations(Check):
    """Numbers of one column are written in two ways: with a decimal comma and with a decimal point, or with a mark between thousands that is
    read as the decimal mark.

    ## Why it matters
    Code that reads the one makes ten or a hundred times the number of the other, or nothing at all. 1234 that is written `1.234` becomes a
    thousandth of what it is. No cell is empty and nothing crashes.

    ## Usual causes
    Exports from machines with other regional settings; commas that the script takes for marks between thousands.

    ## What to do
    Export all files with the same settings, or read each with its own `decimal` and `thousands`.

    ## How it is measured
    Three digits behind a mark may be thousands or thousandths. They are thousands where every marked cell of the column has exactly three digits
    and keeps the zeros at its end, all others are whole numbers, and read as thousands they go on where the numbers below 1000 end, or are
    distributed as the thousands of the other rows; as they stand they lie far below the whole numbers.

    ## When it stays silent
    For numbers that can be read both ways (1,234) and do not pass that test, below three cells of a notation (ten, of thousands), for commas that
    the code turns into points, and for points that it removes.
    """

    card = Card("PM628", "numbers-in-two-notations", "data-scale", Severity.WARNING).explaining(
        "columns-differ-between-files", "column-of-other-rows", "another-unit-in-a-part"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        for table in (t for t in root.tables if "=" not in t.part):
            for column, found in table.notations.items():
                if not facts.uses(table, column):
                    continue
                least = max(_FEWEST, _SHARE * (found.commas + found.points))
                if found.commas >= least and found.points >= least:
                    yield self._mixed(table, column, found)
                elif found.commas >= least and facts.drops_commas:
                    yield self._dropped(table, column, found)
        if not facts.drops_points:
            yield from self._thousands(facts, root, ".")
        if facts.turns_commas:
            yield from self._thousands(facts, root, ",")

    def _thousands(self, facts: DataFacts, root: Root, mark: str) -> Findings:
        whole = whole_tables(root)
        seen = set()
        for table in whole:
            for column in table.cells:
                found = thousands.within(table, column, mark) if facts.uses(table, column) else None
                if found is not None:
                    seen.add((table.columns, column))
                    yield self._grouped(table, column, found, mark)
        for family in thousands.families(whole):
            for column in family[0].cells:
                if (family[0].columns, column) not in seen and facts.uses(family[0], column):
                    odd = thousands.across(family, column, mark)
                    if odd is not None:
                        yield self._grouped(odd[0], column, odd[1], mark, others=len(family) - 1)

    def _grouped(
        self, table: Table, column: str, found: thousands.Thousands, mark: str, others: int = 0
    ) -> Finding:
        how = "a point" if mark == "." else "a comma"
        where, beside = "", f"beside whole numbers such as `{found.plain}`" if found.plain else ""
        if found.where is not None:
            words = some(found.where[1])
            where = f", all where `{found.where[0]}` is {words}"
        if others:
            beside = f"while {count(others, 'other file')} with these columns {'has' if others == 1 else 'have'} none"
        return self.finding(
            f"{found.rows:,} of {found.of:,} cells in `{column}` of `{table.shown}` have {how} between thousands "
            f"(`{found.example}`), {beside}{where}: read as thousands they fit the other numbers, and as decimals they do not",
            cause=f"The rows come from a machine with other regional settings (locale): a reader that takes {how} for the decimal mark makes a "
            "thousandth of these numbers.",
            remedy=f'Read these rows as text and remove the mark, with `thousands="{mark}"` for instance, or export them without it.',
            file=table.path,
            column=column,
            cells=found.rows,
        )

    def _mixed(self, table: Table, column: str, found: Notation) -> Finding:
        return self.finding(
            f"`{column}` of `{table.shown}` is written with a decimal comma in {found.commas:,} rows "
            f"(`{found.example}`) and with a decimal point in {found.points:,} (`{found.other}`)",
            cause="The rows come from machines with other regional settings (locale): read in one way, the numbers of the others are on "
            "another scale.",
            remedy="Export all rows with the same settings, or convert each source with its own decimal mark.",
            file=table.path,
            column=column,
        )

    def _dropped(self, table: Table, column: str, found: Notation) -> Finding:
        return self.finding(
            f"`{column}` of `{table.shown}` has a decimal comma in {found.commas:,} rows "
            f"(`{found.example}`), and the script drops commas as marks between thousands",
            cause="The file was written with other regional settings (locale) than the code expects: its numbers become ten or a hundred "
            "times as large, on another scale.",
            remedy="Export the file with decimal points, or turn the comma into a point where it is read.",
            file=table.path,
            column=column,
        )
