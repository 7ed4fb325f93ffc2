from premortem.amounts import count
from premortem.detectors.base import STILL, TWICE, Card, Detector, Findings, Severity
from premortem.events import (
    Backward,
    Detached,
    Event,
    Forward,
    GraphWalked,
    ModelSeen,
    OptimizerStep,
    RunEnded,
    Site,
)

NO_GRAPH = "does not require grad"
A_NUMBER = "object has no attribute 'backward'"


class LossWithoutGraph(Detector):
    """The loss has no path to any parameter.

    ## Why it matters
    Either `backward()` raises, or (when the loss was made a leaf again) it runs and reaches nothing, and
    `step()` has nothing to do.

    ## Usual causes
    - `loss = torch.tensor(loss.item(), requires_grad=True)`: a new tensor with no history
    - `.item()`, `.detach()`, `.numpy()` or `.data` before `backward()`
    - the forward pass ran under `torch.no_grad()`, or gradients were switched off and never on again
    - every parameter of the model is frozen

    ## What to do
    Call `backward()` on the value that the criterion returned.
    """

    card = Card("PM113", "loss-without-graph", "grad-flow", Severity.ERROR).explaining(
        *STILL,
        "detached-from-loss",
        "step-without-new-gradients",
        "step-never-called",
        "trained-in-eval-mode",
        "evaluated-in-train-mode",
        "scheduler-before-optimizer",
    )
    listens = (ModelSeen, Forward, Detached, GraphWalked, Backward, OptimizerStep, RunEnded)

    def __init__(self) -> None:
        self._models: dict[int, tuple[str, int, int]] = {}  # name, parameters, trainable ones
        self._forward: Forward | None = None
        self._cut: Detached | None = None  # the last one since a step
        self._empty = 0  # backward passes since the last step that led nowhere
        self._full = 0
        self._backward_at: Site | None = None

    def observe(self, event: Event) -> Findings:
        if isinstance(event, ModelSeen):
            trainable = sum(parameter.trainable for parameter in event.parameters)
            self._models[event.model] = (event.name, len(event.parameters), trainable)
        elif isinstance(event, Forward):
            self._forward = event
        elif isinstance(event, Detached):
            self._cut = event
        elif isinstance(event, GraphWalked):
            self._backward_at = event.at
            self._empty += not event.parameters
            self._full += bool(event.parameters)
        elif isinstance(event, OptimizerStep):
            yield from self._stepped(event)
        elif (isinstance(event, Backward) and NO_GRAPH in event.error) or (
            isinstance(event, RunEnded) and event.error == "AttributeError" and A_NUMBER in event.message
        ):
            yield from self._raised(event, event.at)

    def _stepped(self, event: OptimizerStep) -> Findings:
        nothing = event.backwards == 0 and event.with_grad == 0 and not event.closure and not event.touched
        lost = nothing and self._empty > 0 and self._full == 0
        steps = self.in_a_row(event.optimizer, lost)
        self._empty = self._full = 0
        if steps == TWICE:
            yield self.last_word(
                event,
                "backward() reaches no parameter: none of the "
                f"{count(event.parameters, 'parameter')} of the optimizer has a gradient",
                cause=f"the loss is a new tensor, without the graph{self._where_cut()}",
                remedy="call `backward()` on the value that the criterion returned",
                at=self._cut.at if self._cut is not None else self._backward_at,
            )
        self._cut = None

    def _raised(self, event: Event, at: Site | None) -> Findings:
        frozen = [name for name, total, trainable in self._models.values() if total and not trainable]
        last = self._models.get(self._forward.model) if self._forward is not None else None
        if last is not None and last[1] and not last[2]:
            cause = f"all {count(last[1], 'parameter')} of `{last[0]}` are frozen (`requires_grad` is False)"
            remedy = "unfreeze the part that should be trained"
        elif self._forward is not None and not self._forward.grad:
            cause = "the forward pass ran with gradients off (`no_grad`, or `set_grad_enabled(False)`)"
            remedy = "run the training forward with gradients on, and switch them on again after evaluation"
            at = self._forward.at or at
        elif self._cut is not None:
            cause = f"the graph ends on the way to the loss{self._where_cut()}"
            remedy = "compute the loss from the tensor itself"
            at = self._cut.at or at
        else:
            cause = "nothing that the loss was computed from requires a gradient"
            remedy = "check that the model's parameters are trainable and that the loss is computed from its output"
        what = "backward() was called on a loss that has no graph"
        yield self.last_word(event, what, cause=cause, remedy=remedy, at=at, frozen=frozen)

    def _where_cut(self) -> str:
        if self._cut is None or self._cut.at is None:
            return ""
        return f": `{self._cut.op}` at line {self._cut.at.line}"
