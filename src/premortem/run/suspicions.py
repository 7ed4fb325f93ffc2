"""What lint suspects of the script's own files, against what the run does."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from premortem import detectors, events
from premortem.convictions.court import Court
from premortem.run.reading import Reading

if TYPE_CHECKING:
    from premortem.events import Event, SourceRead
    from premortem.findings import Finding
    from premortem.probes import Attachment

AHEAD = 2.0  # seconds: a script and a few modules are read in less, and a run that has an error can wait that long


class Suspicions:
    """The files are read beside the run, from its first step on; the court then judges by the events."""

    def __init__(self, fault: Callable[[str, BaseException], None]) -> None:
        self._fault = fault
        self._reading: Reading | None = Reading(fault)
        self._waited = False
        self._court = Court({cls.card.name: cls.card for cls in detectors.ALL})
        self.listens = frozenset(map(events.sent, Court.listens))

    @property
    def unread(self) -> bool:
        return self._reading is not None

    def ahead(self, may_begin: bool) -> SourceRead | None:
        """What was read, for the first finding, which shows it: worth a short wait, once. `read` still hands it over later."""
        reading = self._reading
        if reading is None or self._waited or not (reading.begun or may_begin):
            return None
        self._waited = True
        reading.begin()
        return reading.look(AHEAD)

    def observe(self, event: Event) -> Iterable[Finding]:
        try:
            found = list(self._court.observe(event))
            over = self._court.over
        except Exception as error:  # noqa: BLE001 - a bug of ours must not reach the run
            self._fault("court", error)
            found, over = [], True
        if over:
            self.listens = frozenset()
        return found

    def read(self, attachment: Attachment | None, step: int, patience: float = 0.0) -> SourceRead | None:
        """What was read, once; None before that, and afterwards."""
        if self._reading is None:
            return None
        self._reading.begin()
        read = self._reading.take(patience)
        if read is None:
            return None
        self._reading = None
        if attachment is not None:
            attachment.dropped.look_for(self._court.dropped(read))
        return replace(read, step=step)
