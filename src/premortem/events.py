"""What happens in a run, as plain numbers and names: never a tensor, never a torch object.

Where the events of one training step come from, in the order they happen:

    for batch in loader:            # EpochStarted, BatchDrawn, EpochEnded
        out = model(batch)          # ModelSeen (once), Forward, LayerStats (audit)
        loss = criterion(out, y)    # LossCall
        loss.backward()             # Backward, GraphWalked (audit)
        clip_grad_norm_(...)        # Clip
        optimizer.step()            # OptimizerStep, Custody (audit), then StepStats a step or two later
        scheduler.step()            # SchedulerStep
        optimizer.zero_grad()       # ZeroGrad
    validate(model)                 # Forward..., then EvaluationEnded when training goes on
    torch.save(...); torch.load     # CheckpointSaved, FileLoaded, StateLoaded; Resumed at the step after
    print(...)                      # LogLine

`step` counts finished optimizer steps (of all optimizers together): an event with step 7 happened
while step 8 was being made, except OptimizerStep, Custody and StepStats, which carry the number of
their own step (the first is 1).

Objects of the run are known by small integers ("keys") that stay the same for the whole run:
`model`, `optimizer`, `scheduler`, `loader` and parameter keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import FrozenInstanceError, dataclass, field, fields
from typing import Any, NamedTuple

from premortem.profile.facts import Overlap, Profile


class Site(NamedTuple):
    """A line of the user's code."""

    file: str
    line: int
    function: str = ""

    def __str__(self) -> str:
        return f"{self.file.rpartition('/')[2]}:{self.line}"


# A frozen dataclass takes four times as long to make, and one of another class at every isinstance, of which a step has
# hundreds. So the maker of an event fills it in, nothing changes it once it was sent, and the tests hold that: they seal it.
seals = False


@dataclass(slots=True, kw_only=True)
class Event:
    """Something that happened at `step`, caused by the user's line `at`."""

    step: int = 0
    at: Site | None = None

    def to_json(self) -> dict[str, Any]:
        return {"event": type(self).__name__, **{f.name: getattr(self, f.name) for f in fields(self)}}

    def seal(self) -> None:
        """It is sent now: whoever sets a field of it from here on gets an error."""
        kind = type(self)
        self.__class__ = _SEALED.get(kind) or sealed(kind)


_SEALED: dict[type[Event], type[Event]] = {}


def sent(kind: type[Event]) -> type[Event]:
    """The class that events of this kind have once they were sent."""
    return sealed(kind) if seals else kind


def sealed(kind: type[Event]) -> type[Event]:
    """The class of sent events of this kind: the same fields, none of which can be set."""

    def refuse(event: Event, name: str, *_: object) -> None:
        raise FrozenInstanceError(f"{kind.__name__}.{name} cannot be changed: the event was sent")

    if kind not in _SEALED:
        own: dict[str, Any] = {
            "__slots__": (),
            "__module__": kind.__module__,
            "__qualname__": kind.__qualname__,
        }
        own |= {"__setattr__": refuse, "__delattr__": refuse, "__deepcopy__": lambda event, _memo: event}
        # A changed copy, which `dataclasses.replace` makes, is a new event, which was not sent.
        own["__new__"] = lambda _sealed, **fields: kind(**fields)
        twin = type(kind.__name__, (kind,), own)
        _SEALED[kind] = _SEALED[twin] = twin
    return _SEALED[kind]


# --- the run ---------------------------------------------------------------------------------


@dataclass(slots=True, kw_only=True)
class RunStarted(Event):
    argv: tuple[str, ...] = ()
    torch: str = ""
    device: str = ""


@dataclass(slots=True, kw_only=True)
class RunEnded(Event):
    """The script is over. Detectors that need the whole run speak now.

    `reason`: "finished" (exit code 0), "crashed" (exception), "exited" (sys.exit with another
    code), "interrupted" (Ctrl-C, signal) or "stopped" (by premortem). For a crash, `error` is the
    exception's type name, `message` its text, and `at` the last user line of its traceback.
    """

    reason: str = "finished"
    error: str = ""
    message: str = ""

    @property
    def cut_off(self) -> bool:
        """Whether it ended before its own end: what did not happen so far might have happened yet."""
        return self.reason != "finished"


@dataclass(slots=True, kw_only=True)
class LogLine(Event):
    """A line the script printed, with the numbers in it.

    `template` is the line with each number replaced by `#`; `values` has one (label, text, value)
    for each number: label is the nearest word before it ("val_loss"), text as printed.
    """

    text: str
    template: str
    values: tuple[tuple[str, str, float], ...]


