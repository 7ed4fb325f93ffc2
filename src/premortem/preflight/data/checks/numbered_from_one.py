from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity


class NumberedFromOne(Check):
    """Labels or edges belong to the row before or after the one that they name.

    ## Why it matters
    Every number is valid and nothing crashes. Each sample has the label, or the neighbours, of another.

    ## Usual causes
    Rows that are counted from 1 in one program and from 0 in the other; a header or a first row that was dropped on one side only.

    ## What to do
    Join by a key. Compare the first three rows of both files by hand.

    ## When it stays silent
    Unless nothing goes together as the numbers are, and clearly does when all of them are moved by one.
    """

    card = Card("PM616", "numbered-from-one", "data-order", Severity.WARNING).explaining(
        "uninformative-labels"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        for moved in root.moved:
            yield self.finding(
                f"{moved.what} of `{moved.path}` go with the rows of `{moved.other}` by "
                f"{moved.here:.2f} as they are, and by {moved.there:.2f} when all of them are moved by {moved.step:+d}: numbered from "
                f"{'1' if moved.step < 0 or moved.what == 'labels' else 'another row'}, or misaligned by one row",
                cause=f"The {moved.what} do not belong to the rows that they name, and do to the ones beside these: an offset by one "
                "(numbering from 1, or a row that was dropped on one side).",
                remedy="Join by a key, or count from the same number in both files.",
                file=moved.path,
                other=moved.other,
                step=moved.step,
            )
