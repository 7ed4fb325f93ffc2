import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from premortem.detectors.base import STILL, THRICE, Card, Detector, Findings, Severity
from premortem.detectors.shared.series import Series
from premortem.events import (
    Argument,
    Backward,
    Event,
    Forward,
    LogLine,
    LossCall,
    RunEnded,
    SchedulerBuilt,
    SchedulerStep,
    Site,
    SourceRead,
)
from premortem.metric_words import direction


@dataclass
class Plateau:
    mode: str
    optimizer: int
    metrics: list[float] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    labels: dict[str, set[int]] = field(default_factory=dict)  # label -> which metrics were printed under it
    called: set[Site] = field(default_factory=set)  # lines that have handed it its metric
    losses: int = 0  # metrics that are the mean of the losses just computed
    counts: set[int] | None = None  # ways to split the evaluation for which every metric is k / n so far
    cut_at: Site | None = None
    cut: tuple[float, float] | None = None


class PlateauWrongMode(Detector):
    """ReduceLROnPlateau minimises a metric that should rise, or maximises one that should fall.

    ## Why it matters
    Every improvement counts as a bad epoch, so the learning rate is cut again and again exactly while training
    goes well, and is never cut when it goes badly.

    ## Usual causes
    `scheduler.step(val_accuracy)` with the default `mode="min"`, or a loss with `mode="max"`.

    ## What to do
    Use `mode="max"` for accuracies and scores, `mode="min"` for losses and errors.

    ## When it stays silent
    Unless the metric is recognised (by the name it is printed under or handed over by, as a share k/n of the evaluated
    samples, or as the mean of the losses just computed) and the rate was really cut. A validation loss that rises because
    the model overfits is what the scheduler is for.
    """

    card = Card("PM205", "plateau-wrong-mode", "scheduler", Severity.ERROR).explaining(
        *STILL, "scheduler-past-horizon"
    )
    listens = (Forward, LossCall, Backward, LogLine, SchedulerBuilt, SchedulerStep, SourceRead, RunEnded)

    def __init__(self) -> None:
        self._plateaus: dict[int, Plateau] = {}
        self._training = Series()
        self._samples: list[int] = []  # of the forwards without gradients since the last training step
        self._judged: list[float] = []  # losses computed without gradients since then
        self._trained: list[float] = []  # losses trained on since the last call of a scheduler
        self._printed: list[LogLine] = []  # at the current step
        self._written: list[Argument] = []  # calls of `step` as they stand in the code

    def observe(self, event: Event) -> Findings:
        if isinstance(event, SchedulerBuilt):
            if event.mode in {"min", "max"} and event.kind == "ReduceLROnPlateau":
                self._plateaus[event.scheduler] = Plateau(event.mode, event.optimizer)
        elif isinstance(event, SourceRead):
            self._written = [one for one in event.arguments if one.method == "step"]
        elif not self._plateaus:
            return
        elif isinstance(event, Forward):
            if not event.grad and event.samples and len(self._samples) < 4096:
                self._samples.append(event.samples)
        elif isinstance(event, LossCall):
            if not event.grad and event.value is not None and len(self._judged) < 4096:
                self._judged.append(event.value)
        elif isinstance(event, Backward):
            self._step(event)
        elif isinstance(event, LogLine):
            self._read(event)
        elif isinstance(event, SchedulerStep):
            if event.scheduler in self._plateaus:
                self._fed(event, self._plateaus[event.scheduler])
                yield from self._judge(event)
        elif isinstance(event, RunEnded):
            yield from self._judge(event)

    def _step(self, event: Backward) -> None:
        self._samples.clear()
        self._judged.clear()
        if event.value is not None and math.isfinite(event.value):
            self._training.add(event.value)
            if len(self._trained) < 65536:
                self._trained.append(event.value)

    def _read(self, event: LogLine) -> None:
        if self._printed and self._printed[-1].step != event.step:
            self._printed.clear()
        if len(self._printed) < 16:
            self._printed.append(event)
        for plateau in self._plateaus.values():  # printed after the scheduler was called
            if plateau.steps and plateau.steps[-1] == event.step:
                recognise(plateau, event)

    def _fed(self, event: SchedulerStep, plateau: Plateau) -> None:
        metric = event.metric
        if metric is None or not math.isfinite(metric) or len(plateau.metrics) > 4096:
            return
        plateau.metrics.append(metric)
        plateau.steps.append(event.step)
        if event.at is not None:
            plateau.called.add(event.at)
        for line in self._printed:  # printed before
            if line.step == event.step:
                recognise(plateau, line)
        if any(same(metric, value) for value in means(self._judged, self._trained)):
            plateau.losses += 1
        ways = shares(metric, self._samples)
        plateau.counts = ways if plateau.counts is None else plateau.counts & ways
        self._trained.clear()
        if event.after < event.before:
            plateau.cut, plateau.cut_at = (event.before, event.after), event.at

    def _judge(self, event: Event) -> Findings:
        for key, plateau in self._plateaus.items():
            if self.said(key) or plateau.cut is None or len(plateau.metrics) < THRICE:
                continue
            why = self._mistaken(plateau)
            if not why:
                continue
            self.once(key)
            before, after = plateau.cut
            other = "max" if plateau.mode == "min" else "min"
            yield self.finding(
                event,
                f'ReduceLROnPlateau(mode="{plateau.mode}") is fed {why} ({plateau.metrics[0]:.4g} at first, '
                f"{plateau.metrics[-1]:.4g} now) and has cut the rate from {before:.3g} to {after:.3g}",
                cause=f'With mode="{plateau.mode}" every improvement of it counts as a bad epoch.',
                remedy=f'Build the scheduler with mode="{other}".',
                at=plateau.cut_at,
                metrics=plateau.metrics[-8:],
                mode=plateau.mode,
            )

    def _mistaken(self, plateau: Plateau) -> str:
        metrics = plateau.metrics
        rose = metrics[-1] - metrics[0]
        name, way = known_as(plateau)
        fed = f"what is printed as `{name}`"
        if not way:
            name, way = self._handed_over_as(plateau)
            way = (
                way if rose * way > 0 or plateau.mode == "max" else 0
            )  # by its name alone, it must have got better
            fed = f"`{name}`"
        scale = 1.0 if max(metrics) <= 1 else 100.0
        learning = self._training.count >= 8 and self._training.gain() > 0.02
        if plateau.mode == "min" and way > 0:
            return fed
        if plateau.mode == "min" and way == 0 and plateau.counts and len(metrics) > THRICE:
            if rose >= 0.1 * scale and learning:
                return "a share of right answers, which rises while the training loss falls"
        if plateau.mode == "max" and rose < 0 and way < 0:
            return fed
        if plateau.mode == "max" and rose < 0 and way == 0:
            return "the loss itself" if plateau.losses >= max(THRICE, 0.8 * len(metrics)) else ""
        return ""

    def _handed_over_as(self, plateau: Plateau) -> tuple[str, int]:
        """The name that the metric has in the code, where every call of its scheduler has one that says the same."""
        names: list[tuple[str, int]] = []
        for at in plateau.called:
            calls = [
                one for one in self._written if one.file == at.file and one.line <= at.line <= one.last_line
            ]
            said = [(name, direction(name)) for one in calls for name in one.names if direction(name)]
            if not said or len({way for _name, way in said}) != 1:
                return "", 0
            names.append(said[0])
        return names[0] if names and len({way for _name, way in names}) == 1 else ("", 0)