@dataclass(slots=True, kw_only=True)
class Seeded(Event):
    """A global generator was seeded (torch, numpy or random), or numpy's `default_rng(seed)` made one."""

    seed: int
    library: str = "torch"
    rewound: bool = False  # torch's had drawn from this seed before, exactly as far as at an earlier seeding


# --- data ------------------------------------------------------------------------------------


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
    # random generators that the dataset's own methods draw from, and that every worker gets a copy of
    generators: tuple[str, ...] = ()


class Array(NamedTuple):
    """One array that a dataset holds (or that batches are cut from), at the start of an epoch."""

    name: str
    # mean |value now - value when first seen|, in units of the spread then; 0 for another object
    distance: float
    spread: float
    inside: bool = True  # it was written while a batch was made, not by other code between batches
    key: int = 0  # the same for the same array, whichever loader reads it


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


@dataclass(slots=True, kw_only=True)
class DataProfiled(Event):
    """What has flowed into the models so far (premortem.profile): told a few times, each time anew and whole."""

    profiles: tuple[Profile, ...]
    overlaps: tuple[Overlap, ...] = ()  # rows of an evaluation that were trained on


# --- models ----------------------------------------------------------------------------------


class Parameter(NamedTuple):
    key: int
    name: str  # as the user would write it: "model.head.weight"
    shape: tuple[int, ...]
    trainable: bool  # requires_grad


class Hidden(NamedTuple):
    """Modules that sit in a plain list, tuple or dict, so that `parameters()` does not see them."""

    attribute: str  # "model.blocks"
    container: str  # "list", "dict", "tuple"
    modules: int
    parameters: tuple[int, ...]  # keys


class Misspelt(NamedTuple):
    """Somebody set an attribute that torch does not know, where `requires_grad` of a parameter was meant."""

    owner: str  # "model.backbone"
    attribute: str  # "require_grad", or "requires_grad" of a module
    value: bool
    parameters: tuple[int, ...]  # keys of the parameters it was meant for


class SaidFrozen(NamedTuple):
    """An attribute that says that a part of the model is frozen: `frozen_stages=2`, `freeze_encoder=True`."""

    attribute: str  # "model.frozen_stages"
    value: str
    parameters: tuple[int, ...]  # of which at least some should be frozen


@dataclass(slots=True, kw_only=True)
class ModelSeen(Event):
    """A module was called by the user's code (not by another module) for the first time."""

    model: int
    name: str  # "model", "self.net", "Net"
    kind: str  # class name
    parameters: tuple[Parameter, ...]
    hidden: tuple[Hidden, ...] = ()
    copy_of: int | None = None  # deep copy of that model
    same_weights: bool = False  # ... and its weights are those that one has now
    shapes: int = 0  # hash of all parameter shapes: equal for two copies of one architecture
    misspelt: tuple[Misspelt, ...] = ()
    frozen: tuple[SaidFrozen, ...] = ()


@dataclass(slots=True, kw_only=True)
class Forward(Event):
    """A root module was called."""

    model: int
    grad: bool  # gradients were enabled
    training: bool  # module.training of the root
    noisy_train: int  # dropout and batch-norm layers inside that were in train mode
    noisy_eval: int  # ... in eval mode
    samples: int | None  # size of the first dimension of the first tensor argument
    fingerprint: int | None = None  # hash of sampled values of the tensor arguments (CPU)
    same_object: bool = False  # the very tensor object of the previous call, unchanged
    window: bool = False  # the input is a view of a part of a larger tensor
    bare: bool = False  # no tensor argument at all: a generator that draws its own noise
    # of the first floating-point argument (CPU: now and then in training, at first in each evaluation)
    input_mean: float | None = None
    input_std: float | None = None
    source: int | None = None  # the model whose output this input is (D(G(z)), or its detached twin)
    number: int = 0  # counts all forwards of the run
    tracked: bool = True  # the output has a graph (never without `grad`; not for an all-frozen model)
    forgotten: int = 0  # functional dropouts that ran because nobody passed `training`, in an eval-mode root
    copies: int = 1  # how often the first sample is in the batch (only looked at in noisy evaluations)
    discarded: bool = False  # the user's line threw the result away (looked at in noisy evaluations)
    unborn: int = 0  # batch-norm layers in eval mode whose statistics were never collected


