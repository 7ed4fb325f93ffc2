"""What every detector is: events in, findings out, nothing else."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any, ClassVar

from premortem.cards import Card
from premortem.events import Event, Site
from premortem.findings import Certainty, Finding, Severity, Where


class Detector:
    """A small state machine over events. Pure: no torch, no clock, no files.

    A detector is built without arguments, lists the events it wants in `listens`, and yields a
    finding from `observe` when it is sure. What it remembers lives in plain instance attributes,
    so `state` and `restore` need no code of its own.
    """

    card: ClassVar[Card]
    listens: ClassVar[tuple[type[Event], ...]]

    def observe(self, event: Any) -> Iterable[Finding]:
        raise TypeError(f"{type(self).__name__} does not observe")

    def state(self) -> dict[str, Any]:
        return copy.deepcopy(self.__dict__)

    def restore(self, state: dict[str, Any]) -> None:
        self.__dict__.update(copy.deepcopy(state))

    def finding(
        self,
        event: Event,
        message: str,
        *,
        cause: str = "",
        remedy: str = "",
        step: int | None = None,
        at: Site | None = None,
        module: str | None = None,
        parameter: str | None = None,
        severity: Severity | None = None,
        certainty: Certainty = Certainty.MEASURED,
        family: str | None = None,
        **evidence: Any,
    ) -> Finding:
        site = at or event.at
        return Finding(
            code=self.card.code,
            name=self.card.name,
            family=family or self.card.family,
            severity=severity or self.card.severity,
            certainty=certainty,
            step=event.step if step is None else step,
            where=Where(site.file if site else None, site.line if site else None, module, parameter),
            message=message,
            cause=cause,
            remedy=remedy,
            evidence={name: value for name, value in evidence.items() if value is not None},
        )
