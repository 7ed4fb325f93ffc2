from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from premortem.detectors.base import Card, Detector, Finding, Findings, Severity
from premortem.detectors.shared.replicas import (
    data_parallel,
    differ,
    distance,
    moments_parted,
    named,
    odd,
    parted,
    site,
)
from premortem.events import BESIDE, Digest, RanksSeen, Site

_IN_STEP = 2  # digests in which ranks without a wrapper must have moved together before they can part
_STARTS = 2  # digests in which the gradients agree and the weights do not
_ZERO = 1  # the hash of a gradient that is 0 everywhere


class Reason(NamedTuple):
    cause: str
    remedy: str
    ranks: list[int]
    at: Site | None = None
    kind: str = ""


class RanksApart(Detector):
    """Ranks that should hold the same weights hold different ones.

    ## Why it matters
    Every rank trains a model of its own, on its share of the data. The loss goes down, nothing raises, and only the first
    rank's model is saved: the work of the other ranks is lost.

    ## Usual causes
    - the script calls the module, not its `DistributedDataParallel` wrapper, so no gradient is averaged
    - the model, or a part of it, was built anew or moved after it was wrapped
    - gradients are clipped, a step is skipped, or the learning rate is set, on one rank only
    - the optimizer's state was loaded on one rank only
    - without a wrapper: ranks that average their gradients but began with different weights
    - under FSDP2: a step that some ranks left out, so that their pieces lag behind
    - under tensor parallelism: a layer of which every rank has a copy (a LayerNorm), whose gradient is not added up over the
      ranks, although each of them sees another part of the sequence

    ## What to do
    Call the wrapper. Wrap last, and build the optimizer after that. Do on every rank what changes gradients, weights
    or rates; without a wrapper, broadcast the weights of the first rank once before the first step.

    ## When it stays silent
    Where ranks part on purpose: a communication hook, model averaging, steps inside `no_sync`, `Join`; ranks that never
    moved together and share no gradient. Where parameters are in pieces (FSDP2, tensor parallelism), each is judged by itself:
    pieces are compared among the ranks that hold the same one by their placements, and ordinary parameters beside them when
    all ranks had the same values before the first step. Other pieces are not compared; of FSDP2 steps are counted.
    """

    card = Card("PM481", "ranks-apart", "distributed", Severity.ERROR).explaining(
        "statistics-apart", "step-without-new-gradients"
    )
    listens = (RanksSeen,)

    def __init__(self) -> None:
        self._together = 0  # digests in which weights that had moved were the same everywhere
        self._apart = 0  # digests in a row since, in which they were not
        self._shared = 0  # digests in which only the gradients were the same
        self._last: list[int] = []
        self._before: dict[int, tuple[int, int, int]] = {}  # of each rank when it last agreed with the others
        self._passed: dict[int, tuple[int, int]] = {}  # forward passes and steps of each rank, if sharded
        # Of ordinary parameters beside such pieces: those that were equal before the first step,
        self._copies: set[str] = set()
        self._moved: set[str] = set()  # and those that were equal after a step on equal gradients
        self._farthest = ""  # of all that parted first

    def observe(self, event: RanksSeen) -> Findings:
        if not event.names or event.ranks[0].copies:
            if event.step:
                yield from self._in_pieces(event)
            if event.names and not self.over:
                yield from self._by_parameter(event)
            return
        every = data_parallel(event)
        if any(d.apart_on_purpose for d in event.ranks):
            self._together = self._shared = 0
        elif every:
            yield from self._wrapped(event, every)
        elif not any(d.group for d in event.ranks) and not differ([d.signature for d in event.ranks]):
            yield from self._unwrapped(event, event.ranks)
        elif any(d.group for d in event.ranks) and not every:
            self._together = self._shared = 0

    def _in_pieces(self, event: RanksSeen) -> Findings:
        """The ranks hold different pieces of a sharded model, so there are no values to compare. But they make each forward
        pass together: between the same two steps all must have made equally many."""
        before, self._passed = self._passed, {d.rank: (d.forwards, d.steps) for d in event.ranks}
        every = [d for d in data_parallel(event) if d.forwards and d.rank in before]
        passes = [d.forwards - before[d.rank][0] for d in every]
        steps = [d.steps - before[d.rank][1] for d in every]
        if not differ(passes) or differ(steps):
            return
        made = ", ".join(
            f"rank {d.rank} made {count}" for d, count in list(zip(every, passes, strict=True))[:4]
        )
        yield self.last_word(
            event,
            f"the ranks made different numbers of forward passes for the same {steps[0]} steps before step {event.step}: "
            f"{made}",
            cause="Some ranks left out a step. Their pieces of the weights lag behind those of the others.",
            remedy="Step on every rank or on none: a condition must not depend on the rank or on its own data.",
            ranks=odd(every, passes),
            kind="skipped",
        )

    def _by_parameter(self, event: RanksSeen) -> Findings:
        """Some parameters are in pieces. Each is judged by itself, among the ranks that hold copies of the same piece."""
        first = event.ranks[0]
        every = [
            d for d in event.ranks if d.signature == first.signature and len(d.copies) == len(event.names)
        ]
        apart: dict[int, list[Digest]] = {}
        for index, name in enumerate(event.names):
            same = defaultdict(list)
            for d in every:
                same[d.copies[index]].append(d)
            torn = [ranks for ranks in same.values() if len(ranks) > 1 and parted(ranks, index)]
            if first.copies[index] == BESIDE:
                self._note(event.step, name, index, every)
                torn = torn if name in self._copies or name in self._moved else []
            if torn:
                apart[index] = torn[0]
        times = self.in_a_row("copies", bool(apart))
        if times == 1:  # later on, those that depend on it have parted too
            self._farthest = event.names[max(apart, key=lambda index: distance(apart[index], index))]
        if not apart:
            self._before.update({d.rank: (d.backwards, d.clips, d.refused) for d in every})
        if times < _STARTS:
            return
        known = [index for index in apart if event.names[index] == self._farthest]
        index = known[0] if known else min(apart)
        surely = first.copies[index] != BESIDE or event.names[index] in self._moved
        why = reason_of_copies(reason(apart[index], [index], self._before))
        severity = Severity.ERROR if surely else Severity.WARNING
        others = [each for each in apart if each != index]
        yield self._say(event, apart[index], [index, *others], why, severity=severity)

    def _note(self, step: int, name: str, index: int, every: Sequence[Digest]) -> None:
        """Whether ordinary parameters are copies of each other: hand-made pieces may begin alike, but do not move alike."""
        if differ([d.values[index] for d in every]):
            return
        if step == 0:
            self._copies.add(name)
        elif every[0].gradients[index] > _ZERO and not differ([d.gradients[index] for d in every]):
            self._moved.add(name)

    def _wrapped(self, event: RanksSeen, every: Sequence[Digest]) -> Findings:
        apart = [index for index in range(len(event.names)) if parted(every, index)]
        if apart:
            yield self._say(event, every, apart, reason(every, apart, self._before))
            return
        self._before.update({d.rank: (d.backwards, d.clips, d.refused) for d in every})
        moments = [index for index in range(len(event.names)) if moments_parted(every, index)]
        if self.in_a_row("moments", bool(moments)) == _STARTS:
            why = of_the_state(every, moments)
            yield self._say(event, every, moments, why, what="of the optimizer's state for")

    def _unwrapped(self, event: RanksSeen, every: Sequence[Digest]) -> Findings:
        """Without a wrapper, only ranks that have agreed before are expected to agree."""
        apart = [index for index in range(len(event.names)) if parted(every, index)]
        batches = [d.batch for d in every]
        own_data = None not in batches and differ(batches)
        if not apart:
            values = list(every[0].values)
            self._together += own_data and bool(self._last) and values != self._last
            self._last, self._apart = values, 0
            self._before.update({d.rank: (d.backwards, d.clips, d.refused) for d in every})
            return
        same_slope = all(not differ([d.gradients[index] for d in every]) for index in range(len(event.names)))
        self._shared = self._shared + 1 if same_slope and own_data and any(every[0].gradients) else 0
        if self._shared == _STARTS and not self._together:
            why = Reason(
                "The gradients are the same on all ranks, so they are averaged; the weights they are applied to are not. "
                "The ranks did not begin with the same weights.",
                "Seed every rank alike before the model is built, or broadcast the first rank's weights once "
                "(`DistributedDataParallel` does that).",
                odd(every, [tuple(d.values) for d in every]),
                kind="start",
            )
            yield self._say(event, every, apart, why)
        elif self._together >= _IN_STEP:
            self._apart += 1
            if self._apart == _STARTS:
                yield self._say(
                    event, every, apart, reason(every, apart, self._before), severity=Severity.WARNING
                )

    def _say(
        self, event: RanksSeen, every: Sequence[Digest], apart: list[int], why: Reason, **more: Any
    ) -> Finding:
        first, what = event.names[apart[0]], more.pop("what", "of")
        among = f"{len(apart)} of {len(event.names)} that were compared"
        return self.last_word(
            event,
            f"the {len(every)} ranks hold different values {what} `{first}` after step {event.step} ({among})",
            cause=why.cause,
            remedy=why.remedy,
            at=why.at,
            parameter=first,
            ranks=why.ranks,
            kind=why.kind,
            parameters=[event.names[index] for index in apart[:8]],
            **more,
        )