@dataclass(slots=True, kw_only=True)
class LayerStats(Event):
    """Audit gear: one leaf module or activation during a training or evaluation forward."""

    model: int
    layer: str  # module path within the model, "" for a bare function
    kind: str  # class or function name: "Linear", "tanh", "relu", "dropout"
    order: int  # 0 for the first layer with weights that ran in this forward
    last: bool  # nothing with weights ran after it
    grad: bool
    training: bool
    samples: int
    input_mean: float
    input_std: float
    input_min: float
    input_max: float
    output_mean: float
    output_std: float
    output_min: float
    output_max: float
    finite: bool
    # share of outputs at a bound of a bounded activation (tanh, sigmoid), or zero after relu;
    saturated: float = 0.0
    dead: float = 0.0  # share of units (last dimension, or channels) that are zero for the whole batch
    probability: float = 0.0  # dropout's p
    twins: float = 0.0  # share of output units whose incoming weights equal another unit's
    half: bool = False  # the output is in float16


@dataclass(slots=True, kw_only=True)
class Reshaped(Event):
    """Audit gear: `view`/`reshape`, called by the user's own code, whose target is a permutation of the
    source's sizes, or that makes the first size out of what was the second (`mixes`). Also sent (with
    `plain`) for other sizes at a line that did so before: then it was a coincidence."""

    op: str
    before: tuple[int, ...]
    after: tuple[int, ...]
    mixes: bool = False
    plain: bool = False


class Passed(NamedTuple):
    """A layer, or an operation that only moves numbers about, on the way from the input to where shapes do not fit."""

    name: str  # "model.features.0", "permute"
    kind: str  # class of the layer; "" for an operation
    before: tuple[int, ...]
    after: tuple[int, ...]  # () where it failed
    at: Site | None = None  # of operations: the user's line


@dataclass(slots=True, kw_only=True)
class ShapesMet(Event):
    """The run is over because shapes did not fit: how they came about. `at` is the user's line that failed."""

    model: str = ""  # as the user calls it; "" when it happened outside of any
    inputs: tuple[tuple[int, ...], ...] = ()  # that the model was given
    trail: tuple[Passed, ...] = ()  # what went well, in order; the last few
    failed: Passed | None = None  # the innermost layer that did not
    channels: int | None = None  # that it wants in the second dimension
    features: int | None = None  # ... in the last one
    dims: int | None = None  # ... and how many dimensions, the batch among them
    names: tuple[tuple[str, tuple[int, ...]], ...] = ()  # tensors that the failing line names


@dataclass(slots=True, kw_only=True)
class Softmaxed(Event):
    """Audit gear: softmax or log_softmax over the first dimension of a tensor with more than one."""

    op: str
    shape: tuple[int, ...]
    samples: int | None  # size of the first dimension of the current model's input
    inside: bool  # called inside a model


@dataclass(slots=True, kw_only=True)
class Rounded(Event):
    """Audit gear: numbers so large for a 16-bit type that neighbouring ones lie `spacing` apart.

    `op` is "sin" or "cos" on them, or "to" for a conversion inside a model, in a region where autocast was switched
    off on purpose (it was on around the model)."""

    op: str
    dtype: str
    largest: float
    spacing: float


@dataclass(slots=True, kw_only=True)
class SequenceLayer(Event):
    """Audit gear: a layer made for (time, batch, features) ran in training on a 3-D input."""

    model: int
    layer: str
    kind: str
    shape: tuple[int, ...]


@dataclass(slots=True, kw_only=True)
class Detached(Event):
    """Audit gear: a tensor with a graph lost it (`op`: detach, data, numpy, item, tolist, tensor, argmax,
    comparison, ...), or went through an operation without a derivative (round, sign), inside the user's
    training code. `parameters` are the keys its graph led to."""

    op: str
    parameters: tuple[int, ...]
    shape: tuple[int, ...]
    inside: bool = False  # inside a model's forward, so that it is no mere bookkeeping


@dataclass(slots=True, kw_only=True)
class Masked(Event):
    """Audit gear: a function replaced non-finite values (`nan_to_num`), `count` of `total`."""

    op: str
    count: int
    total: int
    grad: bool = False  # the values were computed by a model in training, not read from the data
    gradient: bool = False  # they were a gradient
    origin: str = ""  # what bore them, when the graph tells: "the logarithm of 0"


# --- loss and backward -----------------------------------------------------------------------


@dataclass(slots=True, kw_only=True)
class LossTested(Event):
    """The script asked whether a scalar with a graph is finite (`torch.isnan(loss)`). CPU only."""

    value: float


@dataclass(slots=True, kw_only=True)
class Judged(Event):
    """A criterion of the script's own (a module without weights) gave a number while gradients were off. CPU only."""

    value: float


