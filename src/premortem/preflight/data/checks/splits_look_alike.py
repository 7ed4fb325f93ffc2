from premortem.amounts import share
from premortem.preflight.data.unit import Card, Certainty, Check, DataFacts, Findings, Root, Severity

_SHARE = 0.05
_FEWEST = 3


class SplitsLookAlike(Check):
    """Images of two splits look like the same picture, saved twice.

    ## Why it matters
    A picture that was only compressed again or scaled is as good as the same file: what is measured on it is memory.

    ## Usual causes
    The same photos collected from two sites; a split made after copies in another quality or format had been added.

    ## What to do
    Look at the named pairs. When they are the same picture, remove one of them, and look for more with a tool for finding
    duplicates.

    ## When it stays silent
    Where pictures resemble many others, as the frames of a video do, a resemblance between splits proves nothing.
    """

    card = Card("PM664", "splits-look-alike", "data-order", Severity.WARNING)

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        for overlap in root.overlaps:
            if (
                overlap.how == "near"
                and overlap.trained
                and overlap.shared >= max(_FEWEST, _SHARE * overlap.of)
            ):
                first, second = overlap.examples[0]
                yield self.finding(
                    f"{overlap.shared} of {overlap.of:,} images of `{overlap.second}` that were "
                    f"read ({share(overlap.shared, overlap.of)}) look like one of `{overlap.first}` saved again: "
                    f"`{second}` and `{first}`",
                    cause="The same pictures were put into both splits in another quality, size or format.",
                    remedy="Compare the named pairs by eye; remove one of each when they are the same.",
                    certainty=Certainty.SUSPECTED,
                    shared=overlap.shared,
                    of=overlap.of,
                    examples=[[a, b] for a, b in overlap.examples],
                )
