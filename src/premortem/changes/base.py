"""What a change is: one thing that is different in a run of the user's script.

Files of this room load without torch, so that a verb can list and choose changes before it starts a process.
"""

from __future__ import annotations

import os
import signal
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from premortem.changes.reach import Reach
    from premortem.lint.diagnostics import Fix
    from premortem.lint.source import Source


@dataclass(frozen=True, kw_only=True)
class RunDescription:
    """What a run is made of, in plain values. None, or nothing, where it is not known."""

    device: str = ""  # "cpu", "cuda"
    backend: str = "inductor"  # of torch.compile
    bfloat16: bool = True  # the device computes in it
    optimizers: tuple[str, ...] = ()  # names of their classes
    groups: tuple[Mapping[str, Any], ...] = ()  # settings of their groups, without parameters
    foreach: bool | None = None  # the update runs in multi-tensor kernels
    fusible: bool = True  # the weights are floating-point numbers on a device with fused kernels
    autocast: bool = False
    low_precision: bool = False  # something was computed in 16 bits
    low_weights: bool = False  # the weights themselves have 16 bits
    compiled: bool = False
    convolutions: int = 0  # of two and three dimensions
    channels_last: bool = False  # they have that format already
    repeated_blocks: int = 0
    checkpoints: bool = False
    reentrant: bool = False  # checkpoints of that kind
    zeroed_in_place: bool = False  # zero_grad(set_to_none=False)
    backwards_per_step: int = 1
    saves: int = 0
    samples: int = 0  # of a step that can be left out
    failed_in_update: bool | None = (
        None  # of a failed step that is run again: all before the update is finite
    )
    ranks: int = 1
    clips: bool = False
    schedules: bool = False  # the learning rate varies
    frozen: int = 0  # parameters of trained models without gradients
    loaded: bool = False  # weights were loaded into a model
    eval_with_gradients: bool = False  # a model with dropout or batch norm was trained in evaluation mode
    loader: bool = False  # batches come from a DataLoader
    targets: bool = False  # an output is compared with labels by a loss of torch.nn.functional
    augments: bool = False  # the same sample of a dataset is another one each time
    negative_loss: bool = False
    stale_gradients: bool = False  # a step begins with gradients of the one before
    cleared_before_step: bool = False  # gradients are cleared between backward() and step()
    missing: int = 0  # parameters that the loss reaches and no optimizer holds
    squashed: bool = False  # a softmax or sigmoid lies before a loss that has its own
    bounded: bool = False  # an activation bounds what is compared with targets of any size
    mismatched: bool = False  # prediction and target have different shapes, and the loss broadcasts them
    odd_inputs: bool = False  # far from mean 0 and deviation 1
    unshuffled: bool = False  # what is trained on comes in the same order in every epoch
    train_without_gradients: bool = False  # a model with dropout or batch norm is evaluated in training mode
    dropout: float = 0.0  # the highest probability in training
    weight_decay: float = 0.0  # the highest of all groups
    terms: int = 0  # that are added up to make the loss
    draws: bool = False  # a model draws random numbers in training
    kept_statistics: bool = (
        False  # a batch norm that was trained for long is evaluated with statistics it has kept
    )
    splits: bool = False  # `random_split` was called, and how well it goes depends on the seed
    warming: bool = False  # the learning rate was still rising when these steps ended
    own_weights: bool = False  # a layer begins with weights far larger or smaller than torch would give it
    odd_scores: bool = False  # what goes into a softmax before anything is learned is huge, or nearly nothing
    odd_settings: bool = False  # of an optimizer: an epsilon, a momentum, a beta that stops it
    sigmoid_layers: bool = False  # what a sigmoid makes is what the next layer is given
    stuck: bool = False  # as it is, it does not learn
    by_heart: bool = False  # training gets better, and no evaluation does
    diverges: bool = False

    @property
    def on_gpu(self) -> bool:
        return self.device.startswith("cuda")

    @property
    def uses_adam(self) -> bool:
        return bool({"Adam", "AdamW"} & set(self.optimizers))


@dataclass(frozen=True, kw_only=True)
class Harm:
    """A mistake that `drill` makes."""

    families: frozenset[str]  # a finding of one of these names the cause
    needs: str  # what a script without an opening for this mistake does not do
    kills: bool = False  # the process dies of it: what counts is what is left on the disk