@dataclass(slots=True, kw_only=True)
class LossCall(Event):
    """A loss function of torch.nn.functional was called (nn.CrossEntropyLoss etc. call those).

    The facts below are taken when the tensors are on the CPU or in the audit gear, else None/empty.
    """

    fn: str  # "cross_entropy", "mse_loss", ...
    grad: bool
    training: bool | None  # mode of the root that ran last
    value: float | None  # the result, when it is a scalar
    reduction: str
    input_shape: tuple[int, ...]
    target_shape: tuple[int, ...]
    input_op: str = ""  # what made the input: "softmax", "log_softmax", "sigmoid", "tanh", "relu", ""
    input_min: float | None = None
    input_max: float | None = None
    input_mean: float | None = None
    input_std: float | None = None
    # over the class dimension: mean |sum - 1| and mean |logsumexp|; small means (log-)probabilities
    row_sum_error: float | None = None
    row_logsumexp: float | None = None
    target_min: float | None = None
    target_max: float | None = None
    target_mean: float | None = None
    target_std: float | None = None
    # class counts when the target is integral or has few values: {value: count}, else None
    classes: dict[float, int] | None = None
    target_is_input: bool = False  # the target is (a part of) the model's input: auto-encoding
    target_is_data: bool = False  # its values came out of a loader or of a larger tensor, as they are
    target_sum_error: float | None = None  # of soft labels for cross_entropy: mean |sum - 1| over the classes
    target_grad: bool = False  # gradients flow into the target
    log_target: bool = False  # of kl_div
    ignored: float | None = None  # ignore_index of cross_entropy and nll_loss
    # padding_idx of an embedding with as many rows as there are classes, when rows of the model's input end in it and
    # no class weights were given
    padding: float | None = None


@dataclass(slots=True, kw_only=True)
class LabelsWeighed(Event):
    """CPU: how much the inputs tell about the labels, measured without the model on the first few hundred
    different pairs; once for training and once for evaluation, and again when enough of them have come again."""

    training: bool
    pairs: int
    classes: int  # 0 for a measured quantity
    information: float  # strongest dependence found, in standard deviations above shuffled labels
    shift: int = 0  # labels fit the inputs this many places further on (pairs in the order they were drawn)
    shifted_information: float = 0.0
    # inputs that came again, how often with the same label, and how often chance would have it so
    repeats: int = 0
    agreed: float = 1.0
    by_chance: float = 0.0
    # evaluation: share of labels that the nearest training pairs foretell, as they are and with classes renumbered
    agreement: float | None = None
    mapped: float | None = None


@dataclass(slots=True, kw_only=True)
class Backward(Event):
    """`loss.backward()` returned (or `autograd.backward`); `inside_step` for closures."""

    value: float | None  # of the tensor backward was called on, if scalar
    inside_step: bool = False
    grad_before: bool = False  # gradients of the last finished step were still there: it added to them
    optimizers: tuple[int, ...] = ()  # whose parameters got a gradient
    scale: float = 1.0  # constant factor the loss was multiplied with right before: 0.25 for `loss / 4`
    root: str = ""  # what made the value that was scaled: "MseLoss", "Mean", "Add"
    scaled: bool = False  # by a GradScaler
    alive: int = 0  # graphs of earlier losses that are still in memory
    # numbers of the forwards with gradients, since the backward before, whose graph was gone when this began
    untrained: tuple[int, ...] = ()
    kept: int = 0  # graphs of model outputs, made before the last step, that are still in memory
    # audit: of how many audited forwards the graph of some inner layer is still in memory, and of how many in all
    inside: tuple[int, int] = (0, 0)
    error: str = ""  # the exception's text, when backward raised
    grads_finite: bool | None = None  # of a sample of the parameters, right after backward (CPU, audit)


@dataclass(slots=True, kw_only=True)
class GradTaken(Event):
    """`torch.autograd.grad` was called: an attack, a penalty, an inner loop, an update by hand."""

    forwards: tuple[int, ...]  # numbers of the forwards since the last backward that were still in memory


class Broadcast(NamedTuple):
    """Two tensors of different shape met in the loss and were stretched to a larger one."""

    op: str
    inputs: tuple[tuple[int, ...], ...]
    result: tuple[int, ...]


class Loose(NamedTuple):
    """An `nn.Parameter` that the loss leads to, and that no model and no optimizer knows."""

    key: int
    name: str  # as the user's code calls it, or ""
    shape: tuple[int, ...]
    version: int  # counts in-place writes: large when it was trained before
    value: int  # hash of a few of its values: changes when somebody moves it
    loaded: bool = False  # came from a state dict


