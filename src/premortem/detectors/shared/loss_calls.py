"""What detectors of one loss call share: they judge each call, and speak about a line that is wrong again and again."""

from abc import abstractmethod
from typing import ClassVar

from premortem.detectors.base import THRICE, Detector, Finding, Findings
from premortem.events import Event, GraphWalked, LossCall

REGRESSING = frozenset({"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"})
# What gives logarithms of probabilities. A log_softmax over another dimension is another mistake (over-the-batch-dimension).
LOGARITHMS = frozenset({"log_softmax", "log", "logsigmoid", "log1p"})
SQUASHED = frozenset({"softmax", "sigmoid", "hardsigmoid"})
# Calls of one line, when the graph itself names the function that squashed: one more than a trial of the model.
NAMED = 2


class JudgesLossCalls(Detector):
    """Judges every call of a loss, and speaks once a line has been wrong `calls` times."""

    listens: ClassVar[tuple[type[Event], ...]] = (LossCall,)
    calls = THRICE

    def observe(self, event: Event) -> Findings:
        if isinstance(event, LossCall):
            wrong = self.wrong(event)
            if wrong != "" and self.always(event.at, wrong is not None) >= self.calls:
                yield self.found(event, wrong or "")

    @abstractmethod
    def wrong(self, event: LossCall) -> str | None:
        """What is wrong with this call. "" says nothing about the line; None clears it for good."""

    @abstractmethod
    def found(self, event: LossCall, wrong: str) -> Finding: ...


class TakesScores(Detector):
    """Listens to losses that take raw scores, and to graphs in which the function of such a loss follows another one."""

    listens = (LossCall, GraphWalked)
    twice: ClassVar[frozenset[tuple[str, str]]]  # what the graph calls the two functions, the last one first

    def observe(self, event: Event) -> Findings:
        if isinstance(event, LossCall):
            yield from self.called(event)
        elif isinstance(event, GraphWalked):
            pair = next((pair for pair in event.feeds if pair in self.twice), None)
            if pair is not None and self.times(event.at) >= THRICE:
                yield self.applied_twice(event, *pair)

    @abstractmethod
    def called(self, event: LossCall) -> Findings: ...

    @abstractmethod
    def applied_twice(self, event: GraphWalked, upper: str, lower: str) -> Finding: ...
