"""The detectors of a run and the facts they share: each event goes to those that listen to it."""

from collections.abc import Callable
from collections.abc import Set as AbstractSet

from premortem import detectors, events
from premortem.detectors.shared.facts import Fact, Facts
from premortem.events import Event
from premortem.findings import Finding


class Detection:
    """All detectors, fresh for one run. A bug in one of them ends that one, and is passed to `fault`."""

    def __init__(self, found: Callable[[Finding], None], fault: Callable[[str, BaseException], None]) -> None:
        self._found = found
        self._fault = fault
        self._broken: dict[str, None] = {}  # detectors that have failed
        self._detectors = [cls() for cls in detectors.ALL]
        self._listening: dict[type[Event], list[detectors.Detector]] = {}
        facts = Facts()
        self._facts: dict[type[Event], list[Fact]] = {}
        for fact in [
            facts[kind] for kind in dict.fromkeys(kind for cls in detectors.ALL for kind in cls.uses)
        ]:
            for kind in map(events.sent, fact.LISTENS):
                self._facts.setdefault(kind, []).append(fact)
        for detector in self._detectors:
            detector.share(facts)
            for kind in map(events.sent, detector.listens):
                self._listening.setdefault(kind, []).append(detector)

    def dispatch(self, event: Event) -> None:
        for fact in self._facts.get(type(event), ()):
            try:
                fact.observe(event)
            except Exception as error:  # noqa: BLE001 - whoever asks for it would be wrong
                self._lose(fact, error)
        for detector in self._listening.get(type(event), ()):
            try:  # around each one: the next detector must still hear the event
                for finding in detector.observe(event):
                    self._found(finding)
                if detector.over:
                    self._retire(detector)
            except Exception as error:  # noqa: BLE001 - a detector's bug must not reach the run
                self._retire(detector)
                self._broken[detector.card.name] = None
                self._fault(detector.card.name, error)

    def silence(self, names: AbstractSet[str]) -> None:
        """These diagnoses cannot be made any more: what they have reported so far stands."""
        for detector in self._detectors:
            if detector.card.name in names:
                self._retire(detector)

    def end(self) -> bool:
        """No detector hears anything from now on; False if none did before."""
        listened, self._listening = bool(self._listening), {}
        return listened

    def _retire(self, broken: detectors.Detector) -> None:
        """A detector that is done, or that failed and so has lost its thread: it hears nothing more."""
        self._listening = {
            kind: [detector for detector in listening if detector is not broken]
            for kind, listening in self._listening.items()
        }

    def _lose(self, broken: Fact, error: Exception) -> None:
        """A fact that missed an event is wrong, so the detectors that ask for it are too."""
        self._facts = {
            kind: [fact for fact in facts if fact is not broken] for kind, facts in self._facts.items()
        }
        for detector in self._detectors:
            if type(broken) in detector.uses:
                self._retire(detector)
        self._fault(type(broken).__name__, error)

    def gaps(self) -> list[str]:
        """Diagnoses that could not be made."""
        broken = list(self._broken)
        gaps = []
        if len(broken) == len(self._detectors):
            gaps.append("anything: all diagnoses failed, for faults of premortem's own")
        elif broken:
            more = f" and {len(broken) - 3} more" if len(broken) > 3 else ""
            gaps.append(
                f"{', '.join(broken[:3])}{more}: the diagnosis failed, for a fault of premortem's own"
            )
        return gaps