@dataclass(slots=True, kw_only=True)
class GraphWalked(Event):
    """Audit gear: the autograd graph from the loss down, before backward ran."""

    parameters: tuple[int, ...]  # keys of model parameters that the graph leads to
    other_leaves: int  # leaves that are no model's parameter (an image that is being optimised)
    ops: tuple[str, ...]  # names of the first nodes under the loss, nearest first ("Neg", "NllLoss", ...)
    broadcasts: tuple[Broadcast, ...] = ()
    negated: bool = False  # the whole loss is the negative of a criterion
    loose: tuple[Loose, ...] = ()
    # which way the loss is meant: "min" (a criterion, minus a log-likelihood), "max" (the opposite), "turned" (minus
    # the sum of a criterion and something that is not understood), "" unknown
    sense: str = ""
    # (upper, lower): operations of the loss that directly take what another one made, e.g. (LogSoftmax, Softmax)
    feeds: tuple[tuple[str, str], ...] = ()
    # (shape, dimension): softmaxes whose result is summed over the last dimension, but that ran over another one
    crossed: tuple[tuple[tuple[int, ...], int], ...] = ()
    size: int = 0  # nodes in the graph


class Operand(NamedTuple):
    """What an operation was given."""

    name: str  # as torch calls it: "self", "other", "weight"
    dtype: str
    shape: tuple[int, ...]
    low: float  # of its finite values
    high: float

    def __str__(self) -> str:
        return f"{self.low:.4g}" if self.low == self.high else f"{self.low:.4g} … {self.high:.4g}"


@dataclass(slots=True, kw_only=True)
class NonFinite(Event):
    """A loss, a gradient or an update is not finite: the birth certificate of the first such value. On the CPU it is
    sent in the step in which it happens; on a GPU once the fault recurs under the microscope.

    `stage` says where it was born: "forward", "backward", "update" (the optimizer's own arithmetic), "data" (it came
    in with the batch), "weights" (they were broken before), or "loss" (somewhere in the forward pass). `at` is the
    user's line that made it (`located`), or the line of `backward()` where that is not known.
    """

    stage: str
    value: float | None  # of the loss
    op: str = (
        ""  # the operation that bore it: "log", "div", "exp"; for "backward" the one that was differentiated
    )
    detail: str = ""  # about its operand: "the logarithm of 0"
    made: str = ""  # "nan", "inf" or "-inf"
    overflow: bool = False  # finite numbers became too large for their type
    what: str = ""  # for data: "input", "target", "batch", "constant" or the name of a variable
    rows: tuple[int, ...] = ()  # rows of the batch that hold the values, when only some do
    samples: int = 0  # of how many
    module: str = ""  # "model.decoder.scale"
    parameter: str = ""  # for weights, updates and gradients: the first one
    operands: tuple[Operand, ...] = ()
    dtype: str = ""  # of the result
    located: bool = False  # `at` is the line of the operation itself
    watched: bool = False  # the operation was seen at work, operands and result in hand
    sure: bool = False  # ... or its operands were found in the graph: it is no echo of another one


@dataclass(slots=True, kw_only=True)
class BufferBroken(Event):
    """A buffer that forward passes write (the statistics of batch norm) holds a value that is not finite."""

    module: str  # "model.bn"
    buffer: str  # "running_var"
    origin: NonFinite | None = None  # how it came into being, where the microscope has seen it


# --- update ----------------------------------------------------------------------------------


class Group(NamedTuple):
    lr: float
    weight_decay: float
    momentum: float
    parameters: tuple[int, ...]
    eps: float = 0.0  # what keeps an adaptive optimizer from dividing by 0; 0 when it has none


@dataclass(slots=True, kw_only=True)
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


@dataclass(slots=True, kw_only=True)
class ZeroGrad(Event):
    """Gradients were cleared through `zero_grad()` of an optimizer or a module.

    `wasted` lists the optimizers whose parameters lost a gradient that no step had used, `cleared` all
    whose gradients it cleared."""

    optimizer: int | None
    wasted: tuple[int, ...] = ()
    cleared: tuple[int, ...] = ()
    by_hand: bool = False  # the weights were written since that gradient was made: it was used without a step


@dataclass(slots=True, kw_only=True)
class Clip(Event):
    """Gradient clipping. `norm` is None while it is still on the device."""

    kind: str  # "norm" or "value"
    limit: float
    norm: float | None
    after_step: bool = False  # no backward since the last step: it clips used gradients


@dataclass(slots=True, kw_only=True)
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
    scaled: bool = False  # its gradients still carry a GradScaler's scale: nobody unscaled them
    gated: bool = False  # the call stands under an `if` that asks for a remainder: every k-th time
    skipped: bool = False  # refused by a scaler
    refused: bool = False  # by premortem: the update would not have been finite
    rewritten: bool = False  # its learning rates were assigned since its last step, if only the same values
    stray: float | None = None  # a rate set where torch's optimizers do not look: `optimizer.lr = 0.1`
    rested: int = 0  # steps like it since the last one that was told, which were not
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


