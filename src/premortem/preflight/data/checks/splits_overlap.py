from premortem.preflight.data.data_facts import Overlap
from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity, share

_WORTH_SAYING = 0.01  # of the smaller split; well-known datasets repeat a few in ten thousand
_FEWEST = 3  # samples: one or two of a small split may be alike by nature
_BROKEN = 0.5
_HOW = {
    "bytes": "byte for byte",
    "content": "with the same decoded content",
    "rows": "as the same rows",
}


class SplitsOverlap(Check):
    """Samples of the validation or test split are also in the training split.

    ## Why it matters
    What is measured on them is memory, not ability. The score looks too good, the best checkpoint is the one that has
    overfitted most, and this shows only when the model meets new data.

    ## Usual causes
    Copies that were split at random; a split by frame instead of by scene; folders filled by two scripts; a test set that
    was merged into the training set.

    ## What to do
    Remove the shared samples from the training split, and split by scene, person or source rather than by file.
    """

    card = Card("PM663", "splits-overlap", "data-order", Severity.WARNING).explaining(
        "splits-look-alike", "evaluated-on-training-rows"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        for overlap in root.overlaps:
            if overlap.how in _HOW and overlap.of:
                yield from self._overlap(overlap)

    def _overlap(self, overlap: Overlap) -> Findings:
        part = overlap.shared / overlap.of
        severity = Severity.INFO
        if part >= _WORTH_SAYING and overlap.shared >= _FEWEST and overlap.trained:  # val and test may be one
            severity = Severity.ERROR if part >= _BROKEN and overlap.shared >= 10 else Severity.WARNING
        first, second = overlap.examples[0] if overlap.examples else ("", "")
        example = f": `{second}` is `{first}`" if first else ""
        yield self.finding(
            f"{overlap.shared:,} of {overlap.of:,} samples of `{overlap.second}` "
            f"({share(overlap.shared, overlap.of)}) are also in `{overlap.first}`, {_HOW[overlap.how]}{example}",
            cause="The splits were made from copies, or filled twice.",
            remedy=f"Remove them from `{overlap.first}`, then measure again.",
            severity=severity,
            shared=overlap.shared,
            of=overlap.of,
            examples=[[a, b] for a, b in overlap.examples],
        )
