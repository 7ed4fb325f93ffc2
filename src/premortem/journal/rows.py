"""What becomes of an entry on its way to the disk: rows of tables, in the writer's time.

steps, findings, faults, meta     one row each
OptimizerBuilt, CheckpointSaved   one row in `events`, as long as there are not too many of the kind
LogLine                           one row in `series` for each number
LayerStats, Custody               summed up (audits.py)
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from premortem import redaction
from premortem.events import Custody, Event, LayerStats, LogLine, ModelSeen
from premortem.files.plain import dumps, exact, plain
from premortem.journal import audits, schema
from premortem.journal.sparse import Sparse

EVENTS = 256  # of a kind that are kept one by one
PRINTED = 1000  # of a printed number, likewise
AUDITS = 64
SOURCE = 1 << 19  # characters of a file; of a longer one nothing is kept
SOURCES = 64


class Entry(NamedTuple):
    """What is on its way to the disk. `what` becomes a row in the writer's time, not in the run's."""

    table: str
    time: float
    what: Any
    done: Any = None


Row = tuple[str, tuple[Any, ...]]  # a statement and its values

INSERT = {
    "meta": "INSERT OR REPLACE INTO meta VALUES (?, ?)",
    "steps": "INSERT INTO steps VALUES (?, ?, ?, ?, ?, ?)",
    "findings": "INSERT INTO findings VALUES (NULL, ?, ?, ?, ?)",
    "events": "INSERT INTO events VALUES (NULL, ?, ?, ?, ?)",
    "faults": "INSERT INTO faults VALUES (?, ?, ?)",
    "series": "INSERT INTO series VALUES (?, ?, ?, ?)",
    "layers": "INSERT INTO layers VALUES (?, ?, ?)",
    "latest": "INSERT OR REPLACE INTO latest VALUES (?, ?, ?)",
    "sources": "INSERT OR IGNORE INTO sources VALUES (?, ?)",
}


def meta(key: str, value: Any) -> Row:
    return INSERT["meta"], (key, dumps(value))


class Rows:
    """Remembers how much of what was written, so that a long run's file stays small."""

    def __init__(self) -> None:
        self.reached = 0  # the newest step that was heard of
        self._events = Sparse(EVENTS)
        self._numbers = Sparse(PRINTED)
        self._audits = Sparse(AUDITS)
        self._forward: list[LayerStats] = []  # of one forward pass
        self._sources: set[str] = set()

    def of(self, entry: Entry) -> Iterator[Row]:
        what = entry.what
        match entry.table:
            case "meta":
                yield meta(*what)
            case "steps":
                self.reached = max(self.reached, what.step)
                numbers = (what.loss, what.grad_norm, what.lr)
                yield (
                    INSERT["steps"],
                    (what.step, what.optimizer, entry.time, *map(schema.to_column, numbers)),
                )
            case "findings":
                yield (
                    INSERT["findings"],
                    (entry.time, what.step, plain(what.code), dumps(what.to_json())),
                )
                if what.where.file:
                    yield from self.source(what.where.file)
            case "sources":
                yield from self.source(what)
            case "events":
                yield from self._event(entry.time, what)
            case _:
                unit, error = what
                yield INSERT["faults"], (entry.time, plain(unit), plain(redaction.redacted(error)))

    def gauged(self, time: float, numbers: Mapping[str, float]) -> Iterator[Row]:
        for name, value in numbers.items():
            if self._numbers.wants(("gauge", name), value):
                yield self._number(self.reached, time, name, value)

    def latest(self, name: str, step: int, record: Any) -> Row:
        return INSERT["latest"], (name, step, dumps(record))

    def source(self, path: str) -> Iterator[Row]:
        """The text of a file, as it was when it was first of interest."""
        if path in self._sources or len(self._sources) >= SOURCES:
            return
        self._sources.add(path)
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, ValueError):  # no file (`<stdin>`), or no text
            return
        if len(text) <= SOURCE:
            yield INSERT["sources"], (plain(path), plain(redaction.source(text, path)))

    def _event(self, time: float, event: Event) -> Iterator[Row]:
        match event:
            case LogLine():
                for label, _text, value in event.values:
                    if label and self._numbers.wants(label, value):
                        yield self._number(event.step, time, label, value)
            case LayerStats():
                yield from self._layer(event)
            case Custody():
                if self._audits.wants(("custody", event.optimizer)):
                    yield from self._layers(audits.of_custody(event))
                yield self.latest(f"custody {event.optimizer}", event.step, audits.custody(event))
            case ModelSeen() if self._events.wants("ModelSeen"):
                counts = audits.parameters(event.parameters)
                yield self._record(time, event, {**event.to_json(), "parameters": counts})
            case _ if self._events.wants(type(event).__name__):
                yield self._record(time, event, event.to_json())

    def _layer(self, event: LayerStats) -> Iterator[Row]:
        """The layers of a forward pass come in a row; the last with weights is marked, but not the last of all."""
        before = self._forward
        if before and (before[0].step, before[0].model) != (event.step, event.model):
            self._forward = []
            dead = audits.of_layers(before)
            if dead is not None and self._audits.wants(("dead", before[0].model)):
                yield from self._layers([dead])
        self._forward.append(event)

    def _layers(self, found: Iterable[audits.Layers]) -> Iterator[Row]:
        for each in found:
            yield INSERT["layers"], (each.step, each.what, exact(each.values))

    def _number(self, step: int, time: float, name: str, value: float) -> Row:
        return INSERT["series"], (step, time, plain(name), schema.to_column(value))

    def _record(self, time: float, event: Event, record: Mapping[str, Any]) -> Row:
        return INSERT["events"], (time, event.step, type(event).__name__, dumps(record))
