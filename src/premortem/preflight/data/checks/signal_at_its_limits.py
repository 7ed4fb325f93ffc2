import re
from statistics import median

from premortem.preflight.data.data_facts import DataFacts, Group, Look, Root
from premortem.preflight.data.unit import Card, Check, Findings, Severity, called, count

_CLIPPED = 0.05  # of the values: loud music has a few in a thousand there
_MOST = 0.5  # of the files
_ON_PURPOSE = re.compile(r"clipp(ed|ing)|declip|distort|degrad|saturat|restor", re.IGNORECASE)
_ROUND = re.compile(r"phase|angle|heading|azimuth|yaw|bearing|direction|rotation|encoder|wrap", re.IGNORECASE)


class SignalAtItsLimits(Check):
    """A large part of a recording lies at the ends of its type, or goes on at the other end.

    ## Why it matters
    What was louder than the type can hold is one number: how loud, and what shape it had, is gone. A signal that goes round has jumps
    from end to end in place of its peaks.

    ## Usual causes
    An input stage whose gain is far too high; a range of the recorder that is too small; a gain that was applied to whole numbers,
    with `astype(int16)` and without a limit.

    ## What to do
    Record or export again with less gain; where a gain is applied, apply it to floating-point numbers, and store those.

    ## When it stays silent
    Below five percent of the values of half of the files; for values that only mark a gap, with nothing near them; for noise, which is
    as rough either way. For recordings that are one side of pairs, or that the script or their names call clipped: they are to be restored. For
    numbers that fill their type evenly or are called angles or phases: these go round by nature. An array that goes round, and is no file of
    sound, is no more than a note. For files that the script does not read.
    """

    card = Card("PM718", "signal-at-its-limits", "data-scale", Severity.WARNING).explaining(
        "columns-differ-between-files", "column-is-one-number"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        paired = {side for pair in root.pairings if not pair.annotations for side in (pair.left, pair.right)}
        wanted = any(map(_ON_PURPOSE.search, facts.names | facts.words))
        for group in root.groups:
            looks = [look for look in group.looks if is_signal(look) and facts.reads(look.path)]
            if looks:
                known = wanted or group.name in paired or any(_ON_PURPOSE.search(look.path) for look in looks)
                yield from self._group(group, looks, known)

    def _group(self, group: Group, looks: list[Look], on_purpose: bool) -> Findings:
        clipped = [look for look in looks if look.ends >= _CLIPPED and not on_purpose]
        wrapped = [
            look for look in looks if look.goes_round and not _ROUND.search(f"{look.path} {look.part}")
        ]
        part = median(look.ends for look in clipped or looks)
        for found, what, cause, sure in (
            (
                clipped,
                f"{part:.0%} of the values lie at full scale, the end of their type: they are clipped",
                "The input was louder than the type can hold (a gain that is too high, a range that is too small): all beyond is one number.",
                True,
            ),
            (
                wrapped,
                "the signal jumps from one end of its type to the other, and is smooth once it is taken to go on there: it has overflowed",
                "Numbers beyond the end of the type came out at its other end (a gain that was applied to whole numbers).",
                any(look.kind == "audio" for look in wrapped[:1]),
            ),
        ):
            if found and len(found) >= _MOST * len(looks):
                yield self.finding(
                    f"in {len(found):,} of {count(len(looks), 'recording')} of `{group.name}` that were read, {what} "
                    f"(`{called(found[0])}`)",
                    cause=cause,
                    remedy="Record or export them again with less gain.",
                    severity=Severity.WARNING if sure else Severity.INFO,
                    file=found[0].path,
                )


def is_signal(look: Look) -> bool:
    return look.kind == "audio" or (look.mode in {"int16", "int32"} and len(look.shape) >= 2)
