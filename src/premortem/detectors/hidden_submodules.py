from collections import Counter

from premortem.amounts import count
from premortem.detectors.base import STILL, TWICE, Card, Detector, Finding, Findings, Severity
from premortem.detectors.optimizer_holds_other_parameters import is_orphan
from premortem.events import Custody, Event, Hidden, Link, ModelSeen


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

    card = Card("PM102", "hidden-submodules", "optimizer-ownership", Severity.ERROR).explaining(
        *STILL,
        "parameter-without-optimizer",
        "checkpoint-did-not-match",
        "gradients-never-cleared",
        "exploding-gradients",
    )
    listens = (ModelSeen, Custody)

    def __init__(self) -> None:
        self._places: dict[str, Hidden] = {}

    def observe(self, event: Event) -> Findings:
        if isinstance(event, ModelSeen):
            self._places.update({hidden.attribute: hidden for hidden in event.hidden})
        elif isinstance(event, Custody):
            forgotten = Counter(link.hidden for link in event.links if is_forgotten(link))
            for attribute in sorted(forgotten):
                if self.times(attribute) == TWICE:
                    yield self._found(event, attribute, forgotten[attribute])

    def _found(self, event: Custody, attribute: str, forgotten: int) -> Finding:
        place = self._places.get(attribute)
        container, modules = (place.container, place.modules) if place else ("list", 0)
        what = count(modules, "module") if modules else count(forgotten, "parameter")
        right = "nn.ModuleDict" if container == "dict" else "nn.ModuleList"
        right = "nn.ParameterList" if place and not modules else right
        return self.finding(
            event,
            f"`{attribute}` is a plain {container} with {what}: {count(forgotten, 'parameter')} that get "
            "gradients are in no optimizer",
            cause=f"`parameters()` does not look into a plain {container}, so the optimizer built here never got them",
            remedy=f"make `{attribute}` an `{right}`",
            module=attribute,
            parameters=forgotten,
            container=container,
        )


def is_forgotten(link: Link) -> bool:
    return bool(link.hidden and is_orphan(link) and not link.loaded and not link.trained and not link.twin)
