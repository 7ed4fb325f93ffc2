"""What detectors of many ranks share: which ranks hold the same model, and which of them stand alone."""

from collections import Counter
from collections.abc import Hashable, Sequence

from premortem.events import Digest, RanksSeen, Site


def data_parallel(event: RanksSeen) -> list[Digest]:
    """The ranks that share the first one's model under DistributedDataParallel; none when they do not."""
    first = event.ranks[0]
    every = [d for d in event.ranks if d.rank in first.group]
    same = all(d.signature == first.signature and list(d.group) == list(first.group) for d in every)
    return every if len(every) > 1 and same else []


def odd(every: Sequence[Digest], answers: Sequence[Hashable]) -> list[int]:
    """The ranks whose answer is not that of most; of two equal parties the one with the first rank is right."""
    counts = Counter(answers)
    most = max(counts.values())
    usual = next(answer for answer in answers if counts[answer] == most)
    return [d.rank for d, answer in zip(every, answers, strict=True) if answer != usual]


def differ(answers: Sequence[Hashable]) -> bool:
    return len(set(answers)) > 1


def parted(every: Sequence[Digest], index: int, least: float = 1e-5) -> bool:
    """Whether a parameter has other values on other ranks, by more than two kinds of processor round differently."""
    return differ([d.values[index] for d in every]) and distance(every, index) > least


def distance(every: Sequence[Digest], index: int) -> float:
    """How far apart the values of a parameter are, in units of their size."""
    sums = [d.sums[index] for d in every]
    sizes = [d.sizes[index] for d in every]
    apart = max(max(sums) - min(sums), max(sizes) - min(sizes))
    return apart / max(sizes) if max(sizes) > 0 else 0.0


def moments_parted(every: Sequence[Digest], index: int, least: float = 1e-3) -> bool:
    """Whether the optimizers' states for a parameter are different where every rank has one (shared-out states are not)."""
    sizes = [d.moments[index] if index < len(d.moments) else 0.0 for d in every]
    return min(sizes) > 0.0 and max(sizes) - min(sizes) > least * max(sizes)


def named(ranks: Sequence[int]) -> str:
    shown = ", ".join(str(rank) for rank in ranks[:4])
    more = f" and {len(ranks) - 4} more" if len(ranks) > 4 else ""
    return f"rank {shown}" if len(ranks) == 1 else f"ranks {shown}{more}"


def site(place: Sequence[object]) -> Site | None:
    return Site(str(place[0]), int(str(place[1]))) if len(place) == 2 else None
