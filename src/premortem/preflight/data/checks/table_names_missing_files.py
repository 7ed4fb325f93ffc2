from premortem.preflight.data.data_facts import DataFacts, Root
from premortem.preflight.data.unit import Card, Check, Findings, Severity, looks_of, share, some


class TableNamesMissingFiles(Check):
    """A table of labels names files that are not there.

    ## Why it matters
    The dataset has as many samples as the table has rows, and fails at the first row whose file is missing.

    ## Usual causes
    Part of the archive was not unpacked; files were renamed or removed after the table was made; names that lack their
    folder or suffix.

    ## What to do
    Bring the files, or drop the rows when the table is read, and print how many were dropped.

    ## When it stays silent
    When no file that the table names is there: the pictures then lie elsewhere, where only the code knows.
    """

    card = Card("PM670", "table-names-missing-files", "data-labels", Severity.WARNING)

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        for look in (look for look in looks_of(root) if look.kind == "table"):
            missing, whole = look.values, look.named
            if 0 < missing < whole:
                yield self.finding(
                    f"{missing:,} of {whole:,} files that `{look.path}` names "
                    f"({share(missing, whole)}) are not there: {some(look.missing)}",
                    cause="The table and the folder are of two different versions.",
                    remedy="Bring the missing files, or drop these rows when the table is read.",
                    missing=missing,
                    of=whole,
                )
