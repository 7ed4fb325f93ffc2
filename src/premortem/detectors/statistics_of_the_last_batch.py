from premortem.amounts import count
from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.detectors.shared.models import Models
from premortem.events import Event, Forward, ModelSeen

STEPS = 20  # on other batches: a handful may be a trial


class StatisticsOfTheLastBatch(Detector):
    """The running statistics of a batch norm are those of the last batch: its momentum is above a half.

    ## Why it matters
    In eval mode batch norm uses its running statistics, which should be those of the whole training data. With a large momentum
    they are those of the batch that happened to come last, and every evaluation is as noisy as one batch.

    ## Usual causes
    The momentum of another framework. There 0.9 or 0.99 is the share of what is kept; in PyTorch it is the share of the new
    batch: `momentum=0.1` and `0.01` are meant.

    ## What to do
    Pass one minus that number.

    ## When it stays silent
    Every step has the same input (the batch is all there is), or the model is never used in eval mode.
    """

    card = Card("PM310", "statistics-of-the-last-batch", "eval-stale", Severity.WARNING)
    uses = (Models,)
    listens = (ModelSeen, Forward)

    def __init__(self) -> None:
        self._steps: dict[int, int] = {}  # models with such norms -> training forwards on new inputs

    def observe(self, event: Event) -> Findings:
        if isinstance(event, ModelSeen):
            if event.hasty:
                self._steps.setdefault(event.model, 0)
        elif isinstance(event, Forward) and event.model in self._steps:
            if event.training:
                self._steps[event.model] += event.tracked and not event.same_object
            elif event.noisy_eval and not event.tracked and self._steps[event.model] >= STEPS:
                seen = self.fact(Models).seen[event.model]
                if self.once(event.model):
                    first = seen.hasty[0]
                    yield self.finding(
                        event,
                        f"`{first.layer}` has momentum {first.momentum:g}: its running statistics are those of the last batch"
                        + (
                            f", and so are those of {count(len(seen.hasty) - 1, 'other layer')}"
                            if seen.hasty[1:]
                            else ""
                        ),
                        cause="In PyTorch the momentum of a norm is the weight of the new batch, not of what is kept.",
                        remedy=f"Pass {1 - first.momentum:.3g}, or leave the default of 0.1.",
                        module=first.layer,
                        momentum=first.momentum,
                    )
