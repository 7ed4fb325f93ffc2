from premortem.amounts import share
from premortem.preflight.data.data_facts import DataFacts
from premortem.preflight.data.names import shown
from premortem.preflight.unit import Card, Check, Findings, Severity


class NumberWentRound(Check):
    """A column was stored in a type of whole numbers that cannot hold it: beyond the end of the type its numbers go on at the other end.

    ## Why it matters
    300 in 8 bits is 44. The largest numbers become small ones, and nothing crashes: the column has its usual type and no value outside of it.

    ## Usual causes
    A table that was made smaller by one type for all columns (`astype("uint8")`), a type that was chosen from the first rows, a counter
    of a device with 16 bits.

    ## What to do
    Store the column again in a wider type, from the source.

    ## How it is measured
    The other file is taken round the end of the type. Then the two are distributed alike, up to chance, and by no other reading are they: neither as
    they stand, nor without the rows that the type cannot hold, nor with these set to its end.

    ## When it stays silent
    For numbers that fill their range evenly in both files, such as hashes and angles; where all numbers moved alike, as from another start; below 100 rows; for
    files and columns that the script does not read. Where the file does not have the type itself, as in CSV, or its numbers fill the type evenly, it is a warning.
    """

    card = Card(
        "PM743",
        "number-went-round",
        "data-scale",
        Severity.ERROR,
        explains=(
            "columns-differ-between-files",
            "columns-differ-between-phases",
            "train-and-eval-inputs-differ",
            "another-unit-in-a-part",
            "labels-follow-in-part",
            "numbers-with-signs",
        ),
    )

    def look(self, facts: DataFacts) -> Findings:
        for root in facts.roots:
            used = {t.path: t for t in root.tables if t.cells}
            for found in root.wrapped:
                table = used.get(found.path)
                if not (facts.reads(found.path) and facts.reads(found.other_path)):
                    continue
                if table is not None and not facts.uses(table, found.column):
                    continue
                column = f"`{shown(found.column)}` of " if found.column else ""
                yield self.finding(
                    f"`{shown(root.name)}`: {column}`{shown(found.shown)}` went round the end of {found.dtype}: `{shown(found.other)}` goes up to {found.highest:,.6g} "
                    f"({share(found.beyond, found.of)} of its rows are beyond that type), and taken round its end it is distributed as this file is",
                    cause=f"The numbers were stored as {found.dtype}, which cannot hold them: those beyond its end came out at the other one.",
                    remedy="Store the column again from its source, in a wider type.",
                    severity=None if found.stored and not found.evenly else Severity.WARNING,
                    file=shown(found.path),
                    column=found.column,
                    beyond=found.beyond,
                )
