"""Errors of torch that end a run, and the mistake behind them."""

import re

from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.events import Backward, Event, Forward, OptimizerBuilt, OptimizerStep, RunEnded, ShapesMet

REASONS = {
    "empty parameter list": (
        "it was given no parameter at all: a generator that was used up before, or a filter that lets nothing through",
        "pass `model.parameters()` itself, or make the filtered parameters a list first",
    ),
    "more than one parameter group": (
        "the same parameter is in two of its groups",
        "give every parameter to one group only",
    ),
    "can only optimize Tensors": (
        "it was given something that is not a tensor",
        "pass parameters, not modules or names",
    ),
    "can't optimize a non-leaf Tensor": (
        "it was given the result of an operation (`.to(device)`, `* 0.1`) instead of a leaf",
        "make the `nn.Parameter` last, of the finished tensor",
    ),
}


class OptimizerRefusedParameters(Detector):
    """The optimizer could not be built from the parameters it was given.

    ## Why it matters
    The run ends there.

    ## Usual causes
    - `params = model.parameters()` was counted or printed first: a generator can be read once
    - a filter by name or by `requires_grad` that matches nothing
    - the same parameter in two groups
    - `nn.Parameter(x).to(device)`, which is not a leaf any more

    ## What to do
    Pass a list of leaf parameters, each of them once.
    """

    card = Card("PM105", "optimizer-refused-parameters", "optimizer-ownership", Severity.ERROR)
    listens = (OptimizerBuilt, RunEnded)

    def __init__(self) -> None:
        self._refused: OptimizerBuilt | None = None

    def observe(self, event: Event) -> Findings:
        if isinstance(event, OptimizerBuilt):
            self._refused = event if event.error else None
        elif isinstance(event, RunEnded) and self._refused is not None and event.reason == "crashed":
            # A script may try several ways and go on; only what ended the run is a fault.
            for words, (cause, remedy) in REASONS.items():
                if words in self._refused.error and words in event.message:
                    yield self.finding(
                        self._refused,
                        f"{self._refused.kind} could not be built: {self._refused.error.splitlines()[0]}",
                        cause=cause,
                        remedy=remedy,
                    )
                    return


USED_UP = "backward through the graph a second time"


class GraphUsedTwice(Detector):
    """A backward pass runs into a graph that an earlier one has already used up.

    ## Why it matters
    The run ends there. `retain_graph=True` removes the error and leaves the mistake: every batch then carries
    the graphs of all earlier ones along.

    ## Usual causes
    - a hidden state is carried from batch to batch without `.detach()`
    - a tensor with a graph is computed once, before the loop, and used in every batch
    - a running loss is summed up over batches and sent backward each time
    - two losses share a forward pass, and each calls `backward()`

    ## What to do
    Detach what is carried over; compute in the loop what depends on the weights; add losses up and call
    `backward()` once.
    """

    card = Card("PM114", "graph-used-twice", "grad-flow", Severity.ERROR).explaining(
        "step-never-called", "graphs-kept-alive"
    )
    listens = (Backward, RunEnded)

    def __init__(self) -> None:
        self._failed: Backward | None = None
        self._passes = 0

    def observe(self, event: Event) -> Findings:
        if isinstance(event, Backward):
            self._passes += 1
            self._failed = event if USED_UP in event.error else None
        elif isinstance(event, RunEnded) and self._failed is not None and USED_UP in event.message:
            yield self.finding(
                self._failed,
                f"backward pass {self._passes} runs into the graph of an earlier one, which is used up",
                cause="something that was computed before the last backward pass is part of this loss: a hidden state, "
                "a running sum, or a tensor made before the loop",
                remedy="detach what is carried over from batch to batch, or compute it anew in each",
                passes=self._passes,
            )


CHANGED = "modified by an inplace operation"


