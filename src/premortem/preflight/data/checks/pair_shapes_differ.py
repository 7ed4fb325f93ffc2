from collections import Counter
from fractions import Fraction

from premortem.preflight.data.data_facts import Pairing
from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity, some
from premortem.preflight.data.wording import size

_USUAL = 0.8  # of the pairs agree on one ratio of sizes
_FEWEST = 5


class PairShapesDiffer(Check):
    """A pair whose two sides do not have the sizes that all the other pairs have.

    ## Why it matters
    A crop at the same place in both then shows two different things, or the loss stops the run with a shape error.

    ## Usual causes
    A mask made from a thumbnail; a portrait photo turned by one tool and not by the other; a pair put together from
    two different files of the same name.

    ## What to do
    Make the named pair again from one source. In the dataset, compare the sizes of both sides when a sample is loaded.
    """

    card = Card("PM659", "pair-shapes-differ", "shape", Severity.WARNING).explaining("odd-sample")

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        for pairing in root.pairings:
            odd = _odd(pairing)
            if not odd:
                continue
            name, first, second = odd[0]
            usual = len(pairing.shapes) - len(odd)
            yield self.finding(
                f"{len(odd)} of {len(pairing.shapes)} pairs of `{pairing.left}` and "
                f"`{pairing.right}` differ in size: `{name}` is {size(first)} and its partner "
                f"{size(second)}; {usual} pairs fit",
                cause="The two sides of the pair were not made from the same picture.",
                remedy=f"Make these again, or leave them out: {some([each[0] for each in odd])}.",
                pairs=[[n, list(a), list(b)] for n, a, b in odd[:50]],
            )


def _odd(pairing: Pairing) -> list[tuple[str, tuple[int, ...], tuple[int, ...]]]:
    """Ratios, not sizes: small and large versions of one picture are a usual pair."""
    ratios = [_ratio(first, second) for _, first, second in pairing.shapes]
    usual, number = next(iter(Counter(ratios).most_common(1)), ((), 0))
    if number < _FEWEST or number < _USUAL * len(ratios) or not usual:
        return []
    return [
        pair for pair, ratio in zip(pairing.shapes, ratios, strict=True) if not _close(ratio, usual, pair)
    ]


def _ratio(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[Fraction, ...]:
    if len(first) != len(second) or 0 in first or 0 in second:
        return ()
    return tuple(Fraction(one, two) for one, two in zip(first, second, strict=True))


def _close(
    ratio: tuple[Fraction, ...],
    usual: tuple[Fraction, ...],
    pair: tuple[str, tuple[int, ...], tuple[int, ...]],
) -> bool:
    """Sizes that do not divide evenly are rounded to a pixel."""
    _, first, second = pair
    if len(ratio) != len(usual):
        return False
    return all(
        abs(two * share - one) <= max(Fraction(1), share)
        for one, two, share in zip(first, second, usual, strict=True)
    )
