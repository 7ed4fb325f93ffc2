"""One verdict about a step of a model in pieces: each rank sees its own pieces only, and all must do the same.

Where ranks are replicas (DDP), gradients are averaged, so a NaN of one rank is in the gradients of all and each decides
alone. Pieces are different: only the rank that has the bad one sees it. So at each step that could be refused the ranks add
up, in one message of eight bytes for each parameter, the squares of the norms of their pieces. The sums are
those of the whole parameters, the same on all ranks, and not finite if one piece is not. Where the parts are ordinary
tensors (FSDP1, a pipeline, ZeRO) there is nothing to add up, and the message says only whether a rank is alarmed.

On the CPU this goes over connections of our own: it never comes between the user's collectives, and a rank that
does not join keeps the others waiting once, for a while. The sums travel by halves: in each turn a rank swaps its sums with one
partner, twice as far away as the last one, so that a thousand ranks need ten turns, where gloo's own ring needs two thousand. On a GPU the host must not wait for an answer: there a flag is
raised on the device, over the mesh's own groups, in the stream of the step.
"""

import functools
import math
import operator
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

import torch
import torch.distributed as dist

from premortem.ranks.rendezvous import afresh
from premortem.tensors.parts import may_have_parts, parts_of
from premortem.tensors.sharding import is_shard

_PATIENCE = timedelta(seconds=60)
_LOST = (
    "the ranks could not agree on a step ({why}); from here on no step is refused, because no rank may "
    "leave one out alone"
)


class Circle(NamedTuple):
    """The ranks that hold pieces of an optimizer's parameters."""

    groups: tuple[Any, ...]  # the user's own, over which a device tells others; () where it does not
    ranks: tuple[int, ...]
    parameters: list[
        torch.Tensor
    ]  # whose pieces add up to the same numbers on all ranks; [] where they do not
    shares: list[float]  # what this rank's square counts for, of each parameter: copies are counted once


class Answer(NamedTuple):
    """What the ranks agreed on."""

    norms: list[float]  # of the parameters that were asked about
    total: float  # of all that are in pieces: the same number on all ranks
    alarmed: bool  # one of the ranks was; on all of them


class Agreement:
    """Of all ranks with pieces of the same parameters."""

    def __init__(self, connect: Callable[[str], Any], say: Callable[[str], None]) -> None:
        self.bad_rank: int | None = None  # the only one whose pieces were not finite, in the last answer
        self._connect = connect
        self._say = say
        self._groups: dict[tuple[int, ...], Any] = {}
        self._lost = False

    def norms(
        self, circle: Circle, parameters: Sequence[torch.Tensor], own: Sequence[float], alarmed: bool
    ) -> Answer | None:
        """Those of the whole parameters from those of this rank's pieces; None when there is no telling any more.
        Called by all ranks of the circle, or they wait."""
        held = circle.parameters
        usual = len(parameters) == len(held) and all(map(operator.is_, parameters, held))
        pieces = own if usual else _laid_out(held, parameters, own)
        broken = alarmed and not math.isfinite(sum(own))
        squares = [norm * norm * share for norm, share in zip(pieces, circle.shares, strict=True)]
        summed = self._summed(circle, [alarmed, broken, broken * dist.get_rank(), *squares])
        if summed is None:
            return None
        alarms, count, ranks, *squares = summed
        self.bad_rank = int(ranks) if count == 1 else None
        whole = list(map(math.sqrt, squares))
        answer = whole if usual else _laid_out(parameters, held, whole, own)
        return Answer(answer, math.hypot(*whole), alarms > 0)

    def any(self, circle: Circle, here: bool) -> bool:
        """Whether it is so on one of the ranks. What cannot be agreed on is not so."""
        summed = self._summed(circle, [float(here)])
        return summed is not None and summed[0] > 0

    def on_device(self, circle: Circle, flag: torch.Tensor) -> None:
        """Raise a flag on the device when a rank has raised its own. The host does not wait."""
        for group in circle.groups:
            # Not the sum: torch's kernels leave a step out when the flag is 1, and make it when it is 2.
            dist.all_reduce(flag, dist.ReduceOp.MAX, group)

    def _summed(self, circle: Circle, numbers: Sequence[float]) -> list[float] | None:
        if self._lost:
            return None
        packed = torch.tensor(numbers, dtype=torch.float64)
        try:
            _add_up(
                self._group(circle.ranks),
                partners(circle.ranks.index(dist.get_rank()), len(circle.ranks)),
                packed,
            )
        except RuntimeError as error:
            self._lost = True
            self._groups.clear()
            self._say(_LOST.format(why=str(error).splitlines()[0][:120]))
            return None
        return packed.tolist()

    def _group(self, ranks: tuple[int, ...]) -> Any:
        """Connections of our own, made at the first step by all of them. torch's list of groups does not know it."""
        if ranks not in self._groups:
            store = self._connect(afresh("agreement/" + "-".join(map(str, ranks))))
            if store is None or not dist.is_gloo_available():
                raise RuntimeError("no connection of our own could be made")
            rank = ranks.index(dist.get_rank())
            self._groups[ranks] = dist.ProcessGroupGloo(store, rank, len(ranks), _PATIENCE)
        return self._groups[ranks]


