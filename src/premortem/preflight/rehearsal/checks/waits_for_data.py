from premortem.preflight.rehearsal.scene import Scene
from premortem.preflight.unit import Card, Check, Findings, Severity

_HALF = 0.5
_SECONDS = 0.05  # in each step


class WaitsForData(Check):
    """More than half of each step is spent waiting for the next batch.

    ## Why it matters
    The device idles while samples are read and decoded one after the other. A run that is booked for a day takes two.

    ## Usual causes
    `num_workers=0`, so that loading and computing take turns; files that are decoded anew in each epoch; a slow disk.

    ## What to do
    Set `num_workers`, `pin_memory=True` and `persistent_workers=True`; keep decoded samples (`premortem.parts.RamCache`).

    ## When it stays silent
    When loading already runs in workers, or a step waits for less than a twentieth of a second.
    """

    card = Card("PM684", "waits-for-data", "throughput", Severity.WARNING)

    def look(self, facts: Scene) -> Findings:
        rehearsed, split = facts.facts, facts.facts.split
        loader = rehearsed.training
        if (
            split is None
            or loader is None
            or loader.workers
            or split.waiting <= _HALF
            or split.data < _SECONDS
        ):
            return
        yield self.finding(
            f"{100 * split.waiting:.0f} % of a step is waiting for data: {1000 * split.data:.0f} of {1000 * split.step:.0f} ms",
            cause="The loader has num_workers=0: the next batch is made only when the step before is over.",
            remedy="Set num_workers to a few, with persistent_workers=True.",
            data_seconds=split.data,
            step_seconds=split.step,
            steps=split.steps,
        )
