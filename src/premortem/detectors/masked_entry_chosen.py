from premortem.detectors.base import THRICE, Card, Certainty, Detector, Findings, Severity
from premortem.events import GraphWalked


class MaskedEntryChosen(Detector):
    """A loss takes the smallest or largest of numbers of which some are masked out, and what it takes is the filler.

    ## Why it matters
    The filler is a constant. It has no gradient, so this term of the loss teaches nothing, and the others have no counterweight: a triplet
    loss whose hardest negative is always 0 pulls all embeddings into one point.

    ## Usual causes
    `(mask * distance).min()`: what is masked out is 0, which is smaller than any distance. Likewise `max()` over scores that are all
    negative, `masked_fill` with a large number of the wrong sign, and `argmin` where the loss is then computed of that entry.

    ## What to do
    Fill what is masked out with a number that always loses: `distance.masked_fill(~mask, float("inf")).min()`, and `-inf` before `max()`.

    ## How it is measured
    In audited steps, in the graph: what is reduced is a product with a mask of 0 and 1, or was filled by `masked_fill` or `where`, and
    its result is a part of the loss. In most of the rows that have both kinds the filler is strictly better than every entry that counts, in each
    of at least three losses.

    ## When it stays silent
    Where the filler loses or is only as good (`max` over distances, ReLU features), rows that are masked out entirely, masks of ones only,
    gates and dropout that scales, a choice that is only printed, and one that merely shifts numbers (`x - max(x)` before `exp`, `x - min(x)`).
    """

    card = Card("PM480", "masked-entry-chosen", "loss-definition", Severity.ERROR)
    listens = (GraphWalked,)

    def observe(self, event: GraphWalked) -> Findings:
        for each in event.chosen:
            line = (each.at, each.op)
            if self.always(line, 2 * each.wrong > each.rows) < THRICE or not self.once(line):
                continue
            smallest = "min" in each.op
            yield self.finding(
                event,
                f"`{each.op}` takes what is masked out in {each.wrong} of {each.rows} rows: the filler is "
                f"{'smaller' if smallest else 'larger'} than all that counts",
                cause="Numbers that are masked out were set to a constant that wins, so this term of the loss is a constant, without a gradient.",
                remedy=f'Fill them with a number that loses: `masked_fill(~mask, float("{"" if smallest else "-"}inf"))`.',
                at=each.at,
                certainty=Certainty.PROVED,
                operation=each.op,
                rows=each.rows,
                wrong=each.wrong,
            )
