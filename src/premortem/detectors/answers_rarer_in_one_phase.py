from premortem.amounts import some
from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.events import DataProfiled
from premortem.profile.between import phases
from premortem.profile.lone import rarer


class AnswersRarerInOnePhase(Detector):
    """Of several answers to each sample, some are far rarer in training than in evaluation, and the others are not.

    ## Why it matters
    The network is taught that these things are hardly ever there, and is judged on data where they are.

    ## Usual causes
    Answers that were not looked for, and stored like answers that are "no"; two rounds of annotation of which the second covers a
    part of the data; a list of tags that grew.

    ## What to do
    Store "not looked at" as a value of its own, and leave it out of the loss. Compare how often each answer comes in each file.

    ## When it stays silent
    When the inputs show that both were not drawn alike, when fewer answers agree than differ, and below a factor of two.
    """

    card = Card("PM466", "answers-rarer-in-one-phase", "data-labels", Severity.WARNING).explaining(
        "train-and-val-on-different-scales"
    )
    listens = (DataProfiled,)

    def observe(self, event: DataProfiled) -> Findings:
        for trained, judged in phases(event.profiles, beside=True):
            if trained.beside != "target" or trained.kind != "table":
                continue
            found = rarer(trained.columns, judged.columns)
            if found and self.once(judged.name):
                first = found[0]
                yield self.finding(
                    event,
                    f"{some([each.column for each in found])} {'is' if len(found) == 1 else 'are'} set at another rate: `{first.column}` in "
                    f"{first.first:.1%} of the training targets and in {first.second:.1%} of the evaluation's, while the other "
                    f"{len(trained.columns) - len(found)} labels agree up to chance",
                    cause="The label distribution differs in some answers only: where they were not annotated, a missing label was stored as a negative one.",
                    remedy="Store answers that were not looked for as a value of their own, and leave them out of the loss.",
                    columns=[each.column for each in found][:20],
                    first=first.first,
                    second=first.second,
                )
