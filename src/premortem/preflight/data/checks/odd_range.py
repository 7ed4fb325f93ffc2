from premortem.preflight.data.data_facts import SMALL
from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Group, Look, Root, Severity

_RARE = 0.05


class OddRange(Check):
    """One sample, or a few, on another scale than all the others: 0 to 255 among 0 to 1.

    ## Why it matters
    A sample two hundred times as large as its neighbours dominates the batch it is in. The loss jumps once an epoch, at
    a step that changes with the shuffling. In masks, a label of 255 among labels of 0 and 1 stops the run, or is ignored.

    ## Usual causes
    Files prepared by two versions of a script; one that was divided by 255 and one that was not; a mask saved for the eye.

    ## What to do
    Bring the named files to the scale of the others, and assert the range where a sample is loaded.
    """

    card = Card("PM661", "odd-range", "data-scale", Severity.WARNING)

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        for group in root.groups:
            for part in sorted({look.part for look in group.looks})[:16]:
                looks = [look for look in group.looks if look.part == part and look.high is not None]
                yield from self._alike(group, looks)
        yield from self._masks(root)

    def _masks(self, root: Root) -> Findings:
        """Pictures that are wanted, on one scale in one split and on another in the next."""
        tops = {
            (group.name.replace(group.split, "*"), group.split): (max(map(_top, looks)), group.name)
            for group in root.groups
            if group.kind == "image" and group.role == "target" and group.split
            if len(looks := [look for look in group.looks if look.high is not None]) >= SMALL
        }
        for (series, split), (top, name) in tops.items():
            usual, trained = tops.get((series, "train"), (0.0, ""))
            small, large = sorted((usual, top))
            if split != "train" and large > 20 * small > 0:
                yield self.finding(
                    f"the targets in `{name}` reach {top:g}, those in `{trained}` {usual:g}",
                    cause="The masks of the two splits are on different scales: 255 where the others have 1.",
                    remedy="Write both with the same numbers, or compare (`mask > 0`) where they are read.",
                    files=[name, trained],
                    usual=usual,
                )

    def _alike(self, group: Group, looks: list[Look]) -> Findings:
        if len(looks) < SMALL or (group.kind == "image" and group.role != "target"):
            return
        tops = sorted(_top(look) for look in looks)
        usual = tops[int(0.94 * len(tops))]  # what all but a few stay below
        odd = [look for look in looks if _top(look) > 50 and _top(look) > 20 * usual]
        # A scale, not a heavy tail: the rest must be close together, and nothing in between.
        seen = [top for top in tops if top] or [0.0]  # empty masks say nothing
        close = usual <= 10 * seen[len(seen) // 10]
        between = [top for top in tops if 3 * usual < top <= 20 * usual]
        if usual and odd and close and not between and len(odd) <= max(1, _RARE * len(looks)):
            first = odd[0]
            yield self.finding(
                f"{len(odd)} of {len(looks):,} samples in `{group.name}` "
                f"{'is' if len(odd) == 1 else 'are'} on another scale: `{first.path}` reaches {_top(first):g}, "
                f"the others stay within {usual:g}",
                cause="It was scaled differently from the others when it was made.",
                remedy="Divide it as the others were, or make it again.",
                files=[look.path for look in odd[:50]],
                usual=usual,
            )


def _top(look: Look) -> float:
    return max(abs(look.low or 0.0), abs(look.high or 0.0))
