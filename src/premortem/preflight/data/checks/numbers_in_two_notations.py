from premortem.preflight.data.cells import Notation
from premortem.preflight.data.data_facts import DataFacts, Root
from premortem.preflight.data.names import shown
from premortem.preflight.data.tables import Table
from premortem.preflight.unit import Card, Check, Finding, Findings, Severity

_FEWEST = 3  # cells of each
_SHARE = 0.01


class NumbersInTwoNotations(Check):
    """Numbers of one column are written with a decimal comma in some rows or files, and with a decimal point in others.

    ## Why it matters
    Code that reads the one makes ten or a hundred times the number of the other, or nothing at all. No cell is empty and nothing
    crashes.

    ## Usual causes
    Exports from machines with other regional settings; commas that the script takes for marks between thousands.

    ## What to do
    Export all files with the same settings, or read each with its own `decimal` and `thousands`.

    ## When it stays silent
    For numbers that can be read both ways (1,234), below three cells of a notation, and for commas that the code turns into points.
    """

    card = Card(
        "PM628",
        "numbers-in-two-notations",
        "data-scale",
        Severity.WARNING,
        explains=("columns-differ-between-files", "column-of-other-rows"),
    )

    def look(self, facts: DataFacts) -> Findings:
        for root in facts.roots:
            for table in (t for t in root.tables if "=" not in t.part):
                for column, found in table.notations.items():
                    if not facts.uses(table, column):
                        continue
                    least = max(_FEWEST, _SHARE * (found.commas + found.points))
                    if found.commas >= least and found.points >= least:
                        yield self._mixed(root, table, column, found)
                    elif found.commas >= least and facts.drops_commas:
                        yield self._dropped(root, table, column, found)

    def _mixed(self, root: Root, table: Table, column: str, found: Notation) -> Finding:
        return self.finding(
            f"`{shown(root.name)}`: `{shown(column)}` of `{shown(table.shown)}` is written with a decimal comma in {found.commas:,} rows "
            f"(`{shown(found.example)}`) and with a decimal point in {found.points:,} (`{shown(found.other)}`)",
            cause="The rows come from machines with other regional settings (locale): read in one way, the numbers of the others are on "
            "another scale.",
            remedy="Export all rows with the same settings, or convert each source with its own decimal mark.",
            file=shown(table.path),
            column=column,
        )

    def _dropped(self, root: Root, table: Table, column: str, found: Notation) -> Finding:
        return self.finding(
            f"`{shown(root.name)}`: `{shown(column)}` of `{shown(table.shown)}` has a decimal comma in {found.commas:,} rows "
            f"(`{shown(found.example)}`), and the script drops commas as marks between thousands",
            cause="The file was written with other regional settings (locale) than the code expects: its numbers become ten or a hundred "
            "times as large, on another scale.",
            remedy="Export the file with decimal points, or turn the comma into a point where it is read.",
            file=shown(table.path),
            column=column,
        )
