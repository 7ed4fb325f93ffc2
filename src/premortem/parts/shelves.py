"""Which sample lies where in a shared region: pages, runs of pages, and the order of last use."""

from typing import NamedTuple

from premortem.parts.region import Region

PAGE = 1024  # bytes; what a sample wastes is less than one
WORD = 8
COUNTERS = {
    name: place
    for place, name in enumerate(
        "fresh free spare newest oldest held used hits misses evicted checked random warned".split()
    )
}
COLUMNS = "start size tail generation newer older reason".split()  # of each sample
FULL, LARGE, KIND = 1, 2, 3  # why a sample is not held


class Run(NamedTuple):
    """Pages in a row."""

    page: int
    pages: int


class Held(NamedTuple):
    runs: list[Run]
    size: int  # bytes
    tail: int  # of them, the last ones, which say what the others mean
    generation: int


class Shelves:
    """An index in shared memory. Every method but `size_for` expects the lock of the region to be held.

    A sample is a chain of runs. What was never used is given out from the end (`fresh`), so that a cache that only fills has one run
    for each sample; what an evicted sample leaves is chained up in `free` and given out again, split where it is too long.
    In the chains 0 means none: pages and samples are written down plus one.
    """

    def __init__(self, region: Region, samples: int, pages: int, *, evict: bool) -> None:
        self.region, self.samples, self.pages, self.evict = region, samples, pages, evict
        self._lay_out()

    @staticmethod
    def size_for(samples: int, pages: int) -> tuple[int, int]:
        """Bytes of the index, and of everything."""
        words = len(COUNTERS) + len(COLUMNS) * samples + 2 * pages
        index = -(-words * WORD // 4096) * 4096
        return index, index + pages * PAGE

    def _lay_out(self) -> None:
        self.first, _whole = self.size_for(self.samples, self.pages)
        words = memoryview(self.region.memory)[: self.first].cast("q")
        self._counters = words[: len(COUNTERS)]
        place = len(COUNTERS)
        columns = []
        for length in [self.samples] * len(COLUMNS) + [self.pages] * 2:
            columns.append(words[place : place + length])
            place += length
        self._start, self._size, self._tail, self._generation, self._newer, self._older, self.reasons = (
            columns[:7]
        )
        self._length, self._next = columns[7:]  # of the run that begins at a page

    def __getstate__(self) -> dict[str, object]:
        return {name: self.__dict__[name] for name in ("region", "samples", "pages", "evict")}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._lay_out()

    def counter(self, name: str) -> int:
        return self._counters[COUNTERS[name]]

    def count(self, name: str, more: int = 1) -> int:
        place = COUNTERS[name]
        self._counters[place] += more
        return self._counters[place]

    def _set(self, name: str, value: int) -> None:
        self._counters[COUNTERS[name]] = value

    def holds(self, sample: int) -> bool:
        return bool(self._start[sample])

    def find(self, sample: int) -> Held | None:
        if not self._start[sample]:
            return None
        if self.evict:
            self._unlink(sample)
            self._link(sample)
        return Held(self._runs(sample), self._size[sample], self._tail[sample], self._generation[sample])

    def is_still(self, sample: int, held: Held) -> bool:
        """Whether what was found has not been evicted, and perhaps overwritten, since."""
        return self._generation[sample] == held.generation and bool(self._start[sample])

    def reserve(self, size: int, *, evict: bool) -> list[Run] | None:
        """Room for so many bytes that no other process will write to; None when there is none."""
        pages = -(-size // PAGE)
        while self.evict and evict and pages > self._room() and self.counter("oldest"):
            self._drop(self.counter("oldest") - 1)
        if pages > self._room():
            return None
        runs: list[Run] = []
        while pages:
            run = self._take(pages)
            runs.append(run)
            pages -= run.pages
        return runs

    def publish(self, sample: int, runs: list[Run], size: int, tail: int) -> bool:
        """From now on the sample is found. False when another process was quicker; the room is then given back."""
        if self._start[sample]:
            for run in runs:
                self._give(run)
            return False
        for run, after in zip(runs, [*runs[1:], None], strict=True):
            self._length[run.page] = run.pages
            self._next[run.page] = after.page + 1 if after else 0
        self._size[sample], self._tail[sample], self.reasons[sample] = size, tail, 0
        self._generation[sample] += 1
        self._start[sample] = runs[0].page + 1
        self._link(sample)
        self.count("held")
        self.count("used", sum(run.pages for run in runs))
        return True

    def _room(self) -> int:
        return self.pages - self.counter("fresh") + self.counter("spare")

    def _take(self, pages: int) -> Run:
        head = self.counter("free")
        if not head:
            fresh = self.counter("fresh")
            self._set("fresh", fresh + pages)
            return Run(fresh, pages)
        page, length = head - 1, self._length[head - 1]
        self._set("free", self._next[page])
        taken = min(length, pages)
        self.count("spare", -length)
        if taken < length:
            self._give(Run(page + taken, length - taken))
        return Run(page, taken)

    def _give(self, run: Run) -> None:
        self._length[run.page], self._next[run.page] = run.pages, self.counter("free")
        self._set("free", run.page + 1)
        self.count("spare", run.pages)

    def _drop(self, sample: int) -> None:
        runs = self._runs(sample)
        self._start[sample] = 0
        self._generation[sample] += 1
        self._unlink(sample)
        for run in runs:
            self._give(run)
        self.count("held", -1)
        self.count("used", -sum(run.pages for run in runs))
        self.count("evicted")

    def _runs(self, sample: int) -> list[Run]:
        runs, page = [], self._start[sample]
        while page:
            runs.append(Run(page - 1, self._length[page - 1]))
            page = self._next[page - 1]
        return runs

    def _link(self, sample: int) -> None:
        newest = self.counter("newest")
        self._newer[sample], self._older[sample] = 0, newest
        if newest:
            self._newer[newest - 1] = sample + 1
        else:
            self._set("oldest", sample + 1)
        self._set("newest", sample + 1)

    def _unlink(self, sample: int) -> None:
        newer, older = self._newer[sample], self._older[sample]
        if newer:
            self._older[newer - 1] = older
        else:
            self._set("newest", older)
        if older:
            self._newer[older - 1] = newer
        else:
            self._set("oldest", newer)
