from premortem.preflight.data.relations import groups
from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity, share


class GroupsInBothSplits(Check):
    """Rows of one patient, speaker or scene are in the training split and in the one that is judged.

    ## Why it matters
    All rows of the group have one label, and they are alike: who has learnt to know the patient again knows the label. The score says
    nothing about patients to come.

    ## Usual causes
    `train_test_split` or a permutation over recordings, pictures or visits, of which each patient has several.

    ## What to do
    Split by the group: `GroupShuffleSplit`, `GroupKFold`, or a permutation of the patients.

    ## When it stays silent
    Where the label differs within groups (ratings of one user, hours of one station); where rows of one group are no more alike than
    others; where less than half of the judged rows are of groups that are trained on. Unless the label is called so, or the script predicts
    it; where the column is a code of the label or a finer one (class, species, brand); where it measures something (an age, a distance): rows
    of other groups are then alike, too, where their numbers are near; where all that is judged is later than what is trained
    on; and, where nothing is measured, unless the column says whose rows they are (patient, subject, speaker, scene).
    """

    card = Card("PM725", "groups-in-both-splits", "data-order", Severity.WARNING).explaining(
        "splits-look-alike"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        entries = [each for each in root.entries if facts.reads(each.path)]
        for found in groups.shared(root.tables, entries, facts.predicts):
            alike = (
                f", and {found.nearest:.0%} of them have their nearest training row in their own group"
                if found.nearest is not None
                else ""
            )
            yield self.finding(
                f"{found.groups:,} of {found.of:,} groups of `{found.column}` in `{found.second}` are also in "
                f"`{found.first}` (`{found.example}`, for example), with {found.rows:,} of {found.judged:,} rows "
                f"({share(found.rows, found.judged)}); each group has one `{found.label}`{alike}",
                cause=f"The split was drawn by row and not by `{found.column}`: the same {found.column} is trained on and judged (leakage "
                "between the splits), so the score measures how well it is known again.",
                remedy=f"Split by `{found.column}`, so that all rows of one group are in one split.",
                column=found.column,
                groups=found.groups,
                rows=found.rows,
            )
