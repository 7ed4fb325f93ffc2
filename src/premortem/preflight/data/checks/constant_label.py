from premortem.preflight.data.data_facts import DataFacts
from premortem.preflight.data.names import shown
from premortem.preflight.unit import Card, Check, Findings, Severity

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

    def look(self, facts: DataFacts) -> Findings:
        for root in facts.roots:
            looks = [look for group in root.groups for look in group.looks if look.labels]
            # A table for each class: constant by nature. Varied labels elsewhere: trained on the normal ones only.
            if len(looks) > 4 or any(len(look.labels) > 1 for look in looks):
                continue
            for look in looks:
                value, number = look.labels[0]
                # Empty labels are a test set's; zeros in it are a place to write answers to.
                answers = "submission" in look.path.lower() or "test" in look.path.lower()
                if len(look.labels) == 1 and number >= _FEWEST and value and not answers:
                    yield self.finding(
                        f"`{shown(root.name)}`: all {number:,} rows of `{shown(look.path)}` have the label `{shown(value)}`",
                        cause="The column was filled with a default, or only one class was taken along.",
                        remedy="Make the table again, and count its labels.",
                        label=value,
                        rows=number,
                    )
