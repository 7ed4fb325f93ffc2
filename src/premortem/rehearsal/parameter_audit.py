"""The chain of custody of each parameter group, gathered from the events of the watched steps."""

from premortem.events import Custody, EvaluationEnded, Event, Link, ModelSeen, OptimizerBuilt, WeightsSeen
from premortem.rehearsal.observations import Chain


class Chains:
    def __init__(self) -> None:
        self._built: dict[int, OptimizerBuilt] = {}
        self._links: dict[int, Link] = {}
        self._reached: set[int] = set()
        self._graded: set[int] = set()
        self._moved: set[int] = set()
        self._evaluated: set[int] = set()  # models
        self._copies: dict[int, int] = {}

    def heard(self, event: Event) -> None:
        if isinstance(event, OptimizerBuilt) and not event.error:
            self._built[event.optimizer] = event
        elif isinstance(event, Custody):
            for link in event.links:
                self._links[link.key] = link
                self._reached |= {link.key} if link.reached else set()
                self._graded |= {link.key} if link.graded else set()
                self._moved |= {link.key} if link.moved else set()
        elif isinstance(event, ModelSeen) and event.copy_of is not None:
            self._copies[event.model] = event.copy_of
        elif isinstance(event, (WeightsSeen, EvaluationEnded)):
            self._evaluated |= {event.model, self._copies.get(event.model, event.model)}

    def chains(self) -> list[Chain]:
        found = []
        for built in self._built.values():
            for number, group in enumerate(built.groups):
                keys = [key for key in group.parameters if key in self._links]
                if keys:
                    named = f"{built.kind}, group {number + 1}" if len(built.groups) > 1 else built.kind
                    found.append(self._chain(named, keys))
        loose = [key for key, link in self._links.items() if not link.owners and link.trainable]
        if loose:
            found.append(self._chain("no optimizer", loose))
        return found

    def _chain(self, name: str, keys: list[int]) -> Chain:
        links = [self._links[key] for key in keys]
        return Chain(
            group=name,
            parameters=len(keys),
            reached=len(self._reached.intersection(keys)),
            graded=len(self._graded.intersection(keys)),
            owned=len([link for link in links if link.owners]),
            moved=len(self._moved.intersection(keys)),
            evaluated=len([link for link in links if link.model in self._evaluated]),
        )
