"""What is known of the machine and the folders: plain values, so that checks can be tried with any machine."""

from dataclasses import dataclass, field
from pathlib import Path

from premortem.findings import Where


@dataclass(frozen=True, kw_only=True)
class Gpu:
    name: str
    capability: tuple[int, int] | None = None
    memory: int | None = None  # bytes


@dataclass(frozen=True, kw_only=True)
class Torch:
    """The torch that the script would import, read from its files; the rest only where there is a GPU."""

    version: str
    cuda: str | None = None  # the CUDA it was built for
    rocm: str | None = None
    architectures: tuple[str, ...] = ()  # "sm_90", "compute_90"
    sees_gpu: bool | None = None  # None: was not asked
    problem: str = ""  # why it does not load


@dataclass(frozen=True, kw_only=True)
class Booking:
    """How many devices this run keeps from others, and what says so; empty: they are just there."""

    devices: int
    said_by: str = ""


@dataclass(frozen=True, kw_only=True)
class Use:
    """How many devices the code uses, by positive signs: 0 is not known, 2 is several."""

    devices: int = 0
    sign: str = ""
    where: Where = field(default_factory=Where)
    cuda: Where | None = None  # where it first speaks of CUDA
    framework: str = ""  # one that chooses the device itself


@dataclass(frozen=True, kw_only=True)
class Output:
    """A folder that checkpoints go to."""

    path: Path
    where: Where
    free: int | None = None  # bytes
    wiped: str = ""  # what becomes of it, as a sentence goes on: "a Colab session"
    certain: bool = False


@dataclass(frozen=True, kw_only=True)
class Saving:
    """One statement that saves, and what its files will need."""

    where: Where = field(default_factory=Where)
    pattern: str  # of the files' names
    free: int  # bytes on that disk
    size: int  # of one file, from those that are there or from the rehearsal
    count: int  # files that are still to be written


@dataclass(frozen=True, kw_only=True)
class Caching:
    """A dataset that keeps what it has read, in each worker process."""

    where: Where
    size: int  # bytes of all samples, decoded: at least
    workers: int
    available: int  # bytes of memory
    folder: Path


@dataclass(frozen=True, kw_only=True)
class Copy:
    """A name that the script imports, of which there are two."""

    name: str
    used: Path
    other: Path  # the one in the working tree, or the second one there
    same: bool  # to the last byte
    outside: bool  # the used one is not of this project
    where: Where


@dataclass(frozen=True, kw_only=True)
class Clone:
    inner: Path
    outer: Path
    sign: str  # why it is another clone of the same: "both come from git@…"
    inside: bool  # the script runs from the inner one


@dataclass(kw_only=True)
class Facts:
    gpus: list[Gpu] = field(default_factory=list)  # that can be seen
    hidden: bool = False  # there are some, and CUDA_VISIBLE_DEVICES hides them all
    driver: str | None = None
    torch: Torch | None = None
    booking: Booking | None = None
    use: Use = field(default_factory=Use)
    memory: int | None = None  # bytes available
    outputs: list[Output] = field(default_factory=list)
    savings: list[Saving] = field(default_factory=list)
    caching: list[Caching] = field(default_factory=list)
    copies: list[Copy] = field(default_factory=list)
    clones: list[Clone] = field(default_factory=list)
