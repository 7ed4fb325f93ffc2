"""Data: loaders, epochs, batches, and randomness in them."""

from dataclasses import dataclass
from typing import NamedTuple

from premortem.events.base import Event
from premortem.profile.facts import Overlap, Profile, Unrelated


@dataclass(slots=True, kw_only=True)
class LoaderBuilt(Event):
    loader: int
    samples: int | None  # len(dataset), None for iterable datasets
    batches: int | None  # len(loader)
    batch_size: int | None
    shuffle: bool  # any sampler that is not sequential
    drop_last: bool
    workers: int
    # indices a WeightedRandomSampler can draw: fewer than `samples` when it was given one weight per class
    reachable: int | None = None
    # of those with a weight above 0: how many, and how many of them are nearly all that is drawn
    weighted: tuple[int, int] | None = None
    # random generators that the dataset's own methods draw from, and that every worker gets a copy of
    generators: tuple[str, ...] = ()
    # of a `Subset`: a key of it, and one of the dataset that it is a part of
    part: tuple[int, int] | None = None


@dataclass(slots=True, kw_only=True)
class Blended(Event):
    """CPU, audit gear: what an interpolation made of whole numbers is cut to whole numbers again."""

    mode: str  # of the interpolation
    values: int  # different ones before
    shape: tuple[int, ...]


class Array(NamedTuple):
    """One array that a dataset holds (or that batches are cut from), at the start of an epoch."""

    name: str
    # mean |value now - value when first seen|, in units of the spread then; 0 for another object
    distance: float
    spread: float
    inside: bool = True  # it was written while a batch was made, not by other code between batches
    key: int = 0  # the same for the same array, whichever loader reads it


class Samples(NamedTuple):
    """Samples by their numbers in a dataset; of a `Subset`, in the dataset that it is a part of."""

    dataset: str  # the name of its class
    length: int | None
    indices: tuple[int, ...]


@dataclass(slots=True, kw_only=True)
class SamplesBroken(Event):
    """A step was refused, and these samples held NaN or infinity as the loader handed them out."""

    samples: Samples
    batch: int | None = None  # the last one that was drawn for the step, counted from 1 in its epoch


@dataclass(slots=True, kw_only=True)
class EpochStarted(Event):
    """A DataLoader was iterated. `content` is a cheap checksum of the dataset's own arrays, to see
    data that changes between epochs (None when there is nothing to look at)."""

    loader: int
    content: int | None = None
    arrays: tuple[Array, ...] = ()


@dataclass(slots=True, kw_only=True)
class BatchDrawn(Event):
    """`fingerprint` is a hash of sampled values of the whole batch (None off the CPU)."""

    loader: int
    index: int
    fingerprint: int | None = None


@dataclass(slots=True, kw_only=True)
class EpochEnded(Event):
    """The loader ran out (`complete`), or was left early, which shows when the next pass begins."""

    loader: int
    batches: int
    complete: bool = True
    again: bool = False  # this iterator had run out before: a second loop over it gets nothing


@dataclass(slots=True, kw_only=True)
class SlicesRestarted(Event):
    """Batches are slices of one large tensor, and an early one was used again after a later one."""

    array: Array


@dataclass(slots=True, kw_only=True)
class Shuffled(Event):
    """`torch.randperm(size)`: often the order of a new epoch."""

    size: int


@dataclass(slots=True, kw_only=True)
class RandomRepeated(Event):
    """A random function of torch gave the very numbers it gave at this line the time before."""

    fn: str
    times: int  # in a row
    size: int  # how many numbers
    grad: bool = True  # drawn with gradients enabled: not in an evaluation
    explicit: bool = False  # from a generator that the script handed over


@dataclass(slots=True, kw_only=True)
class DataProfiled(Event):
    """What has flowed into the models so far (premortem.profile): emitted a few times, each time anew and whole."""

    profiles: tuple[Profile, ...]
    overlaps: tuple[Overlap, ...] = ()  # rows of an evaluation that were trained on
    # what is trained on, an evaluation, and the column that goes with others in only one of them
    relations: tuple[tuple[str, str, Unrelated], ...] = ()


@dataclass(slots=True, kw_only=True)
class PictureTurned(Event):
    """CPU: a sample came again as the mirror image of what it was: with a mask that is as before (`alone`), or not."""

    way: str
    alone: bool


@dataclass(slots=True, kw_only=True)
class LabelsPlaced(Event):
    """CPU: rows of a batch that were found among the samples it was made of, and those of them that have another label there."""

    rows: int
    wrong: int
