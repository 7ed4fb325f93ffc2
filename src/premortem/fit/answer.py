"""Does it fit, how large may the batch be, and what would help: each answer comes from rehearsing the script again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from premortem.changes.base import Memory
from premortem.fit.gpus import MIB, Gpu
from premortem.fit.levers import Lever, candidates
from premortem.fit.search import Search
from premortem.fit.sides import Side, largest_side
from premortem.fit.trials import SHARE, NotRehearsed, Trials

FITS, TIGHT, NO = "fits", "tight", "no"
_WORTH = 0.02  # of the peak: a smaller saving is not told
_RANKS = 8


@dataclass
class Advice:
    name: str
    title: str
    saves: int  # bytes of the peak that counts, as predicted
    peak: int
    cost: str
    verdict: str
    how: str = "rehearsed"  # or "calculated"


@dataclass
class Answer:
    base: dict[str, Any]
    verdict: str
    batch: int | None = None
    largest: int | None = None
    largest_why: str = ""  # when it is not known
    largest_value: int = 0  # of the lever, which may count in other units
    lever: Lever | None = None
    side: Side | None = None  # of its images, if it has any
    advice: list[Advice] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def verdict(result: dict[str, Any]) -> str:
    """`fits` has room for the gaps that grow over a long run; `tight` goes through as far as two steps tell."""
    return FITS if result["roomy"] else TIGHT if result["fits"] else NO


def answer(trials: Trials, *, quick: bool = False, told: Callable[[str], None] = lambda _: None) -> Answer:
    base = trials.base()
    found = Answer(base, verdict(base), base["batch"])
    if quick:
        found.largest_why = "not looked for (--quick)"
        return found
    told("looking for the largest batch")
    _largest(found, trials)
    told("looking for the largest side")
    found.side = largest_side(trials, base, lambda result: bool(result["careful"]))
    for name, cls in _wanted(base):
        told(f"trying: {cls.memory.title}")
        _try(found, trials, name, cls.memory)
    if found.lever is not None and found.lever.value > 1:
        told("trying: half the batch")
        _halve(found, trials, found.lever)
    found.advice += _calculated(base, trials.asked.gpu)
    found.advice.sort(key=lambda advice: advice.peak)
    return found


# --- the batch -------------------------------------------------------------------------------


def _largest(found: Answer, trials: Trials) -> None:
    batch = found.base["batch"]
    if not batch:
        found.largest_why = "the model is called without a tensor, so its batch is not known"
        return
    for lever in candidates([Lever(**lever) for lever in found.base["levers"]], batch):
        if _turns(trials, lever, batch):
            found.lever = lever
            break
    else:
        found.largest_why = (
            f"nothing in the script that can be turned stands for its batch of {batch}: "
            "no argument, no number in the script, no DataLoader"
        )
        return
    gpu, lever = trials.asked.gpu, found.lever
    search = Search(
        lambda value: trials.of(lever=vars(lever), batch=value),
        lambda result: bool(result["careful"]),
        room=(gpu.memory - gpu.context) * SHARE,
        value=lever.value,
        base=found.base,
    )
    found.largest = search.run()
    found.largest_why, found.largest_value = search.why, search.value


def _turns(trials: Trials, lever: Lever, batch: int) -> bool:
    """Whether the model sees twice the batch when the lever says so; or half, where the data have no more."""
    for value, expected in ((2 * lever.value, 2 * batch), (lever.value // 2, batch // 2)):
        try:
            if value and trials.of(lever=vars(lever), batch=value)["batch"] == expected:
                return True
        except NotRehearsed:
            continue
    return False


# --- what would help -------------------------------------------------------------------------


def _wanted(base: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    from premortem import changes

    run = changes.RunDescription(**base["run"])
    known = changes.of("memory").items()
    return ((name, cls) for name, cls in known if not (cls.absent(run) or cls.prevented(run)))


def _try(found: Answer, trials: Trials, name: str, role: Memory) -> None:
    try:
        result = trials.of(changes=[name])
    except NotRehearsed as error:
        found.notes.append(f"{role.title}: could not be tried ({error})")
        return
    _add(found, name, role.title, result, role.cost)


def _halve(found: Answer, trials: Trials, lever: Lever) -> None:
    half = lever.value // 2
    try:
        result = trials.of(lever=vars(lever), batch=half)
    except NotRehearsed:
        return
    title = f"halve the batch to {half} and accumulate the gradients of two"
    _add(found, "accumulate", title, result, "more launches for each sample; batch norm sees half as many")


def _add(found: Answer, name: str, title: str, result: dict[str, Any], cost: str) -> None:
    saves = found.base["allocated"] - result["allocated"]
    if saves > _WORTH * found.base["allocated"]:
        found.advice.append(Advice(name, title, saves, result["allocated"], cost, verdict(result)))


def _calculated(base: dict[str, Any], gpu: Gpu) -> Iterator[Advice]:
    """What cannot be rehearsed in one process, or is a change of the model's own code."""
    peak, kinds = base["allocated"], base["kinds"]
    standing = sum(kinds.get(kind, 0) for kind in ("parameters", "gradients", "optimizer state"))
    saves = int(standing * (1 - 1 / _RANKS))
    if saves > 0.2 * peak:
        yield _reckoned(
            "fsdp",
            f"shard parameters, gradients and optimizer state over {_RANKS} cards (FSDP)",
            peak,
            saves,
            "more cards and a fast link; one block is gathered at a time, which is not counted here",
            gpu,
        )
    for group in base["groups"][:1]:
        largest = group["largest"]
        if largest > 0.15 * peak and largest > 64 * MIB:
            where = f"{group['file']}:{group['line']}" if group["file"] else group["module"]
            yield _reckoned(
                "chunk",
                f"compute `{group['op']}` at {where} in four pieces",
                peak,
                int(0.75 * largest),
                "a loop in the model's own code; exact if the pieces do not depend on each other",
                gpu,
            )


def _reckoned(name: str, title: str, peak: int, saves: int, cost: str, gpu: Gpu) -> Advice:
    rest = peak - saves
    room = gpu.memory - gpu.context
    says = FITS if rest < 0.9 * room else TIGHT if rest < room else NO
    return Advice(name, title, saves, rest, cost, says, how="calculated")
