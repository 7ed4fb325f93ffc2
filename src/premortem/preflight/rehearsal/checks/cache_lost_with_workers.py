from premortem.amounts import size
from premortem.preflight.rehearsal.scene import Scene
from premortem.preflight.unit import Card, Check, Findings, Severity


class CacheLostWithWorkers(Check):
    """A dataset keeps its samples in a dictionary of its own, in workers that end with every epoch.

    ## Why it matters
    Each worker fills a cache of its own and takes it along when the epoch is over. The cache costs memory times workers and
    is never hit.

    ## Usual causes
    A `self.cache = {}` that was written for `num_workers=0`; `persistent_workers` left at its default.

    ## What to do
    `persistent_workers=True`, or a cache that all workers share (`premortem.parts.RamCache`).
    """

    card = Card("PM689", "cache-lost-with-workers", "throughput", Severity.WARNING)

    def look(self, facts: Scene) -> Findings:
        rehearsed, force = facts.facts, facts.facts.force
        loader = rehearsed.training
        if not force.cache_lost or loader is None or (rehearsed.epochs or 0) < 2:
            return
        each = f", and up to {size(force.cache_bytes)} are held in each" if force.cache_bytes else ""
        yield self.finding(
            f"`{force.cache}` of the dataset is filled in {loader.workers} workers, which end with every epoch: what they keep "
            f"is lost with them{each}",
            cause="Each worker has a copy of the dataset, and what it keeps there ends with it.",
            remedy="Set persistent_workers=True, or fill the cache before the loader is made; parts.RamCache is shared by all workers.",
            attribute=force.cache,
            workers=loader.workers,
            bytes_in_each=force.cache_bytes or None,
        )
