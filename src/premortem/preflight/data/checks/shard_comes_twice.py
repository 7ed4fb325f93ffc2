from collections import Counter

from premortem.amounts import count, share
from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity


class ShardComesTwice(Check):
    """Two files of one split hold the same samples, under other names.

    ## Why it matters
    The samples that should be in the second file are missing, and those of the first weigh twice. Sizes and counts are as expected.

    ## Usual causes
    A download that was tried again and stored under the next name; a job that wrote its part twice; links that all lead to one file.

    ## What to do
    Fetch the file again, and compare checksums of what is inside.

    ## When it stays silent
    When less than nine tenths of a file are in the other, and for files whose rows repeat by nature.
    """

    card = Card("PM646", "shard-comes-twice", "data-order", Severity.WARNING).explaining(
        "copies-within-split"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        again = Counter(first for first, *_ in root.twice)
        for first, second, shared, of in {pair[0]: pair for pair in reversed(root.twice)}.values():
            others = again[first] - 1
            also = f"; so are those of {count(others, 'other file')}" if others else ""
            yield self.finding(
                f"{shared} of {of} samples of `{second}` ({share(shared, of)}) are those of `{first}`{also}",
                cause="The second file is the first once more: what should be in it is missing.",
                remedy=f"Fetch or make `{second}` again.",
                files=[first, second],
                shared=shared,
                of=of,
                again=again[first],
            )