@dataclass(frozen=True, kw_only=True)
class OneStep:
    """`replay` runs one failed step again with it. If the failure goes away, it is part of the cause."""

    title: str
    size: int  # how much of the run it changes; the smallest change that helps is named
    gone: str = ""  # what it tells when the failure goes away
    stays: str = ""
    launch: str = ""  # the key of an order for a new process, where only that can put it on


@dataclass(frozen=True, kw_only=True)
class Memory:
    """`fit` predicts the peak with it."""

    title: str
    cost: str
    name: str = ""  # where `fit` calls it otherwise


@dataclass(frozen=True, kw_only=True)
class Time:
    """`fit --speed` times the step with it."""

    name: str = ""  # where `fit --speed` calls it otherwise
    exact: bool = True  # gradients must be those of the plain step, up to rounding
    compiles: bool = False  # its first turns take long, and its random numbers are its own
    explains: bool = False  # worth asking the compiler what it makes of the model


@dataclass(frozen=True, kw_only=True)
class Learning:
    """`why` trains with it for a while. If the model then learns, the opposite is what was wrong."""

    title: str
    question: str = "update"  # which question of `why` it helps to answer
    family: str = ""  # of the mistake that it removes; empty for a question, which is never a cause
    mistake: bool = True  # else only a better setting
    same_loss: bool = True  # the loss means what it meant before
    same_start: bool = False  # with the same weights the loss must be the same one
    where_stuck: bool = False  # asked only where the script does not learn as it is
    where_by_heart: bool = False  # ... or where it learns, and no evaluation shows it: then evaluations judge
    order: int = 5  # of changes that help as much, the lowest is the cause
    least: float = 0.05  # the smallest gain that counts, as a part of the yardstick's scale
    certain: bool = (
        False  # what it needs is a mistake wherever it is seen; else only where the effect is large
    )
    evaluated: bool = False  # training always looks better with it: only an evaluation can judge it
    further: str = ""  # the same, ten times as far: a setting that is wrong by so much is a mistake
    slow: bool = False  # it makes up for few steps: a mistake only where the script makes many, and no more than were seen
    against: str = ""  # the opposite: where both help, neither says anything
    finding: str = ""  # the name in the catalog of what it removes
    remedy: str = ""  # what to do, where no edit of the source says it


@dataclass
class Change(ABC):
    """One change, ready to be put on and taken off any number of times. The first line of each docstring says it as a
    person would."""

    reach: Reach
    run: RunDescription = field(default_factory=RunDescription)
    settings: Mapping[str, Any] = field(default_factory=dict)

    name: ClassVar[str]
    opening: ClassVar[tuple[str, str]] = ("", "")  # a fact of the run that it needs; the reason without it
    edit: ClassVar[Callable[[Source], Fix | None] | None] = (
        None  # what makes it permanent in a file, if it has a place
    )
    harm: ClassVar[Harm | None] = None
    one_step: ClassVar[OneStep | None] = None
    memory: ClassVar[Memory | None] = None
    time: ClassVar[Time | None] = None
    learning: ClassVar[Learning | None] = None

    def __post_init__(self) -> None:
        self.touched = 0  # how often it did something
        self.detail = ""  # what it did, where that needs words
        self.watched = False  # it may look closely: this turn is not timed

    @classmethod
    def absent(cls, run: RunDescription) -> str:
        """What the run has not got, so that this would change nothing; "" when it applies."""
        fact, otherwise = cls.opening
        return otherwise if fact and not getattr(run, fact) else ""

    @classmethod
    def prevented(cls, run: RunDescription) -> str:
        """Why it applies and still cannot be tried here; "" when it can."""
        return ""

    @abstractmethod
    def put_on(self) -> None:
        """Before the script's first line, or between two of its steps. Only through `self.reach`, which undoes it."""

    def take_off(self) -> None:
        self.reach.end()

    @contextmanager
    def on(self) -> Iterator[Change]:
        try:
            self.put_on()
            yield self
        finally:
            self.take_off()

    def in_force(self) -> str:
        """What shows that it is not merely configured; "" when there is nothing to say."""
        return ""

    def how(self) -> str:
        """The line of code that does it."""
        return ""

    def tell(self, **facts: Any) -> None:  # noqa: B027 - most need no one to know
        """Set by whoever puts it on: for a change that does not come back."""

    def die(self) -> None:
        self.tell(touched=self.touched + 1, detail=self.detail, ended="killed")
        os.kill(os.getpid(), signal.SIGKILL)
