"""A long series of numbers in bounded memory, and its course."""

import math
from statistics import fmean, median

MOST = 256  # values that are kept: with every second left out when they are full, the shape stays


class Series:
    """Keeps every number at first, then every second one, then every fourth..."""

    def __init__(self) -> None:
        self.values: list[float] = []
        self.count = 0
        self._stride = 1

    def add(self, value: float) -> None:
        if self.count % self._stride == 0:
            self.values.append(value)
            if len(self.values) > MOST:
                del self.values[1::2]
                self._stride *= 2
        self.count += 1

    def head(self, share: float = 0.1) -> float:
        """The middle of the first values."""
        return median(self.values[: max(1, int(len(self.values) * share))])

    def tail(self, share: float = 0.25) -> float:
        """The middle of the last values."""
        return median(self.values[-max(1, int(len(self.values) * share)) :])

    def gain(self) -> float:
        """By how much the end lies below the beginning, in units of the beginning's size."""
        return self._fall(self.head())

    def gain_since(self, share: float) -> float:
        """Likewise, without the first part of the series: an output bias learns fast, and alone."""
        begin = int(len(self.values) * share)
        return self._fall(median(self.values[begin : max(begin + 1, 2 * begin)]))

    def _fall(self, head: float) -> float:
        tail = self.tail()
        if not (math.isfinite(head) and math.isfinite(tail)):
            return -math.inf
        return (head - tail) / max(abs(head), 1e-12)

    def best(self, window: int = 8) -> float:
        """The mean of the lowest stretch of the whole series: what was reached at some time."""
        finite = [value for value in self.values if math.isfinite(value)]
        stretches = [finite[i : i + window] for i in range(0, len(finite), window)]
        return min(map(fmean, stretches), default=math.nan)