def reason(
    every: Sequence[Digest], apart: Sequence[int], before: Mapping[int, tuple[int, int, int]]
) -> Reason:
    """Why they parted, by what else is different between them."""
    wrapped = site(every[0].wrapped_at)
    if bare := [d.rank for d in every if d.bare and not d.called]:
        return Reason(
            f"{named(bare).capitalize()} called the module itself, not the DistributedDataParallel around it: its gradients "
            "are never averaged.",
            "Call the wrapper in the training loop; use `.module` only to save and to look.",
            bare,
            wrapped,
            "bare module",
        )
    if strangers := [d.rank for d in every if d.stranger]:
        return Reason(
            "The model in training is not the one that was wrapped: it was built again.",
            "Wrap the model that is trained, and build the optimizer from it.",
            strangers,
            wrapped,
            "another model",
        )
    if replaced := [d.rank for d in every if d.replaced]:
        names = next(d.replaced for d in every if d.replaced)
        return Reason(
            f"`{names[0]}` was put into the model after it was wrapped: the wrapper does not average its gradient.",
            "Change the model first, then wrap it, then build the optimizer.",
            replaced,
            wrapped,
            "replaced after wrapping",
        )
    known = all(d.rank in before for d in every)
    then = [(d, before[d.rank] if known else (0, 0, 0)) for d in every]
    steps = [d.backwards - old[0] for d, old in then]
    clips = [d.clips - old[1] for d, old in then]
    refused = [d.refused - old[2] for d, old in then]
    rates = [tuple(d.rates) for d in every]
    used = [tuple(bool(d.gradients[index]) for index in apart) for d in every]
    for answers, kind, cause in (
        (
            steps,
            "skipped",
            "left out a step: it made another number of backward passes for the same number of steps",
        ),
        (refused, "refused", "did not apply an update that the others have applied"),
        (clips, "clipped", "clipped its gradients another number of times than the others"),
        (rates, "rate", "has another learning rate than the others"),
        (used, "unused", "has no gradient for parameters that have one on the others"),
    ):
        if differ(answers):
            ranks = odd(every, answers)
            return Reason(
                f"{named(ranks).capitalize()} {cause}.",
                "Do on every rank what changes gradients, steps or rates: conditions must not depend on the rank or "
                "on its own data.",
                ranks,
                kind=kind,
            )
    ranks = odd(every, [tuple(d.values[index] for index in apart) for d in every])
    if all(differ([d.gradients[index] for d in every]) for index in apart[:1]):
        return Reason(
            "Their gradients differ at the step itself: they were not averaged, or changed afterwards on one rank.",
            "Move and convert the model before it is wrapped, not after. Between `backward` and `step`, change gradients on "
            "every rank or on none.",
            ranks,
            wrapped,
            "gradients",
        )
    moments = [index for index in apart if moments_parted(every, index)]
    if moments:
        return of_the_state(every, moments)
    return Reason(
        "Rate, gradients and the optimizer's state are the same: the weights were already different before.",
        "Load the checkpoint on every rank, optimizer included, or broadcast it.",
        ranks,
        wrapped,
        "state",
    )


def reason_of_copies(why: Reason) -> Reason:
    """The same of a layer beside others that are in pieces: no wrapper is meant to average its gradient."""
    if why.kind != "gradients":
        return why
    return why._replace(
        cause="Every rank has a copy of it, and its gradients differ: each rank saw another part of the data or of the sequence, "
        "and nothing adds their gradients up. Or they were changed on one rank only.",
        remedy="Add up the gradients of copies over the mesh before `step()`, or give the layer a style of its own in "
        "`parallelize_module` (`SequenceParallel()`), which does that.",
        at=None,
    )


def of_the_state(every: Sequence[Digest], apart: Sequence[int]) -> Reason:
    ranks = odd(every, [tuple(d.moments[index] for index in apart) for d in every])
    return Reason(
        "Rate and gradients are the same, but the optimizer's state differs: it was loaded, or lost, on some ranks only.",
        "Call `optimizer.load_state_dict` on every rank, with the same state.",
        ranks,
        site(every[0].wrapped_at),
        "optimizer state",
    )
