"""Updates: optimizers, clipping, schedulers, scalers."""

from dataclasses import field
from typing import NamedTuple

from premortem.events.base import Event, Site, event


class Group(NamedTuple):
    lr: float
    weight_decay: float
    momentum: float
    parameters: tuple[int, ...]
    eps: float = 0.0  # what keeps an adaptive optimizer from dividing by 0; 0 when it has none
    matrices: int = (
        0  # of its parameters, those with two dimensions or more (weights; the others are biases and scales)
    )


@event
class OptimizerBuilt(Event):
    """Also sent when a group is added later (`again`)."""

    optimizer: int
    kind: str
    groups: tuple[Group, ...]
    fused: bool = False
    maximize: bool = False
    lr_text: str = ""  # the learning rate as given, when it was not a number
    frozen: tuple[int, ...] = ()  # parameters that asked for no gradient when it was built
    again: bool = False
    error: str = ""  # the constructor raised

    @property
    def held(self) -> frozenset[int]:
        """The keys of all parameters in its groups."""
        # No line of ours for each of them: detectors ask at every step.
        none: frozenset[int] = frozenset()
        return none.union(*[group.parameters for group in self.groups])


@event
class ZeroGrad(Event):
    """Gradients were cleared through `zero_grad()` of an optimizer or a module.

    `wasted` lists the optimizers whose parameters lost a gradient that no step had used, `cleared` all
    whose gradients it cleared."""

    optimizer: int | None
    wasted: tuple[int, ...] = ()
    cleared: tuple[int, ...] = ()
    by_hand: bool = False  # the weights were written since that gradient was made: it was used without a step


@event
class Clip(Event):
    """Gradient clipping. `norm` is None while it is still on the device."""

    kind: str  # "norm" or "value"
    limit: float
    norm: float | None
    after_step: bool = False  # no backward since the last step: it clips used gradients,
    empty: bool = False  # ... or there are none yet


@event
class OptimizerStep(Event):
    """An optimizer stepped, or the user's own code moved the weights ("by hand": optimizer 0)."""

    optimizer: int
    kind: str
    lrs: tuple[float, ...]
    closure: bool = False
    parameters: int = 0  # how many it holds that require a gradient
    with_grad: int = 0  # ... that had one
    backwards: int = 0  # backward calls since this optimizer's last step that reached it
    backward_sites: tuple[Site, ...] = ()  # where they were, in order, without repeats
    values: tuple[float | None, ...] = ()  # the tensors they were called on
    cleared: bool = True  # its gradients were cleared at some point since its last step
    emptied: bool = False  # backward gave gradients, and they were cleared before this step
    reused: bool = False  # no backward since its last step, and the very gradients of that step were there
    touched: bool = False  # the user's own code wrote the gradients after the last backward
    pending: int = 0  # backward calls whose gradients are in the sum it used
    scaled: bool = False  # its gradients still carry a GradScaler's scale: they were not unscaled
    # the call stands under an `if` that asks for a remainder (every k-th time), or its backward passes in a loop that says
    # it runs over micro-batches
    gated: bool = False
    skipped: bool = False  # refused by a scaler
    refused: bool = False  # by premortem: the update would not have been finite
    rewritten: bool = False  # its learning rates were assigned since its last step, if only the same values
    broken_rate: float | None = (
        None  # a rate that is known, and not finite (in `lrs` NaN is also what is not known)
    )
    rate_at: Site | None = None  # ... and the line of the script that assigns rates, where there is only one
    stray: float | None = None  # a rate set where torch's optimizers do not look: `optimizer.lr = 0.1`
    # of several groups only one has ever had another rate, and this line of the script writes it by its number; no line writes others
    one_group: Site | None = None
    rested: int = 0  # steps like it since the last reported one, which were only counted
    # of several backward passes: the batches that were drawn for them, the first and the last, counted from 1 in their epoch
    batches: tuple[int, int] | None = None
    uphill: float | None = None  # by hand: cosine between the update and the gradient (a few values, CPU)