class Meeting(NamedTuple):
    """What a rank does in one turn of an agreement."""

    rank: int  # the other one, by its place in the circle
    sends: bool
    takes: bool
    adds: bool  # ... and adds to its own; else it takes the answer as it is


@functools.cache
def partners(rank: int, world: int) -> tuple[Meeting | None, ...]:
    """Turn by turn, whom a rank meets; in as many turns on every rank. Ranks beyond the largest power of two give their sums to
    one of the others first, and are given the answer at the end. Two that meet add the same two numbers, so all ranks end
    with the same bits."""
    even = 1 << (world.bit_length() - 1)
    rest = world - even
    turns: list[Meeting | None] = []
    inside = rank < even
    odd = rank + even if inside else rank - even
    if rest:
        meets = not inside or rank < rest
        turns.append(Meeting(odd, sends=not inside, takes=inside, adds=True) if meets else None)
    turns += [
        Meeting(rank ^ (1 << turn), sends=True, takes=True, adds=True) if inside else None
        for turn in range(even.bit_length() - 1)
    ]
    if rest:
        meets = not inside or rank < rest
        turns.append(Meeting(odd, sends=inside, takes=not inside, adds=False) if meets else None)
    return tuple(turns)


def _add_up(group: Any, turns: Sequence[Meeting | None], numbers: torch.Tensor) -> None:
    """In place: the sums over all ranks. Raises RuntimeError when one does not answer in time."""
    other = torch.empty_like(numbers)
    for number, meeting in enumerate(turns):
        if meeting is None:
            continue
        works = [group.recv([other], meeting.rank, number)] if meeting.takes else []
        works += [group.send([numbers], meeting.rank, number)] if meeting.sends else []
        for work in works:
            work.wait(_PATIENCE)
        if meeting.adds and meeting.takes:
            numbers += other
        elif meeting.takes:
            numbers.copy_(other)


def _laid_out(
    places: Sequence[torch.Tensor],
    parameters: Sequence[torch.Tensor],
    numbers: Sequence[float],
    otherwise: Sequence[float] | None = None,
) -> list[float]:
    """The numbers of these parameters in the order of others, who need not be the same."""
    known = dict(zip(map(id, parameters), numbers, strict=True))
    rest = otherwise if otherwise is not None else [0.0] * len(places)
    return [known.get(id(place), number) for place, number in zip(places, rest, strict=True)]


def circle_of(parameters: Sequence[torch.Tensor]) -> Circle | None:
    """Who must agree on a step of these parameters; None when no other rank has a piece of them.

    Of several meshes the largest: parameters of a smaller one within it are copies on the rest of it."""
    sharded: list[Any] = [p for p in parameters if is_shard(p)]
    if not sharded:
        return None
    mesh = max((p.device_mesh for p in sharded), key=lambda each: each.size())
    ranks = tuple(sorted(mesh.mesh.flatten().tolist()))
    inside = [p for p in sharded if set(p.device_mesh.mesh.flatten().tolist()) <= set(ranks)]
    if len(ranks) < 2 or dist.get_rank() not in ranks:
        return None
    shares = []
    for parameter in inside:
        sizes = parameter.device_mesh.mesh.shape
        copies = [s for s, each in zip(sizes, parameter.placements, strict=True) if each.is_replicate()]
        elsewhere = len(ranks) // parameter.device_mesh.size()
        shares.append(1.0 / (math.prod(copies) * elsewhere))
    groups = tuple(mesh.get_group(dimension) for dimension in range(mesh.ndim))
    return Circle(groups, ranks, inside, shares)


def circles_of(optimizer: Any) -> tuple[Circle, ...]:
    """Those who must agree on its step, one circle after the other: whoever has heard the first tells it in the next."""
    pieces = circle_of([p for group in optimizer.param_groups for p in group["params"]])
    others = parts_of(optimizer) if may_have_parts() else []
    named = [Circle((each.group,) if each.group is not None else (), each.ranks, [], []) for each in others]
    return (pieces, *named) if pieces is not None else tuple(named)
