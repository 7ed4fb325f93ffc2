from premortem.cards import Card
from premortem.detectors.base import TWICE, Detector, Findings
from premortem.events import Experimented, OptimizerBuilt
from premortem.findings import Severity

NOTICEABLE = 1e-3  # of the spread of the outputs: rounding is far below


class SampleDependsOnBatch(Detector):
    """In eval mode, what the model says about a sample depends on which others are in its batch.

    ## Why it matters
    An evaluation then measures how batches are made up, and a single sample cannot be predicted at all. In training, a
    sample's answer can be read off its neighbours.

    ## Usual causes
    A mean, a maximum or a softmax over dimension 0; attention between the samples instead of within one; a normalisation by
    the batch that is written by hand, and so has no running statistics.

    ## What to do
    Work within a sample (`dim=1` or `dim=-1`), use `nn.LayerNorm`, or `nn.BatchNorm`, which keeps its statistics.

    ## How it is measured
    The model is run again in eval mode with every other sample replaced. It speaks only where a loader made the batch and every
    sample has a target of its own; not of similarity matrices, graphs, adversarial training, or layers that are set to
    normalise by the batch (`track_running_stats=False`).
    """

    card = Card("PM420", "sample-depends-on-batch", "shape", Severity.WARNING).explaining(
        "uninformative-labels", "updates-too-small"
    )
    listens = (Experimented, OptimizerBuilt)

    def __init__(self) -> None:
        self._optimizers: set[int] = set()

    def observe(self, event: Experimented | OptimizerBuilt) -> Findings:
        if isinstance(event, OptimizerBuilt):
            self._optimizers.add(event.optimizer)
            return
        effect = event.effects.get("other samples in the batch", 0.0)
        meant = event.statistics or event.source is not None or event.same_input or len(self._optimizers) > 1
        if effect < NOTICEABLE or not event.batched or meant or self.times(event.model) < TWICE:
            return
        self.over = True
        yield self.finding(
            event,
            f"in eval mode `{event.name}` gives a sample another output when others of its batch are replaced: outputs "
            f"change by {effect:.2g} of their spread",
            cause="Something is computed over the samples of a batch: a mean, a maximum, a softmax or an attention along "
            "dimension 0.",
            remedy="Compute it within a sample (dim=1 or dim=-1), or use a layer that keeps running statistics.",
            module=event.name,
            change=effect,
            samples=event.samples,
        )
