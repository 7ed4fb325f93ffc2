"""What a loss is worth: the value that guessing gives, from the labels alone."""

import math

from premortem.detectors.shared.facts import Fact
from premortem.detectors.shared.series import Series
from premortem.events import Event, LossCall, Site

CLASSIFYING = frozenset({"cross_entropy", "nll_loss"})
BINARY = frozenset({"binary_cross_entropy", "binary_cross_entropy_with_logits"})
SQUARED = frozenset({"mse_loss"})
ABSOLUTE = frozenset({"l1_loss"})


class Chance:
    """Pools the labels of one kind of loss, and says what the best constant answer would score."""

    def __init__(self) -> None:
        self.classes: dict[float, int] = {}
        self.count = 0
        self.mean = 0.0
        self.square = 0.0

    def add(self, event: LossCall) -> None:
        if event.classes is not None and (event.fn in CLASSIFYING or event.fn in BINARY):
            for value, count in event.classes.items():
                if value != event.ignored:
                    self.classes[value] = self.classes.get(value, 0) + count
        if event.target_mean is not None and event.target_std is not None and math.isfinite(event.target_std):
            self.count += 1
            self.mean += (event.target_mean - self.mean) / self.count
            self.square += (event.target_mean**2 + event.target_std**2 - self.square) / self.count

    def level(self, fn: str) -> float | None:
        """The loss of the best constant prediction; None when it is not known for this loss."""
        if fn in CLASSIFYING or fn in BINARY:
            total = sum(self.classes.values())
            if total == 0 or len(self.classes) < 2:
                return None
            return -sum(n / total * math.log(n / total) for n in self.classes.values())
        variance = self.square - self.mean**2
        if self.count == 0 or variance <= 1e-12 * max(self.square, 1e-12):
            return None
        if fn in SQUARED:
            return variance
        return 0.8 * math.sqrt(variance) if fn in ABSOLUTE else None

    @property
    def size(self) -> float:
        """Root mean square of the targets."""
        return math.sqrt(self.square)


Line = tuple[Site | None, str]  # where a loss is computed, and which: a line may have the sum of two


class Course:
    """A loss of one line, next to what guessing would score."""

    def __init__(self, fn: str) -> None:
        self.values = Series()
        self.chance = Chance()
        self.fn = fn

    @property
    def level(self) -> float | None:
        return self.chance.level(self.fn)


class Courses(Fact):
    """... of every line that computes one."""

    LISTENS = (LossCall,)

    def __init__(self) -> None:
        self.trained: dict[Line, Course] = {}
        self.judged: dict[Line, Course] = {}  # without gradients

    def observe(self, event: Event) -> None:
        if isinstance(event, LossCall):
            courses = self.trained if event.grad else self.judged
            course = courses.setdefault((event.at, event.fn), Course(event.fn))
            if event.value is not None and math.isfinite(event.value):
                course.values.add(event.value)
            course.chance.add(event)
