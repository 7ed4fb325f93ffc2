"""Data: loaders, epochs, batches, and randomness in them."""

from typing import NamedTuple

from premortem.events.base import Event, event
from premortem.profile.facts import Overlap, Profile, Unrelated


@event
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


@event
class LayoutRead(Event):
    """CPU: pictures that a model was given, beside the same memory read with the channels last: how far neighbours are apart then, in units
    of how far they are now."""

    model: int
    name: str
    shape: tuple[int, ...]
    across: float
    down: float
    seams: float = 0.0  # over the ends of rows, in units of right beside them: 1 if the rows go on there


@event
class OrderDrawn(Event):
    """The first batch of a pass over a random sampler was drawn."""

    loader: int
    data: int  # the dataset, whichever loader reads it
    first: int  # the same for the same samples in the same order


@event
class PartStarted(Event):
    """CPU: a pass over a part of a dataset begins, of which other loaders have parts too."""

    loader: int
    rows: int
    shared: dict[int, int]  # rows that the part of another loader has too, by that loader
    weights: dict[int, int]  # of each trained model: the same number for the same weights


@event
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


@event
class SamplesBroken(Event):
    """A step was refused, and these samples held NaN or infinity as the loader handed them out."""

    samples: Samples
    batch: int | None = None  # the last one that was drawn for the step, counted from 1 in its epoch


@event
class EpochStarted(Event):
    """A DataLoader was iterated. `content` is a cheap checksum of the dataset's own arrays, to see
    data that changes between epochs (None when there is nothing to look at)."""

    loader: int
    content: int | None = None
    arrays: tuple[Array, ...] = ()


@event
class BatchDrawn(Event):
    """`fingerprint` is a hash of sampled values of the whole batch (None off the CPU)."""

    loader: int
    index: int
    fingerprint: int | None = None


@event
class EpochEnded(Event):
    """The loader ran out (`complete`), or was left early, which shows when the next pass begins."""

    loader: int
    batches: int
    complete: bool = True
    again: bool = False  # this iterator had run out before: a second loop over it gets nothing


@event
class SlicesRestarted(Event):
    """Batches are slices of one large tensor, and an early one was used again after a later one."""

    array: Array


@event
class Shuffled(Event):
    """`torch.randperm(size)`: often the order of a new epoch."""

    size: int


@event
class RandomRepeated(Event):
    """A random function of torch gave the very numbers it gave at this line the time before."""

    fn: str
    times: int  # in a row
    size: int  # how many numbers
    grad: bool = True  # drawn with gradients enabled: not in an evaluation
    explicit: bool = False  # from a generator that the script handed over


@event
class DataProfiled(Event):
    """What has flowed into the models so far (premortem.profile): emitted a few times, each time anew and whole."""

    profiles: tuple[Profile, ...]
    overlaps: tuple[Overlap, ...] = ()  # rows of an evaluation that were trained on
    # what is trained on, an evaluation, and the column that goes with others in only one of them
    relations: tuple[tuple[str, str, Unrelated], ...] = ()


@event
class PictureTurned(Event):
    """CPU: a sample came again, and its picture or its mask is the mirror image of what it was: both alike, or one `alone`."""

    way: str
    alone: bool


@event
class LabelsPlaced(Event):
    """CPU: rows of a batch that were found among the samples it was made of, and those of them that have another label there."""

    rows: int
    wrong: int
