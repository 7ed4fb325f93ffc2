from premortem.preflight.data.checks.weights_along_counts import counted, named
from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity

_ALL = 0.95  # of the weighted rows
_FEW = 0.5  # of the rows
_ENOUGH = 100  # labels


class OneClassCarriesTheLoss(Check):
    """The weights of the classes leave nearly all of the loss to one of them.

    ## Why it matters
    Weights even out how often classes come. Here the others count for nothing, and the model answers with one class.

    ## Usual causes
    Weights of other classes; a class that was rare where the weights were computed.

    ## What to do
    Compute the weights from the labels of this training set.

    ## When it stays silent
    Below 95 percent of the weighted rows, and when that class has more than half of the rows anyway.
    """

    card = Card("PM713", "one-class-carries-the-loss", "data-labels", Severity.WARNING).explaining(
        "class-weights-along-counts"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        for given in root.weights:
            for where, counts in counted(root):
                weights = named(given, counts)
                total = sum(counts.values())
                if (
                    set(weights) != set(counts)
                    or total < _ENOUGH
                    or len(counts) < 2
                    or not facts.reads(given.path)
                ):
                    continue
                carried = {name: counts[name] * weights[name] for name in counts}
                top = max(carried, key=lambda name: carried[name])
                part = carried[top] / (sum(carried.values()) or 1.0)
                if part >= _ALL and counts[top] <= _FEW * total:
                    yield self.finding(
                        f"the weights in `{given.path}` leave {part:.1%} of the loss to class `{top}`, which has {counts[top]:,} of "
                        f"{total:,} rows of `{where}`",
                        cause="The weights are those of other classes or of another count: the other classes count for nothing.",
                        remedy="Compute the weights from the labels of this training set.",
                        file=given.path,
                        weights=list(given.values[:20]),
                    )
                    break
