"""What detectors of resumed runs ask: does the run count on from where the file was?"""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

from premortem.detectors.base import Detector
from premortem.events import Event, Resumed
from premortem.findings import Finding
from premortem.metric_words import counts

FIRST_RESUMED = 2  # a run that counts on from here did not start anew


class OfResumed(Detector):
    """Judges a run that goes on from a file, with the optimizer's state of it; says one thing about it."""

    listens: ClassVar[tuple[type[Event], ...]] = (Resumed,)

    def observe(self, event: Resumed) -> Iterator[Finding]:
        if event.restored:
            finding = self.judge(event)
            if finding is not None:
                self.over = True
                yield finding

    @abstractmethod
    def judge(self, event: Resumed) -> Finding | None: ...

    def about(self, event: Resumed, message: str, **more: Any) -> Finding:
        return self.finding(event, message, file=event.path, **more)


def goes_on(event: Resumed) -> tuple[str, int] | None:
    """The counter of a running loop that goes on from one in the file."""
    for place, (name, value) in enumerate(event.reached):
        for saved, number in event.counters:
            if value < FIRST_RESUMED or not number or not number <= value <= number + 2:
                continue
            # Without a name that says so, only the outermost loop can be the one that counts epochs or steps.
            if counts(name) == counts(saved) != "" or (place == 0 and value <= number + 1):
                return name, value
    return None


def starts_anew(event: Resumed) -> tuple[str, int, int] | None:
    """The counter of a running loop that began again, while the file is further: name, its value, the file's."""
    if goes_on(event) is not None:
        return None
    for name, value in event.reached:
        for saved, number in event.counters:
            if value <= 1 and number >= max(FIRST_RESUMED, value + 2) and counts(name) == counts(saved) != "":
                return name, value, number
    return None


def file_of(event: Resumed) -> str:
    return event.path.rpartition("/")[2] or "the checkpoint"
