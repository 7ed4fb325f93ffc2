"""What the script's own files say: read by lint while the run trains, and sent as one event."""

from typing import NamedTuple

from premortem.cards import Card
from premortem.events.base import Event, Site, event
from premortem.findings import Patch


class Suspicion(NamedTuple):
    """A report of a lint rule about a file that the run has imported."""

    card: Card  # of the rule
    file: str
    line: int
    last_line: int
    text: str  # the code that is reported
    message: str
    remedy: str = ""
    patch: Patch | None = None  # the change that its fix makes

    def covers(self, at: Site | None) -> bool:
        """Whether this is the line, or one of the lines, that is reported."""
        return at is not None and at.file == self.file and self.line <= at.line <= self.last_line


class Argument(NamedTuple):
    """A call as it is written: what it is called on, and by which names its first argument came there."""

    file: str
    line: int
    last_line: int
    method: str  # "step"
    owner: str  # "scheduler"
    names: tuple[str, ...]  # "score", then what it was assigned from: "val_acc"


@event
class SourceRead(Event):
    """Sent once: the files of the script that were imported, as lint's reader sees them."""

    files: int
    suspicions: tuple[Suspicion, ...] = ()
    arguments: tuple[Argument, ...] = ()


@event
class ResultDropped(Event):
    """A line that lint reports for throwing a new tensor away was run: `changed` if the new tensor is not as the old one."""

    method: str
    changed: str  # "its shape", "its values", ...; "" when nothing differs


@event
class HabitSeen(Event):
    """A loop on the stack measures, keeps or leaves in a way that its source alone shows (probes/loop_habits.py)."""

    kind: str  # "left at once", "last batch", "batches for samples", "patience", "chosen", "record low", "record high"
    name: str
    other: str = ""
    # "patience": the counter and the record; "chosen": both results and the record; "record ...": the result and the record; sent again
    # at evaluations at which they have changed
    values: tuple[float, ...] = ()
