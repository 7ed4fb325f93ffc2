"""PM307 statistics-never-collected."""

from __future__ import annotations

from collections.abc import Iterator

from premortem.cards import Card
from premortem.detectors.base import TWICE, Detector
from premortem.detectors.shared.models import Models
from premortem.detectors.shared.wording import count
from premortem.events import EvaluationEnded
from premortem.findings import Finding, Severity


class StatisticsNeverCollected(Detector):
    """A model is evaluated with batch-norm statistics that no batch has ever gone into, while its weights move.

    ## Why it matters
    In eval mode batch norm divides by the running statistics. At their initial mean 0 and variance 1 the layers
    above see inputs they were never trained on, however good the weights are.

    ## Usual causes
    An EMA or averaged copy that updates `parameters()` and forgets the buffers; `AveragedModel` evaluated without
    `update_bn`; `momentum=0`.

    ## What to do
    Copy the buffers with the parameters (`use_buffers=True`), or run `torch.optim.swa_utils.update_bn` first.
    """

    card = Card(
        code="PM307",
        name="statistics-never-collected",
        family="eval-stale",
        severity=Severity.ERROR,
        explains=("train-and-eval-inputs-differ",),
    )
    uses = (Models,)
    listens = (EvaluationEnded,)

    def __init__(self) -> None:
        self._weights: dict[int, set[int]] = {}

    def observe(self, event: EvaluationEnded) -> Iterator[Finding]:
        if event.weights is not None:
            seen = self._weights.setdefault(event.model, set())
            if event.unborn and not event.training and event.step:
                seen.add(event.weights)
                if len(seen) >= TWICE:
                    self.over = True
                    yield self._found(event)

    def _found(self, event: EvaluationEnded) -> Finding:
        name = self.fact(Models).name(event.model)
        copy = (
            "it is a copy whose buffers nobody updates" if not event.trained else "its statistics never move"
        )
        return self.finding(
            event,
            f"`{name}` is evaluated with {count(event.unborn, 'batch-norm layer')} at mean 0 and variance 1: no batch "
            "has ever gone into their statistics, while the weights move",
            cause=f"Eval mode normalises with running statistics, and {copy}.",
            remedy="Copy the buffers together with the parameters, or collect the statistics with "
            "`torch.optim.swa_utils.update_bn(loader, model)` before evaluating.",
            # A copy is stale; a model whose own statistics do not move was not trained in train mode.
            family=None if not event.trained else "eval-mode",
            module=name,
            layers=event.unborn,
        )
