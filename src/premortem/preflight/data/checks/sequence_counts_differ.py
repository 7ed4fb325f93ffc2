from collections import Counter
from collections.abc import Iterator

from premortem.preflight.data.data_facts import Sequence
from premortem.preflight.data.unit import Card, Certainty, Check, DataFacts, Findings, Root, Severity


class SequenceCountsDiffer(Check):
    """A sequence whose folders hold different numbers of frames, where all the other sequences agree.

    ## Why it matters
    Frames are paired by their place in the sorted listing. One frame too few shifts all that follow.

    ## Usual causes
    An extraction that was interrupted; a frame dropped by one of two tools; a file that belongs to another sequence.

    ## What to do
    Extract the named sequence again. Give partners the same names, and pair by name.
    """

    card = Card("PM657", "sequence-counts-differ", "data-labels", Severity.WARNING)

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        for sequence, usual in _odd(root):
            counts = ", ".join(f"{number} in `{role or '.'}`" for role, number in sequence.counts)
            yield self.finding(
                f"the sequence `{sequence.name}` has {counts}; in {usual} other "
                "sequences these numbers agree",
                cause="Frames of one side are missing, or too many.",
                remedy="Extract this sequence again, or leave it out.",
                certainty=Certainty.SUSPECTED,
                counts=dict(sequence.counts),
            )


def _odd(root: Root) -> Iterator[tuple[Sequence, int]]:
    """Only where most sequences have exactly the same difference: a constant one is meant."""
    paired = {side.rpartition("/")[2] for each in root.pairings for side in (each.left, each.right)}
    many = [each for each in root.sequences if len(each.counts) > 1]
    many = [each for each in many if not {role for role, _ in each.counts} <= paired]
    usual, number = next(iter(Counter(map(_differences, many)).most_common(1)), ((), 0))
    if number < 3 or number < 0.8 * len(many):
        return
    for each in many:
        if _differences(each) != usual and len(_differences(each)) == len(usual):
            yield each, number


def _differences(sequence: Sequence) -> tuple[tuple[str, int], ...]:
    return tuple((role, number - sequence.counts[0][1]) for role, number in sequence.counts)
