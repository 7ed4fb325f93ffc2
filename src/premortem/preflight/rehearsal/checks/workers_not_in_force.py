from premortem.preflight.rehearsal.scene import Scene
from premortem.preflight.unit import Card, Check, Findings, Severity


class WorkersNotInForce(Check):
    """The script's settings ask for loader workers, and the training loader has none.

    ## Why it matters
    Everybody who reads the configuration believes that loading runs beside training. It does not.

    ## Usual causes
    The setting is not passed to `DataLoader`; another loader than the one that was changed is iterated.

    ## What to do
    Pass `num_workers` on to the loader that is trained from.
    """

    card = Card("PM688", "workers-not-in-force", "throughput", Severity.WARNING)

    def look(self, facts: Scene) -> Findings:
        rehearsed = facts.facts
        workers, loader = rehearsed.stated.get("workers"), rehearsed.training
        if (
            type(workers) is not int
            or workers < 1
            or loader is None
            or any(each.workers for each in rehearsed.loaders)
        ):
            return
        yield self.finding(
            f"the script's settings say {workers} workers, but none of its loaders has any",
            cause="The setting does not reach the DataLoader.",
            remedy=f"DataLoader(..., num_workers={workers}, persistent_workers=True)",
            stated=workers,
        )