@dataclass(slots=True, kw_only=True)
class Custody(Event):
    """Audit gear: the chain of custody of every parameter of the models in training."""

    optimizer: int
    links: tuple[Link, ...]
    # parameters the optimizer holds that belong to no model that ran, with the model they do
    # belong to (0: none that is alive)
    strangers: tuple[tuple[int, int], ...] = ()
    lrs: tuple[float, ...] = ()
    uphill: float | None = None  # cosine between the update and the gradient: -1 straight down, 1 straight up


@dataclass(slots=True, kw_only=True)
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
    rested: bool = False  # a sound step of which nothing else was told


@dataclass(slots=True, kw_only=True)
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


# --- memory ----------------------------------------------------------------------------------

OUT_OF_MEMORY = "OutOfMemoryError"  # torch's class for it, as `RunEnded.error` names it


class Kept(NamedTuple):
    """A variable of the user's that holds more and more tensors."""

    name: str  # "history", "self.outputs"
    tensors: int
    graphs: int  # how many of them carry the graph they were computed from
    bytes: int
    at: Site | None = None  # the line at which it grows


@dataclass(slots=True, kw_only=True)
class OutOfMemory(Event):
    """`torch.OutOfMemoryError` was raised. Sizes are bytes; what nobody could tell is None or empty."""

    phase: str  # "forward", "backward", "step", or "" for any other code of the script's
    module: str = ""  # the innermost module that was running
    samples: int | None = None  # in the batch
    requested: int | None = None  # what the allocation that failed asked for
    total: int | None = None  # memory that this process may use
    free: int | None = None  # ... of it not taken by anybody
    allocated: int | None = None  # held by tensors
    reserved: int | None = None  # taken from the device: tensors, and gaps between them
    largest_gap: int | None = None
    kinds: dict[str, int] = field(default_factory=dict)  # parameters, gradients, optimizer state, buffers
    modules: tuple[tuple[str, int], ...] = ()  # what single layers keep for the backward pass, largest first
    levels: tuple[tuple[int, int], ...] = ()  # (step, memory held by tensors at its end)
    kept: tuple[Kept, ...] = ()
    unsplit: str = ""  # why the batch was not run in parts, when that was tried


@dataclass(slots=True, kw_only=True)
class BatchSplit(Event):
    """A batch did not fit and was, or from now on is, run in parts, with the same gradients."""

    model: int
    name: str  # of the model
    phase: str  # where memory ran out: "forward" or "backward"
    samples: int
    parts: int
    requested: int | None = None
    lost: bool = False  # the step in which it was noticed could not be finished


@dataclass(slots=True, kw_only=True)
class SchedulerBuilt(Event):
    scheduler: int
    optimizer: int
    kind: str
    horizon: int | None  # steps the schedule is made for (T_max, total_steps, last milestone), if any
    mode: str = ""  # of ReduceLROnPlateau
    options: dict[str, float] = field(default_factory=dict)
    parts: tuple[int, ...] = ()  # schedulers it steps itself (SequentialLR, ChainedScheduler, a wrapper)


@dataclass(slots=True, kw_only=True)
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


@dataclass(slots=True, kw_only=True)
class ScalerUpdate(Event):
    """On a GPU it is told twice: at once without the scale, and with nothing but the scale when that has arrived."""

    scale: float | None
    skipped: bool
    loss: float | None = None  # of the step that was left out, where it was broken before any scaling
    batches: tuple[int, int] | None = (
        None  # drawn for it: the first and the last, counted from 1 in their epoch
    )


# --- evaluation ------------------------------------------------------------------------------


@dataclass(slots=True, kw_only=True)
class EvaluationEnded(Event):
    """A run of forwards whose result was not trained on, between two training steps (or at the end).

    Derived from other events (see phases.py)."""

    model: int
    forwards: int
    samples: int
    grad: bool  # gradients were enabled
    noisy_train: int  # most dropout/batch-norm layers seen in train mode
    training: bool
    judged: bool  # the output was compared with a target (loss function or argmax/==)
    repeated: bool  # the same input many times (MC dropout)
    generator: bool  # in training its output goes into another model: its samples are no prediction
    weights: int | None  # checksum of the evaluated model's weights
    number: int  # the how-manieth evaluation of this model
    forgotten: int = 0  # functional dropouts that ran because nobody passed `training`
    fresh: bool = True  # on inputs that were not just trained on
    trained: bool = True  # the model itself was trained on before
    both: bool = False  # it was run in the other mode as well, between the same two steps
    every_step: bool = False  # it is evaluated after each step (full-batch training)
    passes: int = 1  # how often the same input went through it, at most
    critic: bool = False  # it judges what another model makes
    discarded: bool = False  # its output was thrown away: a pass that only refreshes batch-norm statistics
    unborn: int = 0  # batch-norm layers in eval mode whose statistics were never collected


