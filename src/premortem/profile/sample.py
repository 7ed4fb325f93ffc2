"""A coordinated sample of rows: of all that come, those with the smallest hashes (bottom-k).

Which rows are kept depends on the rows alone. So two streams that share rows share them in their samples too, and the
share of common rows among the comparable ones estimates that of the whole; of small streams nothing is left out.
"""

from __future__ import annotations

import hashlib
import heapq
import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

MOST = 1024  # rows: a share of 1 % is then seen within a third of it
MOST_COLUMNS = 64
MOST_CLASSES = 512
MOST_TOKENS = 512
_streams = itertools.count()


class Row(NamedTuple):
    """One sampled row."""

    values: tuple[float, ...]
    label: float | None  # its class or its measured quantity
    place: int  # its number in the pass or in the file
    source: str = ""


def mark(content: bytes) -> int:
    """The same for the same bytes, in every process."""
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "big")


class Sample:
    """Rows of one stream."""

    def __init__(self, columns: Sequence[str] = (), most: int = MOST) -> None:
        self.columns = tuple(columns)[:MOST_COLUMNS]
        self.most = most
        self.kept: dict[int, Row] = {}
        self._heap: list[int] = []  # the marks, negated: the largest is on top
        self.rows = 0
        self.missing = [0] * len(self.columns)
        self.low = [float("inf")] * len(self.columns)
        self.high = [float("-inf")] * len(self.columns)
        self.classes: Counter[str] = Counter()
        self.tokens: Counter[int] = Counter()
        self.discrete = False
        self.repeated = 0
        self.contradicting = 0
        self.again: dict[
            int, Counter[float | None]
        ] = {}  # of rows that came again: the labels they came with then
        self.blank = 0  # rows that are one number from end to end
        self.blank_labels: Counter[float] = Counter()  # ... and their labels
        self.fill: Counter[int] = Counter()  # tokens that are the most frequent of their batch, how often,
        self.fill_runs: Counter[int] = Counter()  # how often one of them begins or ends within a row,
        self.fill_short: Counter[int] = Counter()  # and how often a few stand between others
        self.fill_of = 0
        self.stream = next(_streams)  # marks of rows that are not compared differ between streams

    @property
    def limit(self) -> int:
        """Rows with a mark below it are all here."""
        return -self._heap[0] if len(self.kept) >= self.most else 1 << 64

    def wants(self, code: int) -> bool:
        return code < self.limit and code not in self.kept

    def add(self, code: int, row: Row) -> None:
        """A row that came. `row.values` has one number for each column."""
        known = self.kept.get(code)
        if known is not None:
            self.repeated += 1
            self.contradicting += known.label != row.label
            self.again.setdefault(code, Counter())[row.label] += 1
            return
        if code >= self.limit:
            return
        if len(self.kept) >= self.most:
            gone = -heapq.heappop(self._heap)
            del self.kept[gone]
            self.again.pop(gone, None)
        self.kept[code] = row
        heapq.heappush(self._heap, -code)

    def spans(self, low: Iterable[float], high: Iterable[float], missing: Iterable[int]) -> None:
        """The range of every column over rows of which only some are kept."""
        self.low = [min(a, b) for a, b in zip(self.low, low, strict=True)]
        self.high = [max(a, b) for a, b in zip(self.high, high, strict=True)]
        self.missing = [a + b for a, b in zip(self.missing, missing, strict=True)]

    def count(self, labels: Iterable[str]) -> None:
        self.discrete = True
        if len(self.classes) <= MOST_CLASSES:
            self.classes.update(labels)

    def merge(self, other: Sample) -> None:
        """The rows of another stream as well: of another rank, of another part of a dataset."""
        for code, row in other.kept.items():
            self.add(code, row)
        self.rows += other.rows
        if len(self.missing) == len(other.missing):
            self.spans(other.low, other.high, other.missing)
        self.blank += other.blank
        self.blank_labels.update(other.blank_labels)
        self.fill.update(other.fill)
        self.fill_runs.update(other.fill_runs)
        self.fill_short.update(other.fill_short)
        self.fill_of += other.fill_of
        self.classes.update(other.classes)
        self.tokens.update(other.tokens)
        self.discrete = self.discrete or other.discrete

    def plain_copy(self, code: int, label: float | None) -> None:
        """A picture of few colours came: it is not compared with those of other streams, and is known again in its own."""
        if code in self.again or len(self.again) < 2 * MOST:
            self.again.setdefault(code, Counter())[label] += 1

    def commonest(self) -> Counter[float | None]:
        """The labels of the row that came most often, and how often it came with each."""
        if not self.again:
            return Counter()
        code, labels = max(self.again.items(), key=lambda pair: pair[1].total())
        return labels + Counter([self.kept[code].label] if code in self.kept else [])

    @property
    def distinct(self) -> int:
        """How many different rows there are in all, as the density of the smallest marks has it."""
        if len(self.kept) < self.most:
            return len(self.kept)
        return round((self.most - 1) * (1 << 64) / self.limit)

    def shared(self, other: Sample) -> list[tuple[Row, Row]]:
        """Rows of both, as (here, there)."""
        return [(row, other.kept[code]) for code, row in self.kept.items() if code in other.kept]

    def comparable(self, other: Sample) -> int:
        """Rows here that would be kept there if they had come there."""
        limit = other.limit
        return sum(code <= limit for code in self.kept)

    def part(self, chosen: Iterable[int]) -> Sample:
        """Some of the rows as a sample of their own: those of one file, of the first half."""
        piece = Sample(self.columns, self.most)
        for code in chosen:
            piece.add(code, self.kept[code])
        piece.rows, piece.discrete = len(piece.kept), self.discrete
        return piece

    def by_source(self) -> dict[str, Sample]:
        found: dict[str, list[int]] = {}
        for code, row in self.kept.items():
            if row.source:
                found.setdefault(row.source, []).append(code)
        return {source: self.part(codes) for source, codes in found.items()}

    def halves(self) -> tuple[Sample, Sample]:
        """The first and the second half of a pass or a file."""
        ordered = sorted(self.kept, key=lambda code: self.kept[code].place)
        half = len(ordered) // 2
        return self.part(ordered[:half]), self.part(ordered[half:])
