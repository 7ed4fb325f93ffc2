"""Does it fit, how large may the batch be, and what would help: each answer comes from rehearsing the script again."""

import functools
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from premortem.amounts import short
from premortem.fit.gpus import MIB, Gpu
from premortem.fit.levers import Lever, candidates, samples
from premortem.fit.search import Search
from premortem.fit.sides import Side, largest_side, spatial
from premortem.fit.trials import SHARE, NotRehearsed, OutOfTime, Trials
from premortem.terminal.interruption import unbroken
from premortem.terminal.progress import Progress

FITS, TIGHT, NO = "fits", "tight", "no"
_WORTH = 0.02  # of the peak: a smaller saving is not worth a line
_LITTLE = 0.01  # of the card: who needs no more needs no advice
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
    untried: list[str] = field(default_factory=list)


def predicted(trials: Trials) -> Answer:
    """The script as it is. Raises NotRehearsed when there is no step to predict."""
    base = trials.base()
    return Answer(base, verdict(base), base["batch"], largest_why="not looked for (--quick)")


def verdict(result: dict[str, Any]) -> str:
    """`fits` has room for the gaps that grow over a long run; `tight` goes through as far as two steps tell."""
    return FITS if result["roomy"] else TIGHT if result["fits"] else NO


def complete(found: Answer, trials: Trials, shown: Progress) -> None:
    """Everything beyond the prediction, as far as the time goes; `found.untried` is what there was no time for.

    Whatever interrupts it leaves what was found until then."""
    work = _Work(found, trials, shown)
    threads = [threading.Thread(target=work.run, daemon=True) for _ in range(trials.workers)]
    try:
        with (
            unbroken()
        ):  # a thread that is interrupted while it starts can neither be waited for nor forgotten
            for thread in threads:
                thread.start()
        for thread in threads:
            thread.join()
    finally:
        trials.cancel()  # where it was interrupted, threads still wait for rehearsals
        for thread in threads:
            if thread.ident is not None:
                thread.join()
        found.advice.sort(key=lambda advice: advice.peak)
    if work.fault is not None:
        raise work.fault


class _Work:
    """What is left to do. Several threads take from it."""

    def __init__(self, found: Answer, trials: Trials, shown: Progress) -> None:
        self._found, self._trials, self._shown = found, trials, shown
        self.fault: BaseException | None = None
        base, gpu = found.base, trials.asked.gpu
        self._left: deque[tuple[str, Callable[[], None]]] = deque()
        self._left.append(("the largest batch", self._batch))
        if base["allocated"] < _LITTLE * (gpu.memory - gpu.context):
            found.notes.append("no advice: the script needs less than a hundredth of the card")
        else:
            for change in base["wanted"]:
                self._left.append((change["title"], functools.partial(_try, found, trials, **change)))
            found.advice += _calculated(base, gpu)
        if spatial(base["shapes"])[1]:
            self._left.append(("the largest side of its images", self._side))
        shown.count(len(self._left))

    def run(self) -> None:
        while self._left:
            try:
                title, task = self._left.popleft()
            except IndexError:
                return
            self._shown.say(title)
            try:
                task()
            except OutOfTime:
                self._found.untried.append(title)
            except Exception as error:  # noqa: BLE001 - for the thread that waits
                self.fault = error
                return
            finally:
                self._shown.say("")
            self._shown.advance()

    def _batch(self) -> None:
        found = self._found
        _largest(found, self._trials)
        if found.lever is not None and found.lever.value > 1 and found.advice:
            _halve(found, self._trials, found.lever)

    def _side(self) -> None:
        found = self._found
        found.side = largest_side(self._trials, found.base, lambda result: bool(result["careful"]))


# --- the batch -------------------------------------------------------------------------------


def _largest(found: Answer, trials: Trials) -> None:
    batch = found.base["batch"]
    if not batch:
        found.largest_why = "the model is called without a tensor, so its batch is not known"
        return
    levers = [Lever(**lever) for lever in found.base["levers"]]
    found.largest_why = "there was no time to look for it (see --seconds)"
    for lever in candidates(levers, batch):
        if _turns(trials, lever, batch):
            found.lever = lever
            break
    else:
        found.largest_why = (
            f"found no argument, no number in the script and no DataLoader that sets its batch of {batch}"
        )
        return
    gpu, lever = trials.asked.gpu, found.lever
    search = Search(
        lambda value: trials.of(lever=vars(lever), batch=value),
        lambda result: bool(result["careful"]),
        room=(gpu.memory - gpu.context) * SHARE,
        value=lever.value,
        base=found.base,
        most=samples(levers, lever.value),
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


def _try(found: Answer, trials: Trials, name: str, title: str, cost: str) -> None:
    try:
        result = trials.of(changes=[name])
    except NotRehearsed as error:
        found.notes.append(f"{title}: could not be tried ({error})")
        return
    _add(found, name, title, result, cost)


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
            where = f"{short(group['file'])}:{group['line']}" if group["file"] else group["module"]
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
