from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity, looks_of

_FEWEST = 50  # rows: fewer are a list of cases rather than a set to train on


class ConstantLabel(Check):
    """Every row of a table, or every entry of an array of labels, has the same label.

    ## Why it matters
    There is nothing to learn: the loss goes to zero within a few steps, and the model answers the same whatever it sees.

    ## Usual causes
    A join that failed and left the default; a column that was overwritten; the part of a sorted file that holds one class.

    ## What to do
    Count the labels where the table is made, and stop when there is only one.

    ## When it stays silent
    Where another table beside it has several labels: detectors of anomalies are trained on the normal ones alone.
    """

    card = Card("PM672", "constant-label", "data-labels", Severity.WARNING)

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        looks = [look for look in looks_of(root) if look.labels]
        # A table for each class: constant by nature. Varied labels elsewhere: trained on the normal ones only.
        if len(looks) > 4 or any(len(look.labels) > 1 for look in looks):
            return
        for look in looks:
            value, number = look.labels[0]
            # Empty labels are a test set's; zeros in it are a place to write answers to.
            answers = "submission" in look.path.lower() or "test" in look.path.lower()
            if len(look.labels) == 1 and number >= _FEWEST and value and not answers:
                yield self.finding(
                    f"all {number:,} rows of `{look.path}` have the label `{value}`",
                    cause="The column was filled with a default, or only one class was taken along.",
                    remedy="Make the table again, and count its labels.",
                    label=value,
                    rows=number,
                )