class Link(NamedTuple):
    """One parameter's chain of custody: loss -> gradient -> owner -> moved."""

    key: int
    name: str
    model: int
    numel: int
    trainable: bool
    ran: bool  # its module ran in a training forward since the last audit
    ran_without_grad: bool  # ... but under no_grad
    reached: bool  # some loss's graph led to it since the last audit
    graded: bool  # it has a gradient now
    gradient: float | None  # norm of it (sampled), None without one
    owners: tuple[int, ...]  # optimizers that hold it
    moved: bool | None  # its bits changed in this step; None when not looked at
    weight: float | None  # norm of the sampled weights
    update: float | None  # norm of the sampled change
    loaded: bool  # came from a state dict
    trained: bool  # moved in an earlier phase of this run
    born_after: bool  # made after the newest optimizer that steps was built
    hidden: str  # attribute of the plain list or dict it hides in, or ""
    head: bool  # belongs to the last layer with weights that ran
    fresh: bool = False  # frozen, and its values are spread as torch's initialisers leave them
    shifted: bool = False  # something other than an optimizer has written it: an EMA, a hand-made update
    twin: bool = False  # it started as a copy of another parameter
    # Size of a plain gradient step where the gradient is largest, in units of the weight's last digit; None when
    # the optimizer that stepped does not hold it or it has no gradient.
    pull: float | None = None
    stuck: bool = False  # ... and not a bit of those entries changed
    sharded: bool = (
        False  # other ranks have other elements of it; `gradient` is None when that of this piece is 0
    )
    start: float | None = None  # norm of the sampled weights before the step; None when not looked at
    inward: float | None = None  # cosine between the change and the weights before: -1 straight to zero
    # Of 16-bit weights: the share of those with a gradient of which the step, of one of torch's own optimizers, has not changed a
    # bit. None for others.
    still: float | None = None


@event
class Custody(Event):
    """Audit gear: the chain of custody of every parameter of the models in training."""

    optimizer: int
    links: tuple[Link, ...]
    # parameters the optimizer holds that belong to no model that ran, with the model they do
    # belong to (0: none that is alive)
    strangers: tuple[tuple[int, int], ...] = ()
    lrs: tuple[float, ...] = ()
    uphill: float | None = None  # cosine between the update and the gradient: -1 straight down, 1 straight up


@event
class HeldStillMoved(Event):
    """Audit gear, CPU: entries of a weight whose gradient the script set to 0 after the backward pass, in two steps one after the other, and
    that are elsewhere before the second than before the first."""

    parameter: int
    name: str
    entries: int  # of a sample
    moved: int
    inward: float  # cosine between the change and the entries: -1 straight to zero
    decay: float  # weight decay of its group
    chosen: bool = True  # the same ones both times: none of them had its gradient in the other step


@event
class StepStats(Event):
    """Numbers of a finished step, read without waiting for the device, so one or two steps late."""

    optimizer: int
    loss: float | None
    grad_norm: float
    worst: int | None  # key of the first parameter with a non-finite gradient
    grad_norms: tuple[float, ...] = ()  # per parameter, in the order of `keys`
    keys: tuple[int, ...] = ()
    weight_norm: float | None = None  # now and then
    weights_finite: bool = True
    input_finite: bool = True
    lr: float = 0.0
    rested: bool = False  # a sound step that was only counted: no other event of it was emitted
    # below 1, the script divides the loss of each of several backward passes (`loss / 4`): `loss` is their mean, undivided
    share: float = 1.0


@event
class StepRefused(Event):
    """A step that was not made, because its update would not have been finite. Weights and state are as before."""

    optimizer: int
    # "gradient": not finite. "update": made of sound gradients by the optimizer's own arithmetic.
    # "memory": the backward pass did not come to its end, so that its gradients are not whole
    reason: str
    loss: float | None
    worst: int | None  # key of the first parameter with a non-finite gradient
    row: int  # of this optimizer, in a row
    total: int  # of all optimizers, so far
    made: int  # steps that were made so far
    rank: int | None = None  # of sharded parameters: the one rank whose piece was not finite
    batches: tuple[int, int] | None = (
        None  # drawn for it: the first and the last, counted from 1 in their epoch
    )


@event
class SchedulerBuilt(Event):
    scheduler: int
    optimizer: int
    kind: str
    horizon: int | None  # steps the schedule is made for (T_max, total_steps, last milestone), if any
    mode: str = ""  # of ReduceLROnPlateau
    options: dict[str, float] = field(default_factory=dict)
    parts: tuple[int, ...] = ()  # schedulers it steps itself (SequentialLR, ChainedScheduler, a wrapper)


@event
class SchedulerStep(Event):
    scheduler: int
    optimizer: int
    kind: str
    count: int  # calls so far
    position: int  # last_epoch
    horizon: int | None
    before: float  # largest lr before and after
    after: float
    metric: float | None = None  # of ReduceLROnPlateau
    explicit: bool = False  # the position was given by the caller: step(epoch + i / n)
    since_step: int = 0  # optimizer steps (of its optimizer) since the previous call
    optimizer_steps: int = 0  # ... in all
    parts: tuple[int, ...] = ()  # schedulers that it stepped itself during this call


@event
class ScalerUpdate(Event):
    """On a GPU it is emitted twice: at once without the scale, and with nothing but the scale when that has arrived."""

    scale: float | None
    skipped: bool
    loss: float | None = None  # of the step that was left out, where it was broken before any scaling
    batches: tuple[int, int] | None = (
        None  # drawn for it: the first and the last, counted from 1 in their epoch
    )