class ChangedBeforeBackward(Detector):
    """A tensor that the backward pass needs was overwritten after the forward pass.

    ## Why it matters
    The run ends there, because the gradient would be wrong.

    ## Usual causes
    - `optimizer.step()` between the forward pass and its `backward()`: the weights are not those of the forward
      any more. In a GAN: the discriminator steps before the generator's loss is sent backward
    - `x += ...`, `x[...] = ...` or `relu_()` on a tensor that an earlier operation has kept

    ## What to do
    Send a loss backward before any optimizer steps on what it was computed from, or run the forward pass again;
    write `x = x + ...` instead of `x += ...`.
    """

    card = Card("PM115", "changed-before-backward", "grad-flow", Severity.ERROR).explaining(
        "step-never-called"
    )
    listens = (Forward, OptimizerStep, Backward, RunEnded)

    def __init__(self) -> None:
        self._stepped: OptimizerStep | None = None  # since the last forward with gradients
        self._failed: Backward | None = None

    def observe(self, event: Event) -> Findings:
        if isinstance(event, Forward):
            self._stepped = None if event.grad else self._stepped
        elif isinstance(event, OptimizerStep):
            self._stepped = event
        elif isinstance(event, Backward):
            self._failed = event if CHANGED in event.error else None
        elif isinstance(event, RunEnded) and self._failed is not None and CHANGED in event.message:
            what = "backward() needs a tensor that was overwritten"
            cause = "an in-place operation changed it after the forward pass"
            remedy = "use the out-of-place form of the operation (`x = x + y` for `x += y`)"
            step = self._stepped
            if step is not None:
                what += f": {step.kind} stepped between the forward pass and this backward pass"
                cause = "the step changed the weights that the loss was computed with"
                remedy = "call backward() before the optimizer steps, or run the forward pass again after it"
            family, at = ("update-order", step.at) if step is not None else (None, None)
            yield self.finding(self._failed, what, cause=cause, remedy=remedy, at=at, family=family)


_REFUSED = re.compile(r"required rank (\d) tensor to use (channels_last\w*) format")
_MEANS = {4: "batch, channels, height, width", 5: "batch, channels, depth, height, width"}


class MemoryFormatOfOtherRank(Detector):
    """The run ended because the script put a tensor into a memory format for another number of dimensions.

    ## Why it matters
    `channels_last` is a format of 4-D tensors, `channels_last_3d` one of 5-D tensors. A video batch (batch, time, channels,
    height, width) has five dimensions, but its second one is time, not channels: neither format fits it.

    ## Usual causes
    `batch.to(memory_format=torch.channels_last)` on clips; `model.to(memory_format=torch.channels_last)` on a model with a Conv3d.

    ## What to do
    Convert where the convolutions are: `x.flatten(0, 1).contiguous(memory_format=torch.channels_last)` for a Conv2d that sees
    single frames, `channels_last_3d` for a Conv3d. Converting weights alone buys nothing unless the activations follow;
    `premortem.parts.channels_last` sets the right format layer by layer and measures whether it pays.
    """

    card = Card("PM417", "memory-format-of-other-rank", "shape", Severity.ERROR)
    listens = (ShapesMet, RunEnded)

    def __init__(self) -> None:
        self._names: tuple[tuple[str, tuple[int, ...]], ...] = ()

    def observe(self, event: Event) -> Findings:
        if isinstance(event, ShapesMet):
            self._names = event.names
        if not isinstance(event, RunEnded) or event.reason != "crashed":
            return
        refused = _REFUSED.search(event.message)
        if refused is None:
            return
        wanted, form = int(refused[1]), refused[2]
        guilty = next(((name, shape) for name, shape in self._names if len(shape) != wanted), None)
        what = f"`{guilty[0]}` of shape {guilty[1]}" if guilty else "a tensor (or a weight)"
        has = f", and this one has {len(guilty[1])}" if guilty else ""
        yield self.finding(
            event,
            f"the run ended after {event.step} steps: {what} cannot be put into {form}, which is for {wanted} dimensions",
            cause=f"{form} orders tensors of {wanted} dimensions ({_MEANS.get(wanted, 'and no others')}){has}.",
            remedy=(
                "Convert where the convolutions are: frames.flatten(0, 1) in channels_last for Conv2d, channels_last_3d for "
                "Conv3d. premortem.parts.channels_last does it layer by layer and measures whether it pays."
            ),
            form=form,
            dimensions=len(guilty[1]) if guilty else None,
        )
