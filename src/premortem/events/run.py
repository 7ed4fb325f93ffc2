"""The run: its beginning and end, what it prints, its seeds."""

from dataclasses import field
from typing import Any, NamedTuple

from premortem.events.base import Event, Site, event


@event
class RunStarted(Event):
    argv: tuple[str, ...] = ()
    torch: str = ""
    device: str = ""


@event
class RunEnded(Event):
    """The script is over. Detectors that need the whole run speak now.

    `reason`: "finished" (exit code 0), "crashed" (exception), "exited" (sys.exit with another
    code), "interrupted" (Ctrl-C, signal) or "stopped" (by premortem). For a crash, `error` is the
    exception's type name, `message` its text, and `at` the last user line of its traceback.
    """

    reason: str = "finished"
    error: str = ""
    message: str = ""

    @property
    def cut_off(self) -> bool:
        """Whether it ended before its own end: what did not happen so far might have happened yet."""
        return self.reason != "finished"


@event
class LogLine(Event):
    """A line the script printed, with the numbers in it.

    `template` is the line with each number replaced by `#`; `values` has one (label, text, value)
    for each number: label is the nearest word before it ("val_loss"), text as printed.
    """

    text: str
    template: str
    values: tuple[tuple[str, str, float], ...]


class Variable(NamedTuple):
    """A variable of the environment that is set, or a setting in a file, and that the script's own code asks for."""

    name: str
    value: str  # a number or a switch
    file: str  # where it is asked for; of a setting, where it stands
    line: int
    of_rate: bool = False  # the script multiplies a learning rate by it


@event
class EnvironmentRead(Event):
    """What steers the script from its environment; emitted after its first step, and at the end when there is more."""

    variables: tuple[Variable, ...]


class FileFacts(NamedTuple):
    """A file that the script has read."""

    path: str
    real: str = ""  # where it ends, when it is a link or lies behind one
    size: int = 0
    written: float = 0.0  # in seconds since 1970
    encoding: str = ""  # of a text: "ASCII", "UTF-8", "UTF-8 with a byte order mark", "UTF-16", "not UTF-8"
    line: int = 0  # the first one that shows it
    returns: bool = False  # every line ends in a carriage return and a line feed
    cut: str = ""  # the end of a last line that was never finished
    rows: int = 0
    kept: Site | None = None  # the line of the script that writes it, for its next run
    sources: tuple[str, ...] = ()  # files that the script makes it from
    folder: str = ""  # where its folder ends, when that lies behind a link


class Switch(NamedTuple):
    """A setting that is a text for "no", and the line of the script that takes it for true."""

    key: str
    text: str
    file: str
    line: int
    used: Site


@event
class FilesRead(Event):
    """What the script has read from the disk; emitted after its first step, and at the end when more was read since."""

    files: tuple[FileFacts, ...]
    switches: tuple[Switch, ...] = ()
    settings: tuple[Variable, ...] = ()  # numbers of configuration files that the script's code names
    encodings: tuple[str, ...] = ()  # that the script's code names, besides UTF-8


@event
class Seeded(Event):
    """A global generator was seeded (torch, numpy or random), or numpy's `default_rng(seed)` made one."""

    seed: int
    library: str = "torch"
    rewound: bool = False  # torch's had drawn from this seed before, exactly as far as at an earlier seeding
    trained: bool = False  # ... and a training step was among those that drew from it since


@event
class Autopsied(Event):
    """A step that failed was run again, by the run itself or by hand: what that proved, as `premortem replay --json` says it."""

    record: dict[str, Any] = field(default_factory=dict)


@event
class Diagnosed(Event):
    """The script was run again with one thing changed at a time: what that showed, as `premortem why --json` says it."""

    record: dict[str, Any] = field(default_factory=dict)


@event
class SumReported(Event):
    """A line printed the mean of what has been summed up since before the outermost loop around it: the source sets it back nowhere."""

    name: str
    size: float  # of the sum now, or how long the list is
    growing: bool  # what it is divided by grows with it
    evaluated: bool  # it is summed without gradients
    labels: tuple[str, ...] = ()  # of the numbers in the line
