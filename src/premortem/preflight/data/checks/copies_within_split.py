from premortem.amounts import share
from premortem.preflight.data.data_facts import DataFacts
from premortem.preflight.data.names import shown
from premortem.preflight.unit import Card, Check, Findings, Severity


class CopiesWithinSplit(Check):
    """The same file several times in one split.

    ## Why it matters
    Copies weigh more than other samples. That may be wanted (a rare class shown more often); by accident it makes a
    dataset look larger than it is, and a random split of it leaks.

    ## Usual causes
    `image.jpg` and `image (1).jpg`; two sources with the same pictures; oversampling by copying files.

    ## What to do
    Remove the copies before a split is drawn. To show rare samples more often, use `WeightedRandomSampler`.
    """

    card = Card("PM665", "copies-within-split", "data-order", Severity.INFO)

    def look(self, facts: DataFacts) -> Findings:
        for root in facts.roots:
            copies = root.copies
            if copies is None or len(copies.contradicting) == copies.count:
                continue
            first, second = copies.examples[0]
            yield self.finding(
                f"`{shown(root.name)}`: {copies.count:,} of {copies.of:,} files that were compared ({share(copies.count, copies.of)}) are copies "
                f"of another in the same split: `{shown(second)}` is `{shown(first)}`",
                cause="They were copied, or come from two sources.",
                remedy="Remove the copies before you split, unless they are meant to weigh more.",
                copies=copies.count,
                examples=[[shown(a), shown(b)] for a, b in copies.examples],
            )
