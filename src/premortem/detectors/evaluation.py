"""Evaluations with gradients on, or with statistics that no batch went into."""

from premortem.amounts import count
from premortem.detectors.base import TWICE, Card, Detector, Findings, Severity
from premortem.detectors.shared.models import Models
from premortem.events import EvaluationEnded


class EvaluatedWithGradients(Detector):
    """An evaluation builds autograd graphs that it does not use.

    ## Why it matters
    It costs memory and time: every activation is kept for a backward pass that never comes.

    ## Usual causes
    `torch.no_grad()` was forgotten around the evaluation.

    ## What to do
    Wrap the evaluation in `with torch.no_grad():` (or `torch.inference_mode()`).
    """

    card = Card("PM306", "evaluated-with-gradients", "eval-mode", Severity.INFO)
    uses = (Models,)
    listens = (EvaluationEnded,)

    def observe(self, event: EvaluationEnded) -> Findings:
        wasteful = event.grad and event.judged and event.trained and not event.generator
        if wasteful and event.forwards > 1:
            name = self.fact(Models).name(event.model)
            yield self.last_word(
                event,
                f"`{name}` was evaluated with gradients on, in {event.forwards} forwards",
                cause="Each forward keeps its activations for a backward pass that never comes.",
                remedy="Put the evaluation under `with torch.no_grad():`.",
                module=name,
                forwards=event.forwards,
            )


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

    card = Card("PM307", "statistics-never-collected", "eval-stale", Severity.ERROR).explaining(
        "train-and-eval-inputs-differ"
    )
    uses = (Models,)
    listens = (EvaluationEnded,)

    def observe(self, event: EvaluationEnded) -> Findings:
        if event.weights is None or not event.unborn or event.training or not event.step:
            return
        if self.different(event.model, event.weights) >= TWICE:
            name = self.fact(Models).name(event.model)
            why = "its statistics never move" if event.trained else "nothing updates the buffers of this copy"
            yield self.last_word(
                event,
                f"`{name}` is evaluated with {count(event.unborn, 'batch-norm layer')} at mean 0 and variance 1: no batch "
                "has ever gone into their statistics, while the weights move",
                cause=f"Eval mode normalises with running statistics, and {why}.",
                remedy="Copy the buffers together with the parameters, or collect the statistics with "
                "`torch.optim.swa_utils.update_bn(loader, model)` before evaluating.",
                # A copy is stale; a model whose own statistics do not move was not trained in train mode.
                family="eval-mode" if event.trained else None,
                module=name,
                layers=event.unborn,
            )