@dataclass(slots=True, kw_only=True)
class WeightsSeen(Event):
    """A checksum of (samples of) a model's parameters, taken when it was called for evaluation."""

    model: int
    checksum: int


# --- state -----------------------------------------------------------------------------------


@dataclass(slots=True, kw_only=True)
class StateLoaded(Event):
    """`load_state_dict` of a module or an optimizer returned (or raised, with `error`)."""

    target: str  # "module" or "optimizer"
    key: int  # of the model or optimizer, 0 when not known
    name: str
    strict: bool
    given: int  # keys in the state dict
    wanted: int  # keys of the target
    matched: int
    missing: tuple[str, ...] = ()
    unexpected: tuple[str, ...] = ()
    would_match: int = 0  # keys that match after dropping or adding one prefix
    prefix: str = ""  # that prefix
    aliased: int = 0  # tensors that are the target's own memory: loading them changes nothing
    taken_at: int | None = None  # step at which this state dict was taken from the module
    rewritten: bool = False  # its memory was written since then: by a step, or by loading something else
    renamed: int = 0  # unexpected keys whose shapes are, one by one, those of the missing keys
    entry: str = ""  # an entry of what was given that is itself a state dict and fits better
    parameters: tuple[int, ...] = ()  # keys of (some of) the target's parameters
    nonfinite: tuple[str, ...] = ()
    error: str = ""


@dataclass(slots=True, kw_only=True)
class FileLoaded(Event):
    """`torch.load` returned. `optimizer_entries` is set when the file holds an optimizer's state."""

    path: str
    keys: tuple[str, ...]
    optimizer_lrs: tuple[float, ...] = ()  # learning rates in it
    optimizer_entries: int = 0  # parameters with state in it
    counters: tuple[tuple[str, int], ...] = ()  # whole numbers in it ("epoch", 12)
    tensors: int = 0  # in it, and in the state dicts it holds


@dataclass(slots=True, kw_only=True)
class CheckpointSaved(Event):
    path: str
    bytes: int | None
    weights: int | None = None  # checksum of the weights in it
    taken_at: int | None = None  # step at which the state dict in it was taken, if that is live memory
    current: bool | None = (
        None  # it holds the weights that the model has now; None when there is no such model
    )


class Schedule(NamedTuple):
    """A scheduler of the run at the first step after a checkpoint was read, beside the one in the file."""

    kind: str
    position: int  # last_epoch
    horizon: int | None
    built_horizon: int | None  # what it was made for, before anything was loaded into it
    saved_position: int | None  # in the file; None when the file holds no such state
    saved_horizon: int | None
    other_kind: bool = False  # the one in the file is a schedule of another kind


class Setting(NamedTuple):
    """A value the optimizer was built with, beside the one in the file that took its place."""

    name: str  # "lr", "initial_lr", "weight_decay"
    built: float
    saved: float
    group: int


@dataclass(slots=True, kw_only=True)
class Resumed(Event):
    """The first step of an optimizer after weights were loaded from a file of an earlier run that holds more than
    weights: what of it arrived. `at` is the line that read the file."""

    path: str
    optimizer: int
    kind: str  # of the optimizer
    parameters: int  # that it holds
    restored: bool  # its state was loaded since the file was read
    entries: int  # parameters with optimizer state in the file
    counters: tuple[tuple[str, int], ...] = ()  # in the file: ("epoch", 12)
    reached: tuple[tuple[str, int], ...] = ()  # counters of the loops that are running now, outermost first
    # variables of the script that hold a counter of the file or the number after it, and whether the script uses
    # them for more than a message
    held: tuple[tuple[str, int, bool], ...] = ()
    saved_rates: tuple[float, ...] = ()  # learning rates in the file
    rates: tuple[float, ...] = ()  # ... and now
    by_hand: bool = False  # the script itself set a rate after it loaded the state
    schedules: tuple[Schedule, ...] = ()
    overwritten: tuple[Setting, ...] = ()
    saved_scale: float | None = None  # of a gradient scaler in the file
    scale: float | None = None  # ... and of the one in use
    averaged: str = ""  # entry of the file with averaged weights ...
    average: str = ""  # ... and the variable whose average started anew from the plain ones


class Misplaced(NamedTuple):
    """Optimizer state that was saved for one parameter and loaded for another."""

    saved: str
    now: str


@dataclass(slots=True, kw_only=True)
class StateMisplaced(Event):
    """Before the first step with a loaded optimizer state: it is not that of the parameters it was put to. `at` is
    the `load_state_dict`."""

    optimizer: int
    kind: str
    pairs: tuple[Misplaced, ...]
    total: int  # parameters of the optimizer
    known_by: (
        str  # "names" that the optimizer's state holds, the "order" of the weights in the file, or "shapes"
    )


