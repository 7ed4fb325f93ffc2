"""Losses and backward passes."""

from typing import NamedTuple

from premortem.events.base import Event, Site, event
from premortem.events.data import Samples


@event
class LossTested(Event):
    """The script asked whether a scalar with a graph is finite (`torch.isnan(loss)`). CPU only."""

    value: float


@event
class Judged(Event):
    """A criterion of the script's own (a module without weights) gave a number while gradients were off. CPU only."""

    value: float


@event
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
    # how far samples lie apart, of the input and of a target that the model was given: deviation over the batch, on average
    input_spread: float | None = None
    target_spread: float | None = None
    target_grad: bool = False  # gradients flow into the target
    promised: bool = (
        False  # the target is a number plus a factor times a model's output, with the graph of that
    )
    parameters: tuple[int, ...] = ()  # keys that its result leads to: in the first audited steps of a line
    unread: str = ""  # the variable that it is assigned to, if the script never reads that
    identical: bool = False  # input and target are the same numbers, to the last bit, and not all one number
    log_target: bool = False  # of kl_div
    ignored: float | None = None  # ignore_index of cross_entropy and nll_loss
    aside: bool = False  # gradients are on, and neither its input nor its target has a graph
    # targets that are classes, of several places of a sequence, without those that are ignored
    counted: int | None = None
    weights: tuple[float, ...] = ()  # of the classes, at the first calls of a line
    # padding_idx of an embedding with as many rows as there are classes, when rows of the model's input end in it and
    # no class weights were given
    padding: float | None = None
    # ... or, where there is none, what targets and inputs alike are filled up with at their ends
    padded: bool = False


@event
class Aligned(Event):
    """`ctc_loss` was called, with targets on the CPU."""

    blank: int
    labels: int  # of all targets, without what fills them up
    blanks: int  # those of them that are the blank
    classes: int


@event
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


@event
class Backward(Event):
    """`loss.backward()` returned (or `autograd.backward`); `inside_step` for closures."""

    value: float | None  # of the tensor backward was called on, if scalar
    inside_step: bool = False
    grad_before: bool = False  # gradients of the last finished step were still there: it added to them
    optimizers: tuple[int, ...] = ()  # whose parameters got a gradient
    scale: float = 1.0  # constant factor the loss was multiplied with right before: 0.25 for `loss / 4`
    root: str = ""  # what made the value that was scaled: "MseLoss", "Mean", "Add"
    scaled: bool = False  # by a GradScaler
    divided: tuple[float, ...] = ()  # constants that the loss was divided by, the last first
    alive: int = 0  # graphs of earlier losses that are still in memory
    # numbers of the forwards with gradients, since the backward before, whose graph was gone when this began
    untrained: tuple[int, ...] = ()
    kept: int = 0  # graphs of model outputs, made before the last step, that are still in memory
    # audit: of how many audited forwards the graph of some inner layer is still in memory, and of how many in all
    inside: tuple[int, int] = (0, 0)
    error: str = ""  # the exception's text, when backward raised
    grads_finite: bool | None = None  # of a sample of the parameters, right after backward (CPU, audit)


@event
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
    value: int  # hash of a few of its values: changes when the parameter is moved
    loaded: bool = False  # came from a state dict


class Pull(NamedTuple):
    """Which way a loss pulls what `judge` says of what `maker` made (0: of anything else): down where the slope is positive."""

    maker: int  # models
    judge: int
    slope: float  # of the loss, summed over all verdicts
    size: float  # ... without their signs


class Chosen(NamedTuple):
    """The smallest or largest of numbers some of which were masked out, in a loss: of `rows` that have both kinds, in `wrong`
    the filler beats all that counts."""

    at: Site | None
    op: str  # "min", "argmax", ...
    rows: int
    wrong: int


class Handed(NamedTuple):
    """How often a recurrent cell that a loss goes through was given a state that it had made itself, in this pass through time."""

    at: Site | None
    layer: str
    kind: str  # "GRUCell"
    cut: int  # without the graph that it was made with
    kept: int  # with a graph


class RowWeights(NamedTuple):
    """What the rows of a loss are multiplied with, before anything else of the loss is: numbers of the data, one for each row."""

    rows: int
    counted: int  # of them, that have another weight than 0
    uneven: bool  # these have different weights: they are no mask


@event
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
    # a log-probability of what was drawn is multiplied with an error of a prediction, and both have a graph
    weighed_by_error: bool = False
    size: int = 0  # nodes in the graph
    pulls: tuple[Pull, ...] = ()
    # a number without a graph is added to the loss, or to a part of it that is a number; and what it is, where the other terms are known
    constant: bool = False
    rest: float | None = None
    # `autograd.grad` was called there without `create_graph`, and a term of the loss is a number that was computed of what it gave
    plain_gradients: Site | None = None
    plain_weights: Site | None = (
        None  # weights were read there without their graph, and a term is a number that was computed of them
    )
    # what noise is multiplied with in it, where that is no deviation: the "logarithm" of one, or the "variance"; "" otherwise
    misread: str = ""
    chosen: tuple[Chosen, ...] = ()  # by line, in that line's first calls of the step
    handed: tuple[Handed, ...] = ()
    weighed: RowWeights | None = None  # where some are 0


class Operand(NamedTuple):
    """What an operation was given."""

    name: str  # as torch calls it: "self", "other", "weight"
    dtype: str
    shape: tuple[int, ...]
    low: float  # of its finite values
    high: float

    def __str__(self) -> str:
        return f"{self.low:.4g}" if self.low == self.high else f"{self.low:.4g} … {self.high:.4g}"


@event
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
    source: Samples | None = None  # the numbers of those rows in the dataset that the batch was drawn from
    module: str = ""  # "model.decoder.scale"
    parameter: str = ""  # for weights, updates and gradients: the first one
    operands: tuple[Operand, ...] = ()
    dtype: str = ""  # of the result
    located: bool = False  # `at` is the line of the operation itself
    watched: bool = False  # the operation was seen at work, operands and result in hand
    sure: bool = False  # ... or its operands were found in the graph: it is no echo of another one


@event
class NonFiniteLost(Event):
    """What was not finite on the way to the loss became finite again, so that all that arrived is: an overflow became 0 in a
    division, or the script itself replaced what is not finite."""

    origin: NonFinite
    by: str = "div"  # the operation that hid it


@event
class NonFiniteComputed(Event):
    """The script has made a number that is not finite, and has it in hand: numpy warns about it, or it was taken out of a tensor
    without a graph. Many of these are meant, so this explains a number that does harm, and is no fault by itself."""

    origin: NonFinite


@event
class Underflowed(Event):
    """Every gradient of a backward pass is exactly 0, and on the way an operation made nothing but 0 of numbers that are not 0:
    they are too small for their type."""

    origin: NonFinite
    value: float  # of the loss


@event
class DecayLost(Event):
    """Numbers that a script averages by itself were multiplied by nearly 1, and rounding put nearly all of them back."""

    origin: NonFinite
    factor: float
    share: float  # of the numbers, that are the same as before


@event
class WeightsBroken(Event):
    """A parameter is not finite, although neither the loss nor a gradient has shown it."""

    parameter: str  # "ema.0.weight"
    evaluated: bool  # found when its model was called without gradients
    origin: NonFinite | None = None  # how it came into being, where the microscope has seen it


@event
class BufferBroken(Event):
    """A buffer that forward passes write (the statistics of batch norm) holds a value that is not finite."""

    module: str  # "model.bn"
    buffer: str  # "running_var"
    origin: NonFinite | None = None  # how it came into being, where the microscope has seen it
