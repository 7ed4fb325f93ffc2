from premortem.preflight.data.data_facts import DataFacts
from premortem.preflight.data.names import shown
from premortem.preflight.unit import Card, Check, Findings, Severity


class KeyOfOtherThings(Check):
    """A key stands for other things in another split: what is true of each key in the training rows is true of another key there.

    ## Why it matters
    The model answers for shop 17 what it learned about shop 3. The key is in range, and nothing crashes; the score falls for a reason that no training can repair.

    ## Usual causes
    Ids that each dump numbers anew (`factorize`, `LabelEncoder.fit_transform`, an auto-increment of another import) in place of the ids of the source.

    ## What to do
    Number the keys once, for all splits, from one list that is kept; or export the ids of the source.

    ## How it is measured
    What a column says of each key is averaged, without what the other columns explain. Halves of the training rows, drawn at random and in the order of
    the file, agree about the keys better than in any of 999 random orders of them. The other split agrees with them no better than chance. And sorted by
    these averages the keys of both splits fit, up to the noise of an average, better than 199 lists of other things of the same kind.

    ## When it stays silent
    Unless both splits have the very same keys, 12 to 300 of them with six rows each; for keys that are other things by nature, such as the subjects of another
    study, which do not fit once they are sorted; for keys whose neighbours are alike, as hours; where only the effect of the keys has changed; for files and columns that the script does not read.
    """

    card = Card(
        "PM744",
        "key-of-other-things",
        "data-labels",
        Severity.WARNING,
        explains=("labels-follow-in-part", "evaluation-at-chance"),
    )

    def look(self, facts: DataFacts) -> Findings:
        for root in facts.roots:
            tables = {table.path: table for table in root.tables if table.cells}
            for found in root.exchanged:
                table = tables.get(found.path)
                if not (facts.reads(found.path) and facts.reads(found.other_path)):
                    continue
                if table is not None and not facts.uses(table, found.column):
                    continue
                yield self.finding(
                    f"`{shown(root.name)}`: the {found.keys} values of `{shown(found.column)}` in `{shown(found.first)}` say the same of `{shown(found.measure)}` in both "
                    f"halves of the file (a correlation of {found.within:.2f}), and nothing of it in `{shown(found.second)}` ({found.between:.2f}); in another order they "
                    f"do ({found.put_right:.2f})",
                    cause=f"`{shown(found.column)}` was numbered anew in one of the files: the same number stands for another thing.",
                    remedy="Number the keys once for all splits, from one list that is kept.",
                    file=shown(found.path),
                    column=found.column,
                    keys=found.keys,
                )