@dataclass(slots=True, kw_only=True)
class SaveChecked(Event):
    """A file or folder that the script saved was looked at. `at` is the line that saved it."""

    path: str
    poisoned: tuple[
        str, ...
    ] = ()  # trained weights in it that are not finite; all of them zero: ("all of them",)
    weights: int = 0  # trained weights in it
    buffers: bool = False  # the poisoned ones are buffers; the trained weights are finite
    damaged: str = ""  # what was read back is not what was written: in which way
    quarantined: str = ""  # it lies there instead, and the file that was at `path` before still does
    overwrote: bool = False  # a good file was at `path`, and is not there any more


@dataclass(slots=True, kw_only=True)
class LoadChecked(Event):
    """A file or folder that the script loaded is not what was saved there. `at` is the line that loaded it."""

    path: str
    damaged: str  # which part of it, and how that is known
    kept: str = ""  # the newest earlier version that was kept and is whole ...
    kept_step: int | None = None  # ... and the step of it
    mirror: str = ""  # where copies were sent to
    raised: bool = False  # the load noticed it too


@dataclass(slots=True, kw_only=True)
class RoomShort(Event):
    """The disk was too full to save in the careful way."""

    path: str
    given_up: int  # earlier versions that were removed to make room
    in_place: bool  # it still was: the file was overwritten where it lay, as the script alone would have done
    failed: str = ""  # ... or it could not be saved at all; the old file is as it was
    ours: tuple[str, ...] = ()  # what else of premortem's was removed to make room


@dataclass(slots=True, kw_only=True)
class StorageSeen(Event):
    """Where the script saves, and what becomes of that place when the machine goes."""

    path: str
    kind: (
        str  # "Kaggle session", "Colab session", "container", "instance store", "memory", "temporary folder"
    )
    certain: bool  # it is sure to be wiped when the session ends
    mirrored: bool


@dataclass(slots=True, kw_only=True)
class MirrorSeen(Event):
    """How a mirror is doing; told when it fails, and at the end when something is missing there."""

    url: str
    pending: int
    failures: int  # attempts in a row
    problem: str
    minutes: float  # that the oldest waiting file has been waiting
    ended: bool = False  # the run is over


@dataclass(slots=True, kw_only=True)
class DeadlineMet(Event):
    """The time that the run was given is nearly over: it was saved, and will be stopped."""

    left: float  # seconds
    needed: float  # for a save, for the mirror, and some to spare
    path: str  # what was saved; "" when that did not work
    mirrored: bool | None = None  # None: there is no mirror


@dataclass(slots=True, kw_only=True)
class AliasKept(Event):
    """A model was kept, when a record was broken, under a second name; and under both it is still being trained.
    `at` is the assignment."""

    kept: str
    source: str
    model: int


@dataclass(slots=True, kw_only=True)
class UnsavedStateUsed(Event):
    """The first call of a restored model is in eval mode, with buffers that no state dict holds, that differ from
    those of the model that was saved, and that nobody wrote since. `at` is the `load_state_dict`."""

    model: int
    name: str
    buffers: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class LoadedWeightsChanged(Event):
    """The first training forward after a `load_state_dict`: weights that are no longer what was loaded."""

    model: int
    name: str
    changed: tuple[str, ...]  # parameters
    loaded: int  # how many were loaded
    tied: tuple[
        str, ...
    ] = ()  # those of `changed` that belong to two modules, with the other name: "a.weight = b.weight"


def all_events() -> Iterator[type[Event]]:
    """Every kind of event there is."""
    yield from Event.__subclasses__()


# --- many ranks ------------------------------------------------------------------------------


class Digest(NamedTuple):
    """What one rank says of itself after a step. Sequences are parallel to `RanksSeen.names`."""

    rank: int
    signature: int  # of the shapes and types of all parameters in training
    values: Sequence[int]  # a hash of sampled values of each parameter
    gradients: Sequence[int]  # likewise of its gradient; 0 where there is none
    sums: Sequence[float]  # of the sampled values
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


@dataclass(slots=True, kw_only=True)
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


@dataclass(slots=True, kw_only=True)
class CollectivesApart(Event):
    """Ranks stand still in collectives that are not the same. Only the first rank hears of it."""

    number: int  # of the call, counted from the beginning of the run
    calls: Sequence[CollectiveCall]


@dataclass(slots=True, kw_only=True)
class ShuffleStarted(Event):
    """A pass over a loader with a shuffling DistributedSampler begins."""

    loader: int
    epoch: int  # what `set_epoch` has set
    trained: int  # optimizer steps during the pass before
