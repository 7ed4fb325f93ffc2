"""PM688 workers-not-in-force."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from premortem.cards import Card
from premortem.findings import Finding, Severity
from premortem.preflight.rehearsal.scene import Scene
from premortem.preflight.unit import Check


class WorkersNotInForce(Check):
    """The script's settings ask for loader workers, and the training loader has none.

    ## Why it matters
    Everybody who reads the configuration believes that loading runs beside training. It does not.

    ## Usual causes
    The setting is not passed to `DataLoader`; another loader than the one that was changed is iterated.

    ## What to do
    Pass `num_workers` on to the loader that is trained from.
    """

    card: ClassVar[Card] = Card(
        code="PM688", name="workers-not-in-force", family="throughput", severity=Severity.WARNING
    )

    def look(self, facts: Scene) -> Iterable[Finding]:
        told = facts.facts
        workers, loader = told.stated.get("workers"), told.training
        if (
            type(workers) is not int
            or workers < 1
            or loader is None
            or any(each.workers for each in told.loaders)
        ):
            return
        yield self.finding(
            f"the script's settings say {workers} workers, but none of its loaders has any",
            cause="The setting does not reach the DataLoader.",
            remedy=f"DataLoader(..., num_workers={workers}, persistent_workers=True)",
            stated=workers,
        )
