from premortem.amounts import size
from premortem.preflight.environment.machine_facts import Facts
from premortem.preflight.unit import Card, Certainty, Check, Findings, Severity


class CacheLargerThanMemory(Check):
    """A dataset keeps every sample it has read, each worker process has a copy, and they do not fit in memory.

    ## Why it matters
    Memory grows over the first epoch until the machine swaps or the kernel kills a worker: `DataLoader worker (pid …) is
    killed by signal: Killed`, hours after the start.

    ## Usual causes
    `self.cache[index] = sample` in `__getitem__`, with `num_workers` greater than 0. What one worker has kept the
    others do not see.

    ## What to do
    Use a cache that all workers share and that has a limit (`premortem.parts.RamCache`), or fewer workers.

    ## When it stays silent
    When the size of the samples is not known. One byte is counted for each value of an image; floats need four.
    """

    card = Card("PM607", "cache-larger-than-memory", "memory-fit", Severity.WARNING)

    def look(self, facts: Facts) -> Findings:
        for one in facts.caching:
            need = one.size * one.workers
            if need <= one.available:
                continue
            yield self.finding(
                f"{one.workers} workers that each keep all samples of {one.folder.name} need {size(need)} of memory, "
                f"and {size(one.available)} are available",
                cause=f"The samples are {size(one.size)} once they are decoded, and each worker process keeps its own.",
                remedy="Use one cache for all workers, with a limit (`premortem.parts.RamCache`), or fewer workers.",
                where=one.where,
                certainty=Certainty.SUSPECTED,
                samples_bytes=one.size,
                workers=one.workers,
                available_bytes=one.available,
            )
