"""The kit that detectors are written with: their base class, and the words they share."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator
from typing import Any, ClassVar

from premortem.cards import Card
from premortem.detectors.shared.facts import Fact, Facts, Kind
from premortem.events import Event, Site
from premortem.findings import Certainty, Finding, Severity, Where

__all__ = [
    "DIVERGING",
    "FADING",
    "NOT_FINITE",
    "STILL",
    "THRICE",
    "TOO_LARGE",
    "TWICE",
    "Card",
    "Certainty",
    "Detector",
    "Finding",
    "Findings",
    "Severity",
]

Findings = Iterator[Finding]
# What many causes lead to, as their cards list it: the model learns nothing, its gradients fade away, its steps are too
# large, or they are so large that nothing is finite any more.
STILL = ("metric-frozen", "updates-too-small")
FADING = (*STILL, "vanishing-gradients")
TOO_LARGE = ("exploding-gradients", "updates-too-large")
DIVERGING = (*TOO_LARGE, "non-finite-training", "overflow")
# What shows that numbers are not finite, whatever made them so.
NOT_FINITE = (
    "metric-frozen",
    "metric-not-finite",
    "raw-scores-in-bce",
    "update-refused",
    "statistics-not-finite",
    "weights-not-finite",
    "loss-not-finite",
    "refused-too-often",
)

# How often the same must be seen before it is reported: three times at one line, of one optimizer or in one layer is not
# an accident of one batch.
THRICE = 3
# Twice is enough for what no healthy run does even once: the first time may be a trial of the script.
TWICE = 2


class Detector(ABC):
    """A small state machine over events. Pure: no torch, no clock, no files.

    A detector is built without arguments, lists the events it wants in `listens`, and yields a
    finding from `observe` when it is sure. What it remembers lives in plain instance attributes,
    so `state` and `restore` need no code of its own.
    """

    card: ClassVar[Card]
    listens: ClassVar[tuple[type[Event], ...]]
    uses: ClassVar[tuple[type[Fact], ...]] = ()  # facts it asks for
    over = False  # nothing is left to find: it hears no further events

    def share(self, facts: Facts) -> None:
        """Ask these facts, which the watcher keeps up to date; a detector that runs alone keeps its own."""
        self._facts, self._keeps_facts = facts, False

    def fact(self, kind: type[Kind]) -> Kind:
        return self._facts[kind]  # type: ignore[return-value]  # each is of the class it is kept under

    def hear(self, event: Any) -> Iterable[Finding]:
        """What it says to this event when it runs alone, as in a test. The watcher, which shares the facts, calls `observe`."""
        if self.over:
            return ()
        if not hasattr(self, "_facts"):
            self._facts, self._keeps_facts = Facts(), True
        for kind in self.uses:
            if self._keeps_facts and isinstance(event, kind.LISTENS):
                self.fact(kind).observe(event)
        return self.observe(event) if isinstance(event, self.listens) else ()

    @abstractmethod
    def observe(self, event: Any) -> Iterable[Finding]:
        """What it says to this event, which is one of those that it listens to."""

    def once(self, key: Hashable) -> bool:
        """Whether this is asked for the first time: of one optimizer, one line, one file."""
        asked: set[Hashable] = self.__dict__.setdefault("_once_keys", set())
        if key in asked:
            return False
        asked.add(key)
        return True

    def said(self, key: Hashable) -> bool:
        """Whether `once` was asked with this key."""
        return key in self.__dict__.get("_once_keys", ())

    def times(self, key: Hashable, more: bool = True) -> int:
        """How many times this was asked with this key, this time included: calls of one line, steps of one optimizer."""
        counted: dict[Hashable, int] = self.__dict__.setdefault("_times_keys", {})
        counted[key] = counted.get(key, 0) + more
        return counted[key]

    def in_a_row(self, key: Hashable, again: bool) -> int:
        """Likewise, without a break: from 0 on whenever it is not so `again`."""
        if not again:
            self.__dict__.setdefault("_times_keys", {})[key] = 0
        return self.times(key, again)

    def always(self, key: Hashable, so: bool) -> int:
        """Likewise, and 0 for good once it was not `so`: a line that also does right is not to blame."""
        if not so:
            self.once(("otherwise", key))
        return 0 if self.said(("otherwise", key)) else self.times(key)

    def different(self, key: Hashable, value: Hashable) -> int:
        """How many different values were given with this key: steps, weights."""
        return self.times(("different", key), more=self.once(("value", key, value)))

    def state(self) -> dict[str, Any]:
        return copy.deepcopy(self.__dict__)

    def restore(self, state: dict[str, Any]) -> None:
        self.__dict__.update(copy.deepcopy(state))

    def last_word(self, event: Event, message: str, **more: Any) -> Finding:
        """A finding after which nothing is left to say."""
        self.over = True
        return self.finding(event, message, **more)

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
