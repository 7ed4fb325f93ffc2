from premortem.amounts import some
from premortem.preflight.data.data_facts import DataFacts
from premortem.preflight.data.names import shown
from premortem.preflight.unit import Card, Check, Findings, Severity
from premortem.profile.alone import constants
from premortem.profile.wording import amount


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
    the file and not this one.
    """

    card = Card(
        "PM679",
        "constant-column",
        "data-scale",
        Severity.WARNING,
        explains=("column-is-one-number", "columns-differ-between-phases"),
    )

    def look(self, facts: DataFacts) -> Findings:
        for root in facts.roots:
            for table in (t for t in root.tables if t.split in {"", "train"} and "=" not in t.part):
                found = [c for c in constants(table.profile) if facts.uses(table, c.name)]
                if found:
                    yield self.finding(
                        f"`{shown(root.name)}`: {some([c.name for c in found])} {'is' if len(found) == 1 else 'are'} "
                        f"{amount(found[0].low)} in all {table.rows:,} rows of `{shown(table.shown)}`: a constant column",
                        cause="A feature has a single value, while the columns beside it vary.",
                        remedy="Look at the column where the file is made: a join that failed, a sensor that stands still.",
                        file=shown(table.path),
                        columns=[c.name for c in found][:20],
                        value=found[0].low,
                    )
