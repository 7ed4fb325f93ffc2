from premortem.preflight.data import compared
from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity, some
from premortem.profile.lone import rarer


class AnswersRarerInOneSplit(Check):
    """Of several answers to each sample, some are far rarer in the training file than in the other, and the rest are not.

    ## Why it matters
    The network is taught that these things are hardly ever there, and is judged on data where they are.

    ## Usual causes
    Answers that were not looked for, and stored like answers that are "no"; a second round of annotation that covers a part of the
    data; a list of tags that grew.

    ## What to do
    Store "not looked at" as a value of its own, and leave it out of the loss.

    ## When it stays silent
    Unless all columns are flags, at least three and at least as many as differ agree up to chance, and the others differ by a factor of
    two, all in one direction.
    """

    card = Card("PM626", "answers-rarer-in-one-split", "data-labels", Severity.WARNING).explaining(
        "answers-rarer-in-one-phase"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        for first, second in compared.splits(root.tables):
            if first.profile.kind != "table" or first.sample.columns != second.sample.columns:
                continue
            found = rarer(first.profile.columns, second.profile.columns)
            if found:
                one = found[0]
                yield self.finding(
                    f"{some([each.column for each in found])} {'is' if len(found) == 1 else 'are'} set at another "
                    f"rate: `{one.column}` in {one.first:.1%} of the rows of `{first.shown}` and in {one.second:.1%} of "
                    f"`{second.shown}`, while the other {len(first.profile.columns) - len(found)} labels agree up to chance",
                    cause="The label distribution differs in some answers only: where they were not annotated, a missing label was stored as a negative one.",
                    remedy="Store answers that were not looked for as a value of their own, and leave them out of the loss.",
                    file=first.path,
                    columns=[each.column for each in found][:20],
                )
