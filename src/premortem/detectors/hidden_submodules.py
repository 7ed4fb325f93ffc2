from __future__ import annotations

from collections.abc import Iterable

from premortem.cards import Card
from premortem.detectors.base import TWICE, Detector
from premortem.detectors.optimizer_holds_other_parameters import is_orphan
from premortem.detectors.shared.wording import count
from premortem.events import Custody, Event, Hidden, Link, ModelSeen
from premortem.findings import Finding, Severity


class HiddenSubmodules(Detector):
    """Layers sit in a plain list or dict of a module, where `parameters()` does not find them.

    ## Why it matters
    They run, they get gradients, and no optimizer ever moves them: that part of the model stays as it was
    initialised. They are not saved either, and do not follow `.to(device)`.

    ## Usual causes
    - `self.blocks = [nn.Linear(...) for _ in range(n)]` instead of `nn.ModuleList`
    - `self.heads = {"a": nn.Linear(...)}` instead of `nn.ModuleDict`
    - `self.scales = [nn.Parameter(...)]` instead of `nn.ParameterList`

    ## What to do
    Use `nn.ModuleList`, `nn.ModuleDict` or `nn.ParameterList`, and build the optimizer afterwards.

    ## When it stays silent
    When an optimizer was given these parameters explicitly, when they are frozen, and when they were loaded or
    trained before: a teacher is often hidden in a list on purpose.
    """

    card = Card(
        code="PM102",
        name="hidden-submodules",
        family="optimizer-ownership",
        severity=Severity.ERROR,
        explains=(
            "parameter-without-optimizer",
            "metric-frozen",
            "updates-too-small",
            "checkpoint-did-not-match",
            "gradients-never-cleared",
            "exploding-gradients",
        ),
    )
    listens = (ModelSeen, Custody)

    def __init__(self) -> None:
        self._places: dict[str, Hidden] = {}

    def observe(self, event: Event) -> Iterable[Finding]:
        if isinstance(event, ModelSeen):
            self._places.update({hidden.attribute: hidden for hidden in event.hidden})
        elif isinstance(event, Custody):
            for attribute in sorted({link.hidden for link in event.links if is_forgotten(link)}):
                if self.times(attribute) == TWICE:
                    yield self._found(event, attribute)

    def _found(self, event: Custody, attribute: str) -> Finding:
        forgotten = [link for link in event.links if link.hidden == attribute and is_forgotten(link)]
        place = self._places.get(attribute)
        container = place.container if place else "list"
        what = (
            count(place.modules, "module") if place and place.modules else count(len(forgotten), "parameter")
        )
        right = {"dict": "nn.ModuleDict"}.get(container, "nn.ModuleList")
        if place and not place.modules:
            right = "nn.ParameterList"
        return self.finding(
            event,
            f"`{attribute}` is a plain {container} with {what}: {count(len(forgotten), 'parameter')} that get "
            "gradients are in no optimizer",
            cause=f"`parameters()` does not look into a plain {container}, so the optimizer built here never got them",
            remedy=f"make `{attribute}` an `{right}`",
            module=attribute,
            parameters=len(forgotten),
            container=container,
        )


def is_forgotten(link: Link) -> bool:
    return bool(link.hidden and is_orphan(link) and not link.loaded and not link.trained and not link.twin)
