from __future__ import annotations

from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.events import Event, OptimizerBuilt, RunEnded

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
