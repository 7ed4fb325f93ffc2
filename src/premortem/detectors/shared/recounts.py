"""What is printed after an evaluation, beside what was counted again of it."""

from collections.abc import Iterator
from typing import NamedTuple

from premortem.detectors.shared.printed import columns
from premortem.events import LogLine, ScoreRecounted
from premortem.metric_words import ACCURACIES, RECORDS, TRAINED

FEWEST_DIGITS = 2  # behind the point: with fewer, many numbers look alike


class Printed(NamedTuple):
    label: str
    text: str
    right: int
    of: int
    batches: int
    last: tuple[int, int]
    is_whole: bool
    is_last: bool
    is_by_batches: bool


class Recounts:
    """Of each accuracy that is printed after an evaluation: of what it is the accuracy, as far as its digits say."""

    def __init__(self) -> None:
        self._counted: list[ScoreRecounted] = []  # since the last line that prints one

    def hears(self, event: ScoreRecounted | LogLine) -> Iterator[Printed]:
        if isinstance(event, ScoreRecounted):
            self._counted.append(event)
            return
        found = []
        for (label, text, value), names in zip(event.values, columns(event), strict=True):
            if names & ACCURACIES and not names & (RECORDS | TRAINED) and digits(text) >= FEWEST_DIGITS:
                found.append((label, text, value))
        counted, self._counted = self._counted, [] if found else self._counted
        # One pass and one number: which belongs to which is known.
        if len(counted) == len(found) == 1:
            (each,), ((label, text, value),) = counted, found
            yield Printed(
                label,
                text,
                each.right,
                each.of,
                each.batches,
                each.last,
                is_whole=same(value, text, each.right / each.of),
                is_last=same(value, text, each.last[0] / each.last[1]),
                is_by_batches=same(value, text, each.right / each.batches, percent=False),
            )


def digits(text: str) -> int:
    return len(text.partition(".")[2].rstrip("%"))


def same(value: float, text: str, share: float, percent: bool = True) -> bool:
    """To the last digit that is printed; as a share, or in percent."""
    rounding = 0.51 * 10.0 ** -digits(text)
    return abs(value - share) <= rounding or (percent and abs(value - 100 * share) <= rounding)
