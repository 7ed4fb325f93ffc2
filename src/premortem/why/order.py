"""What a trial is asked, and what it answers. Plain values only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from premortem.changes import RunDescription
from premortem.metric_words import COUNTERS, RECORDS, words
from premortem.terminal.printed_lines import parse

_SERIES = frozenset({"losses", "fits", "norms", "targets", "outputs", "apart"})
MOST_LINES = 4000  # printed lines that are read
OUR_PROBLEM = "premortem could not try it"
TAIL = 12  # ... and shown where a trial failed


@dataclass(frozen=True, kw_only=True)
class Order:
    change: str = ""  # or several, as in `sets`
    seed: int = 0
    watched: bool = False  # premortem itself watches: only the first run
    backwards: int = 0  # after so many backward passes it is over; 0: see `seconds`
    seconds: float = 0.0  # of the processor's time, since the first backward pass
    hopeless: Sequence[Sequence[float]] = ()  # [backward passes, loss]: losses above it end the trial there
    run: Mapping[str, Any] = field(default_factory=dict)  # facts of the run as it is, for the change
    rows: bool = False  # compare the samples of training and evaluation
    files: Mapping[str, str] = field(default_factory=dict)  # sources that are different, by path
    waits: Sequence[
        str
    ] = ()  # these changes will be ordered later, one by one: it waits before the first can act
    folder: str = ""  # for a watched run's journal and findings, below the shared one

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Order:
        return cls(**record)


@dataclass
class Result:
    """What was measured in one trial."""

    losses: dict[str, list[float]] = field(default_factory=dict)  # by the line that calls backward()
    fits: dict[str, list[float]] = field(default_factory=dict)  # "train", "eval": how well targets are met
    printed: dict[str, list[float]] = field(default_factory=dict)
    apart: list[float] = field(default_factory=list)  # how far generated samples are from real ones
    targets: list[float] = field(default_factory=list)  # the size of those that are numbers
    norms: list[float] = field(default_factory=list)  # of all gradients, before each step
    constant: float = 0.0  # the share of losses whose predictions are the same for all samples
    same_rows: float = 0.0  # the share of evaluated samples that are trained on
    outputs: list[float] = field(default_factory=list)  # of models, in calls without gradients
    backwards: int = 0
    steps: int = 0
    cut: bool = False  # at the limit, and not by itself
    hopeless: bool = False
    touched: int = 0  # how often the change did something
    enough: int = 0  # backward passes after which an error is the script's own, as it has it without any change; 0: never
    ended: str = ""  # empty: its process died
    late: bool = False
    seconds: float = 0.0
    step_seconds: float = 0.0
    start_seconds: float = 0.0  # before the first backward pass
    memory: int = 0  # bytes at most, of the process
    gpu: Sequence[int] = ()  # bytes at most of the GPU that it uses, and those that were free in the end
    facts: dict[str, Any] = field(default_factory=dict)
    where: dict[str, list[Any]] = field(default_factory=dict)  # fact -> [file, line]
    files: list[str] = field(default_factory=list)  # the user's own that were loaded
    findings: list[dict[str, Any]] = field(default_factory=list)
    tail: str = ""

    @property
    def moves(self) -> int:
        """How often the weights were changed: several backward passes may make one step."""
        return min(self.steps, self.backwards) if self.steps else self.backwards

    @property
    def failed(self) -> bool:
        """It ended with an error, and not because it was long enough."""
        if self.late or not self.ended:
            return True
        return not 0 < self.enough <= self.backwards and self.ended not in {"finished", "exited", "enough"}


def plain(run: RunDescription) -> dict[str, Any]:
    """The facts of a run that are not as usual."""
    usual = RunDescription()
    return {
        name: value
        for name, value in vars(run).items()
        if value != getattr(usual, name) and isinstance(value, (bool, int, float, str, tuple))
    }


def printed(text: str) -> dict[str, list[float]]:
    """The numbers of a log by their names, in the order in which they were printed."""
    found: dict[str, list[float]] = {}
    for line in text.splitlines()[-MOST_LINES:]:
        parsed = parse(line)
        for label, _text, value in parsed.values if parsed is not None else ():
            names = words(label)
            if names and not names & (COUNTERS | RECORDS):
                found.setdefault(label, []).append(value)
    return found


def heard(lines: Iterable[Mapping[str, Any]]) -> Result:
    result = Result()
    for line in lines:
        for name, value in line.items():
            if hasattr(result, name):
                setattr(result, name, _numbers(value) if name in _SERIES else value)
    return result


def result_of(lines: Sequence[Mapping[str, Any]], text: str, *, late: bool, seconds: float) -> Result:
    """Of a trial that has ended: what it sent, and what it printed."""
    result = heard(lines)
    problem = _last(lines, "problem") or _last(lines, "failed")
    result.ended = f"{OUR_PROBLEM} ({problem})" if problem else result.ended
    result.printed, result.tail = printed(text), "\n".join(text.splitlines()[-TAIL:])
    result.late, result.seconds = late, seconds
    return result


def _last(lines: Sequence[Mapping[str, Any]], name: str) -> Any:
    return next((line[name] for line in reversed(lines) if name in line), None)


def _numbers(value: Any) -> Any:
    """A number that is not finite arrives as a word."""
    if isinstance(value, dict):
        return {name: _numbers(each) for name, each in value.items()}
    return [float(each) for each in value]
