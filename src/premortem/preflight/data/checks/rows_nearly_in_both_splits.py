from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity, share


class RowsNearlyInBothSplits(Check):
    """Rows of the split that is judged are training rows with small changes: rounded, or with some noise.

    ## Why it matters
    What is judged was trained on. Row by row they differ, so no comparison of rows finds it, and the score is that of a memory.

    ## Usual causes
    Copies that were added before the split (augmentation, oversampling with noise); a table that was exported twice, with other digits.

    ## What to do
    Split first, then add copies to the training split alone.

    ## When it stays silent
    Where training rows lie as close to each other, and below a fifth of the judged rows. For files that the script does not read.
    """

    card = Card("PM732", "rows-nearly-in-both-splits", "data-order", Severity.WARNING).explaining(
        "splits-look-alike"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        for found in root.near:
            if not all(facts.reads(each.partition("[")[0]) for each in (found.first, found.second)):
                continue
            yield self.finding(
                f"{found.rows:,} of {found.of:,} rows of `{found.second}` that were compared ({share(found.rows, found.of)}) are nearly rows "
                f"of `{found.first}`: they lie {found.distance:.1%} as far from one as training rows lie from each other",
                cause="They are copies with small changes (rounded, or with noise): the same samples are trained on and judged.",
                remedy="Split first, and make copies of training rows only.",
                rows=found.rows,
                of=found.of,
            )
