from premortem.detectors.base import TWICE, Card, Certainty, Detector, Findings, Severity
from premortem.events import Custody, Event, ModelSeen, SaidFrozen


class FrozenOnlyInName(Detector):
    """The model says that a part of it is frozen, and every parameter of that part is trained.

    ## Why it matters
    Layers that should have kept their pretrained weights, or are shared with another model, drift away. Nothing
    fails; the result is worse, or the other model breaks.

    ## Usual causes
    A setting like `frozen_stages=2` that takes effect in a method that is never called (`train()`, `freeze()`), or that is
    undone by a later `requires_grad_(True)`.

    ## What to do
    Call what applies the setting before the optimizer is built, and look at `requires_grad` of the parameters.
    """

    card = Card("PM116", "frozen-only-in-name", "config", Severity.WARNING)
    listens = (ModelSeen, Custody)

    def __init__(self) -> None:
        self._claims: dict[int, tuple[SaidFrozen, ...]] = {}

    def observe(self, event: Event) -> Findings:
        if isinstance(event, ModelSeen):
            self._claims[event.model] = event.frozen
        elif isinstance(event, Custody):
            moved = {link.key: bool(link.moved) for link in event.links}
            for claim in [claim for claims in self._claims.values() for claim in claims]:
                yield from self._compare(event, claim, moved)

    def _compare(self, event: Custody, claim: SaidFrozen, moved: dict[int, bool]) -> Findings:
        seen = [moved[key] for key in claim.parameters if key in moved]
        if not seen or len(seen) < len(claim.parameters):
            return
        if self.always(claim.attribute, all(seen)) == TWICE:
            yield self.finding(
                event,
                f"`{claim.attribute}` is {claim.value}, and all {len(seen)} parameters there are trained",
                cause="The setting was stored, but what applies it was not called before training.",
                remedy="Apply it (`requires_grad_(False)` on that part) before the optimizer is built.",
                certainty=Certainty.MEASURED,
                module=claim.attribute.rpartition(".")[0],
                parameters=len(seen),
            )
