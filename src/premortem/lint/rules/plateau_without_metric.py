from collections.abc import Iterator

from premortem.lint.provenance import values
from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.tree import receiver

PLATEAU = frozenset(("torch.optim.lr_scheduler.ReduceLROnPlateau",))


class PlateauWithoutMetric(Rule):
    """`ReduceLROnPlateau.step()` is called without the metric it watches.

    ## Why it matters
    It raises `TypeError: step() missing 1 required positional argument: 'metrics'`, at the end of the first epoch.

    ## Usual causes
    - the scheduler was another one before, and its `step()` stayed

    ## What to do
    Give it the metric of this epoch: `scheduler.step(val_loss)`.

    ## When it stays silent
    When the scheduler can also be of another class.
    """

    card = Card("PM535", "plateau-without-metric", "scheduler", Severity.ERROR)
    triggers = (b"ReduceLROnPlateau",)

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        for call in source.calls_to("step"):
            owner = receiver(call)
            if owner is None or call.args or call.keywords:
                continue
            built = values(source, owner)
            if built and all(source.names.all_in(getattr(value, "func", None), PLATEAU) for value in built):
                yield self.report(
                    source,
                    call,
                    f"`{source.text(owner)}` is a ReduceLROnPlateau: its step() needs the metric and raises "
                    "without it",
                    remedy=f"Write `{source.text(owner)}.step(metric)` with the value of this epoch.",
                )
