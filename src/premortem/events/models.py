"""Models: what is called, and what each layer does."""

from typing import NamedTuple

from premortem.events.base import Event, Site, event


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
    """The script set an attribute that torch does not know, where `requires_grad` of a parameter was meant."""

    owner: str  # "model.backbone"
    attribute: str  # "require_grad", or "requires_grad" of a module
    value: bool
    parameters: tuple[int, ...]  # keys of the parameters it was meant for


class SaidFrozen(NamedTuple):
    """An attribute that says that a part of the model is frozen: `frozen_stages=2`, `freeze_encoder=True`."""

    attribute: str  # "model.frozen_stages"
    value: str
    parameters: tuple[int, ...]  # of which at least some should be frozen


class Repeated(NamedTuple):
    """One layer with weights that stands in several places of a list or a `Sequential`."""

    place: str  # "model.blocks"
    kind: str  # class of the layer
    times: int


class Hasty(NamedTuple):
    """A norm whose running statistics are, for the greater part, those of the last batch."""

    layer: str  # "model.bn1"
    momentum: float


@event
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
    repeats: tuple[Repeated, ...] = ()
    hasty: tuple[Hasty, ...] = ()
    writes: int = 0  # to its parameters so far, all together: as many as another of its kind has had when both are as they were built


@event
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
    noise: bool = False  # the first one is what torch drew before the first step (CPU)
    # of the first floating-point argument (CPU: now and then in training, at first in each evaluation)
    input_mean: float | None = None
    input_std: float | None = None
    input_min: float | None = None
    source: int | None = None  # the model whose output this input is (D(G(z)), or its detached twin)
    number: int = 0  # counts all forwards of the run
    attached: bool = False  # an input has a graph, so that gradients go through this call and on
    tracked: bool = True  # the output has a graph (never without `grad`; not for an all-frozen model)
    forgotten: int = 0  # functional dropouts that ran because no `training` was passed, in an eval-mode root
    copies: int = 1  # how often the first sample is in the batch (only looked at in noisy evaluations)
    discarded: bool = False  # the user's line threw the result away (looked at in noisy evaluations)
    unborn: int = 0  # batch-norm layers in eval mode whose statistics were never collected


@event
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
    off: bool = False  # gradients were switched off for it
    statistics: bool = False  # a batch norm that keeps running statistics


@event
class Experimented(Event):
    """Audit gear: a model was run again, in eval mode, on inputs of which one thing was changed (probes/experiments.py).

    `effects` has, for each change, the change of those outputs that it must not touch (of samples: of the one in the
    middle), in units of the spread of all outputs; exactly 0 where nothing changed."""

    model: int
    name: str
    effects: dict[str, float]
    noisy: bool  # it draws random numbers in eval mode too
    samples: int  # rows of its first input
    shape: tuple[int, ...]  # of that
    batched: bool  # a loader made the rows, and each has a target
    same_input: bool  # the very tensor of the experiment before: the whole data set, not a batch
    own_rows: bool  # each row has weights of its own
    statistics: bool  # a layer normalises by the batch in eval mode too, because its options say so
    source: int | None  # the model whose output it is given
    relation: str = ""  # of the target to an input: "shifted" by one place, the "same", or ""
    length: int = 0  # of that sequence
    tokens: bool = False  # it holds whole numbers
    ignored: tuple[str, ...] = ()  # inputs, as `forward` calls them, that have no effect on any output
    demanded: tuple[
        str, ...
    ] = ()  # of these, what `forward` cannot do without, in a model that never asks for its mode


@event
class PaddingMask(Event):
    """Audit gear: an attention with a padding mask, and what stands at the places that it shows and hides in the model's own
    input: tokens, or rows of features that are all zero (`empty`: all that are shown; `full`: none that is hidden).
    `by` says how it was masked: "key_padding_mask", "attn_mask" or "softmax" (by hand)."""

    shown: int
    masked: int
    shown_values: int  # different tokens there
    masked_values: int
    empty: bool = False
    full: bool = False
    by: str = "key_padding_mask"


@event
class StateCarried(Event):
    """Audit gear: a model that is asked the same twice answers differently, because of what it keeps in plain attributes, a row
    for each sample; and at its next training call they were still as the batch before had left them."""

    model: int
    name: str
    attributes: tuple[str, ...]  # "rnn.hidden"
    effect: float  # of the first call on the second, in units of the spread of all outputs
    batched: bool  # a loader made the rows, and each has a target


@event
class Reshaped(Event):
    """Audit gear: `view`/`reshape`, called by the user's own code, whose target is a permutation of the
    source's sizes, or that makes the first size out of what was the second, or joins dimensions that are no neighbours (`mixes`). Also sent (with
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


@event
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


@event
class Softmaxed(Event):
    """Audit gear: softmax or log_softmax over the first dimension of a tensor with more than one, or over a dimension
    with a single entry; and then of all others at that line, which may have had one by chance."""

    op: str
    dimension: int = 0
    shape: tuple[int, ...]
    samples: int | None  # size of the first dimension of the current model's input
    inside: bool  # called inside a model


@event
class Rounded(Event):
    """Audit gear: numbers so large for a 16-bit type that neighbouring ones lie `spacing` apart.

    `op` is "sin" or "cos" on them, or "to" for a conversion inside a model, in a region where autocast was switched
    off on purpose (it was on around the model)."""

    op: str
    dtype: str
    largest: float
    spacing: float


@event
class SequenceLayer(Event):
    """Audit gear: a layer made for (time, batch, features) ran in training on a 3-D input."""

    model: int
    layer: str
    kind: str
    shape: tuple[int, ...]


@event
class Detached(Event):
    """Audit gear: a tensor with a graph lost it (`op`: detach, data, numpy, item, tolist, tensor, argmax,
    comparison, ...), or went through an operation without a derivative (round, sign), inside the user's
    training code. `parameters` are the keys its graph led to."""

    op: str
    parameters: tuple[int, ...]
    shape: tuple[int, ...]
    inside: bool = False  # inside a model's forward, so that it is no mere bookkeeping


@event
class Masked(Event):
    """Audit gear: a function replaced non-finite values (`nan_to_num`), `count` of `total`."""

    op: str
    count: int
    total: int
    grad: bool = False  # the values were computed by a model in training, not read from the data
    gradient: bool = False  # they were a gradient
    origin: str = ""  # what bore them, when the graph tells: "the logarithm of 0"


@event
class CopyFollowed(Event):
    """CPU, audit gear: a copy of a model that is trained, around one step: which part of the way to the trained weights its update
    went, and which part of the way from where it began is behind it."""

    name: str
    original: int
    moved: float
    way: float


@event
class SampleDrawn(Event):
    """Inside a model, `sample()` of a normal distribution whose mean or deviation has a graph; no sample was ever asked for its probability."""

    model: str
