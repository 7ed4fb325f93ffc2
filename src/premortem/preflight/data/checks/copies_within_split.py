from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity, share


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

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        copies = root.copies
        if copies is None or len(copies.contradicting) == copies.count:
            return
        first, second = copies.examples[0]
        yield self.finding(
            f"{copies.count:,} of {copies.of:,} files that were compared ({share(copies.count, copies.of)}) are copies "
            f"of another in the same split: `{second}` is `{first}`",
            cause="They were copied, or come from two sources.",
            remedy="Remove the copies before you split, unless they are meant to weigh more.",
            copies=copies.count,
            examples=[[a, b] for a, b in copies.examples],
        )
