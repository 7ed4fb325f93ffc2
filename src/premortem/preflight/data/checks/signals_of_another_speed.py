from premortem.preflight.data import names
from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Look, Root, Severity

_TIMES = 3.0  # as rough: a signal at half the speed is a quarter as rough


class SignalsOfAnotherSpeed(Check):
    """Signals of one split are far smoother, sample by sample, than all signals of the other.

    ## Why it matters
    They run at another speed, or were filtered: what is ten samples long in training is twenty in the evaluation.

    ## Usual causes
    Another sampling rate without resampling, or with a header that was corrected and samples that were not; a filter in one export.

    ## What to do
    Resample all recordings to one rate.

    ## When it stays silent
    Unless nearly all signals of one split are rougher than nearly all of the other, by a factor of three in the middle. For files that the script does not
    read.
    """

    card = Card("PM741", "signals-of-another-speed", "data-scale", Severity.WARNING).explaining(
        "columns-differ-between-files"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        found: dict[str, dict[str, list[Look]]] = {}
        for group in root.groups:
            for look in (each for each in group.looks if each.rough and facts.reads(each.path)):
                split = split_of(look) or group.split
                key = names.without_split(f"{names.stem(look.path.rpartition('/')[2])}_{look.part}")
                place = look.kind if look.kind == "audio" else key
                found.setdefault(place, {}).setdefault(split, []).append(look)
        for by_split in found.values():
            for split in ("val", "test"):
                one, two = by_split.get("train", []), by_split.get(split, [])
                ends = spread(one), spread(two)
                if ends[0] is None or ends[1] is None:
                    continue
                (low, mid, high), (begin, middle, end) = ends[0], ends[1]
                if max(mid, middle) < _TIMES * min(mid, middle) or not (high < begin or end < low):
                    continue
                times = max(mid, middle) / min(mid, middle)
                which = ("training", split) if mid < middle else (split, "training")
                yield self.finding(
                    f"signals of the {which[1]} split (`{(two if mid < middle else one)[0].path}`) move {times**0.5:.1f} times as far from "
                    f"one sample to the next as those of the {which[0]} split, for their spread",
                    cause="They were sampled at another rate, or filtered: the same event is longer in one of the splits.",
                    remedy="Resample all recordings to one rate.",
                    times=round(times**0.5, 2),
                )


def split_of(look: Look) -> str:
    own = names.split_of(look.part) if look.part else ""
    whole = "" if look.kind == "audio" else names.split_of(look.path.rpartition("/")[2])
    return whole or own


def spread(looks: list[Look]) -> tuple[float, float, float] | None:
    """At 5, 50 and 95 % of the signals: of one file with many, or of many files."""
    rough = sorted(look.rough for look in looks if look.rough)
    if len(rough) == 1:
        return rough[0]
    if len(rough) < 10:
        return None
    middles = sorted(each[1] for each in rough)
    return middles[len(middles) // 20], middles[len(middles) // 2], middles[-1 - len(middles) // 20]
