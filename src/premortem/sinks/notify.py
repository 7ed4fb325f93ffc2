"""What the notifiers have in common: which news are worth a message, and its words."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from premortem.findings import Finding, Severity
from premortem.sinks.base import Outcome, Sink, Undelivered
from premortem.sinks.words import lines

__all__ = ["Message", "Notifier", "Undelivered"]

MOST = 20  # messages of one run: a person stops reading long before


@dataclass(frozen=True)
class Message:
    subject: str
    lines: list[str]
    finding: Finding | None = None


class Notifier(Sink):
    """One message for each error and warning, and one when the run is over."""

    def __init__(self) -> None:
        self._sent = 0

    def finding(self, finding: Finding) -> None:
        if finding.severity is Severity.INFO or self._sent >= MOST:
            return
        self._sent += 1
        head, *rest = lines(finding)
        if self._sent == MOST:
            rest.append(
                "This is the last message about a single finding; the journal of the run has all of them."
            )
        self.send(Message(self._about(head), rest, finding))

    def ended(self, outcome: Outcome) -> None:
        text = f"{outcome.reason} after {outcome.steps} steps: {outcome.verdict}"
        codes = [f"{f.severity.value} {f.code} {f.name}" for f in outcome.findings[:MOST]]
        self.send(Message(self._about(text), codes))

    @abstractmethod
    def send(self, message: Message) -> None: ...

    def _about(self, text: str) -> str:
        return f"{self.script}: {text}" if self.script else text
