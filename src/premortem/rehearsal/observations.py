"""What a rehearsal has seen, as plain numbers and names. No torch."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any

WATCHED = "watched"  # under the supervision of `premortem run`
UNWATCHED = "unwatched"  # only timed, looked at and tried


@dataclass
class Chain:
    """The chain of custody of one parameter group: how many of its parameters reached each link."""

    group: str  # "AdamW, group 1" or "no optimizer"
    parameters: int
    reached: int = 0
    graded: int = 0
    owned: int = 0
    moved: int = 0
    evaluated: int = 0


@dataclass
class Saved:
    path: str
    bytes: int
    seconds: float
    step: int
    numbered: bool = False  # its name holds a counter of the running loops: the next one is another file


@dataclass
class Loader:
    """One DataLoader of the script's."""

    batches: int | None
    batch_size: int | None
    workers: int
    persistent: bool = False
    training: bool = False
    drawn: int = 0
    cut: bool = False
    seconds: float = 0.0  # for one batch of an evaluation, all in all


@dataclass
class Reads:
    """What the dataset of the training loader is made of."""

    dataset: str  # its class
    length: int
    sample: list[
        str
    ]  # files that one sample was read from; empty when they are not known, or others each time


@dataclass
class Split:
    """Where the time of one step goes, in seconds; the median of the unwatched steps."""

    step: float  # all of it
    data: float
    forward: float
    backward: float
    optimizer: float
    steps: int  # that were measured
    batch: float | None = None  # for one batch of the loader, all in all

    @property
    def waiting(self) -> float:
        return self.data / self.step if self.step > 0 else 0.0


@dataclass
class Schedule:
    kind: str
    horizon: int | None
    calls: int  # while every step was still the script's own
    steps: int  # optimizer steps in the same time
    per_epoch: bool = False  # not called in the asked steps, and called when a pass was over
    file: str = ""
    line: int = 0


@dataclass
class Force:
    """What is configured, and what of it was seen at work."""

    autocast: list[str] = field(default_factory=list)  # "cpu bfloat16": regions entered in training
    autocast_at: tuple[str, int] | None = None
    low: int = 0  # matrix products and convolutions in 16 bits, in the one step that was looked at
    full: int = 0  # ... and in 32
    looked: bool = False
    scaler: bool = False  # an enabled one was made ...
    scaler_at: tuple[str, int] | None = None
    scaled: int = 0  # ... and asked to scale a loss this often
    convolutions: int = 0
    last_weights: int = 0  # of them with weights in channels_last
    last_inputs: int = 0  # ... with activations in channels_last
    compiled: bool = False  # torch.compile was asked for
    compiled_at: tuple[str, int] | None = None
    graphs: int = 0
    frames: int = 0
    frames_ok: int = 0
    breaks: list[str] = field(default_factory=list)
    hidden_errors: bool = False  # suppress_errors
    cache: str = ""  # attribute of the dataset that keeps samples
    cache_lost: bool = False  # ... in workers that do not outlive an epoch
    cache_speedup: float | None = None
    cache_bytes: int = 0  # once it holds every sample, in one process


@dataclass
class Overfit:
    tried: bool = False
    why_not: str = ""
    first: float | None = None
    best: float | None = None
    steps: int = 0
    rates: list[float] = field(default_factory=list)  # factors of the script's own rate that were tried
    gradient: float = 0.0
    enough: bool = False  # every trial came to its end


@dataclass
class Twice:
    tried: bool = False
    why_not: str = ""
    same: bool = False
    difference: float = 0.0
    noisy: list[str] = field(default_factory=list)  # layers that were in train mode


@dataclass
class Rehearsed:
    asked: int = 0
    steps: int = 0
    seconds: float = 0.0
    start_up: float = 0.0  # seconds of the script's own, before its first batch or its first forward pass
    to_steps: float = 0.0  # seconds until the asked steps were made
    ended: str = ""  # "done", "finished", "crashed", "exited", "late", "interrupted"
    error: str = ""
    message: str = ""
    code: int = 0
    where: tuple[str, int] | None = None
    compiling: bool = False  # the error came from torch's compiler
    compile_error: str = ""  # ... and without compilation the script makes its steps; this is of that launch
    compile_at: tuple[str, int] | None = None
    cut: bool = False
    loops: bool = False  # batches come from a DataLoader
    evaluations: int = 0
    losses: list[float] = field(default_factory=list)
    backwards: list[int] = field(default_factory=list)  # before each step
    optimizers: int = 0
    chains: list[Chain] = field(default_factory=list)
    saved: list[Saved] = field(default_factory=list)
    loaders: list[Loader] = field(default_factory=list)
    largest: str = ""  # the shapes of the largest batch
    samples: int | None = None
    peak_rss: int = 0
    peak_cuda: int | None = None
    device: str = ""
    split: Split | None = None
    schedules: list[Schedule] = field(default_factory=list)
    stated: dict[str, Any] = field(default_factory=dict)
    epochs: int | None = None
    planned_steps: int | None = None  # where a loop counts steps
    force: Force = field(default_factory=Force)
    overfit: Overfit = field(default_factory=Overfit)
    twice: Twice = field(default_factory=Twice)
    faults: list[str] = field(default_factory=list)
    tail: str = ""
    late: bool = False
    opened: dict[str, int] = field(default_factory=dict)  # folder -> files of the user's that were read there
    reads: Reads | None = None
    saves: bool = False  # its source mentions saving ...
    resumes: bool = False  # ... and reading what was saved
    sandbox: dict[str, Any] = field(default_factory=dict)
    refused: bool = False  # the script ended over a write that only the sandbox refused

    @property
    def training(self) -> Loader | None:
        return next((loader for loader in self.loaders if loader.training), None)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Rehearsed:
        record = _numbers(record)
        made = cls(**{name: record[name] for name in {f.name for f in fields(cls)} & set(record)})
        for name, kind in (("chains", Chain), ("saved", Saved), ("loaders", Loader), ("schedules", Schedule)):
            setattr(made, name, [kind(**each) for each in record.get(name, [])])
        made.split = Split(**record["split"]) if record.get("split") else None
        made.reads = Reads(**record["reads"]) if record.get("reads") else None
        made.force = Force(**record.get("force", {}))
        made.overfit = Overfit(**record.get("overfit", {}))
        made.twice = Twice(**record.get("twice", {}))
        return made


def _numbers(value: Any) -> Any:
    """JSON has no NaN and no infinity: they come as words."""
    if isinstance(value, dict):
        return {key: _numbers(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_numbers(each) for each in value]
    return float(value) if value in ("nan", "inf", "-inf") else value
