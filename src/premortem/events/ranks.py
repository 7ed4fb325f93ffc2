"""Many ranks: what they have, and where they part."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from premortem.events.base import Event, event

BESIDE = -1  # an ordinary parameter beside others that are in pieces


class Digest(NamedTuple):
    """What one rank says of itself after a step. Sequences are parallel to `RanksSeen.names`."""

    rank: int
    signature: int  # of the shapes and types of all parameters in training
    values: Sequence[int]  # a hash of sampled values of each parameter
    gradients: Sequence[int]  # likewise of its gradient; 0 where there is none
    sums: Sequence[float]  # of the sampled values, weighted by their places
    sizes: Sequence[float]  # of their absolute values
    rates: Sequence[float]  # learning rates of all groups
    backwards: int  # so far
    clips: int
    refused: int
    # DistributedDataParallel
    group: Sequence[int] = ()  # ranks that hold the same model; empty without it
    wrapped_at: Sequence[Any] = ()  # file and line
    called: bool = False  # the wrapper, in training, since the last digest
    bare: bool = False  # the module inside it, likewise
    replaced: Sequence[str] = ()  # parameters of the module that the wrapper does not know
    stranger: bool = False  # what is trained is not the wrapped module, but looks like it
    apart_on_purpose: bool = False  # a communication hook, model averaging, a step inside no_sync, Join
    buffers: int = 0  # a hash; 0 when they are broadcast, or there are none
    # data
    batch: int | None = None  # fingerprint of what the model was given last
    loader: Sequence[Any] = ()  # file and line of the loop over it
    passes: int = 0
    drawn: int = 0  # batches of this pass
    length: int | None = None
    # seconds of a step, the median since the last digest
    seconds: float = 0.0
    waiting: float = 0.0  # for data
    computing: float = 0.0  # outside of backward passes, in which ranks wait for each other
    going_back: float = (
        0.0  # in one backward pass, without waiting for others: as the wrapper has measured it ...
    )
    measured: int = 0  # ... in this iteration; it does so in few of them
    # the optimizer's
    moments: Sequence[float] = ()  # the size of sampled values of its state; 0 where there is none
    # FSDP2: passes in training, each of them a collective, and steps of the optimizers that hold pieces
    forwards: int = 0
    steps: int = 0
    # Where some parameters are in pieces, of each that is compared: the lowest rank that holds the same piece by its
    # placements, or BESIDE
    copies: Sequence[int] = ()


@event
class RanksSeen(Event):
    """All ranks after the same step, side by side. Only the first rank hears of it."""

    names: Sequence[str]  # of the parameters that are compared this time
    ranks: Sequence[Digest]


class CollectiveCall(NamedTuple):
    """What one rank has called. `name` is "backward" where it waits in a backward pass instead."""

    rank: int
    name: str
    details: str  # how many values of which type, and the root; "" when ranks may differ in it
    file: str
    line: int


@event
class CollectivesApart(Event):
    """Ranks stand still in collectives that are not the same. Only the first rank hears of it."""

    number: int  # of the call, counted from the beginning of the run
    calls: Sequence[CollectiveCall]


@event
class ShuffleStarted(Event):
    """A pass over a loader with a shuffling DistributedSampler begins."""

    loader: int
    epoch: int  # what `set_epoch` has set
    trained: int  # optimizer steps during the pass before
