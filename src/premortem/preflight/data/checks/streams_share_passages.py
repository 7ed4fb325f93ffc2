from itertools import combinations

from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity

_SHARED = 0.1  # of the passages of the shorter file; boilerplate and quotations are below it
_AGAIN = 0.5  # of the passages of a file that come in it before


class StreamsSharePassages(Check):
    """A file of tokens has passages of another split, or repeats its own.

    ## Why it matters
    A model that has read the passage knows how it goes on. The loss of the evaluation falls below what the language allows.

    ## Usual causes
    A validation file that was cut from the end of the training file and not taken away there; a file that was appended to itself.

    ## What to do
    Cut the splits again, and look for duplicates before tokens are written.

    ## When it stays silent
    Below a tenth of the passages of the other split, and half of the passages of the file itself.
    """

    card = Card("PM710", "streams-share-passages", "data-order", Severity.WARNING).explaining(
        "evaluated-on-training-rows"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        used = [stream for stream in root.streams if facts.reads(stream.path) and stream.marks]
        for stream in used:
            if stream.repeated >= _AGAIN:
                yield self.finding(
                    f"{stream.repeated:.0%} of the passages of `{stream.path}` have come in it before",
                    cause="The file repeats a block, or was appended to itself.",
                    remedy="Make it again from the texts, each of them once.",
                    file=stream.path,
                )
        for one, two in combinations(used, 2):
            if {one.split, two.split} & {"train"} and one.split != two.split and two.split and one.split:
                # Both keep those with the smallest marks: of what both can have, as the shorter one has them.
                limit = min(max(one.marks), max(two.marks))
                first, second = ({m for m in each.marks if m <= limit} for each in (one, two))
                few = min(len(first), len(second))
                common = len(first & second)
                if few and common >= max(10, _SHARED * few):
                    yield self.finding(
                        f"{common / few:.0%} of the passages of `{(one if len(first) == few else two).path}` are also in "
                        f"`{(two if len(first) == few else one).path}`, which is in the other split (training and evaluation)",
                        cause="The splits overlap: what is judged was trained on.",
                        remedy="Cut the splits again.",
                        files=[one.path, two.path],
                    )