def recognise(plateau: Plateau, line: LogLine) -> None:
    """Under which names the newest metric was printed."""
    metric, index = plateau.metrics[-1], len(plateau.metrics) - 1
    for label, text, value in line.values:
        if direction(label) and printed_as(metric, text, value):
            plateau.labels.setdefault(label, set()).add(index)


def printed_as(metric: float, text: str, value: float) -> bool:
    """Whether this text is the metric, rounded, as it is or in percent."""
    mantissa, _, exponent = text.lower().lstrip("+-").partition("e")
    decimals = len(mantissa.partition(".")[2])
    unit = 10.0 ** (-decimals + int(exponent or 0))
    return any(abs(metric * scale - value) <= 0.51 * unit for scale in (1.0, 100.0))


def known_as(plateau: Plateau) -> tuple[str, int]:
    """The name nearly every metric was printed under, and whether that should rise (1) or fall (-1)."""
    least = max(THRICE, 0.8 * len(plateau.metrics))
    often = {label: len(which) for label, which in plateau.labels.items() if len(which) >= least}
    directions = {direction(label) for label in often}
    if len(directions) != 1:
        return "", 0
    return max(often, key=lambda label: often[label]), directions.pop()


def same(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-4 * max(abs(a), abs(b), 1e-12)


def means(judged: list[float], trained: list[float]) -> Iterator[float]:
    for values in (judged, trained):
        if values:
            yield sum(values) / len(values)
            yield sum(values)
            yield values[-1]


def shares(metric: float, samples: list[int]) -> set[int]:
    """For which of the last forwards the metric is a share k/n of their samples (or a percentage)."""
    found = set()
    total = 0
    for count, size in enumerate(reversed(samples[-256:]), start=1):
        total += size
        for scale in (1.0, 100.0):
            k = metric / scale * total
            if total >= 20 and abs(k - round(k)) <= 1e-3 and 0 <= round(k) <= total and metric:
                found.add(count)
    return found
