from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from premortem.cards import Card
from premortem.detectors.base import THRICE, Detector
from premortem.detectors.shared.adversarial import Players
from premortem.events import Backward, Event, OptimizerStep, Site, ZeroGrad
from premortem.findings import Finding, Severity


class DiscriminatorLossInGenerator(Detector):
    """The generator steps on the discriminator's gradient as well as on its own.

    ## Why it matters
    The discriminator's loss asks for samples that are easy to tell apart, the generator's for the opposite. Added
    up they cancel, and the generator hardly moves.

    ## Usual causes
    - `D(fake)` without `.detach()` in the discriminator's step, and no `zero_grad()` for the generator before its
      own backward pass

    ## What to do
    Use `D(fake.detach())` in the discriminator's step, and clear the generator's gradients before its own.

    ## When it stays silent
    When the generator's gradients are cleared between the two backward passes.
    """

    card = Card(
        code="PM142",
        name="discriminator-loss-in-generator",
        family="gan",
        severity=Severity.ERROR,
        explains=("gradients-never-cleared", "accumulation-not-divided", "exploding-gradients", "wrong-sign"),
    )
    uses = (Players,)
    listens = (Backward, ZeroGrad, OptimizerStep)

    def __init__(self) -> None:
        # optimizer -> backward passes since its gradients were cleared: where, and who stepped on it
        self._sums: dict[int, list[tuple[Site | None, set[int]]]] = {}
        self._times: Counter[int] = Counter()

    def observe(self, event: Event) -> Iterable[Finding]:
        if isinstance(event, Backward):
            for optimizer in event.optimizers:
                passes = self._sums.setdefault(optimizer, [])
                if len(passes) < 16:
                    passes.append((event.at, set()))
        elif isinstance(event, ZeroGrad):
            for optimizer in event.cleared:
                self._sums.pop(optimizer, None)
        elif isinstance(event, OptimizerStep):
            yield from self._stepped(event)

    def _stepped(self, event: OptimizerStep) -> Iterable[Finding]:
        mine = self._sums.pop(event.optimizer, [])
        for optimizer, passes in self._sums.items():
            if optimizer != event.optimizer:
                for _, stepped in passes:
                    stepped.add(event.optimizer)
        mine = mine[-event.pending :] if event.pending else []
        for generator, discriminator in self.fact(Players).pairs():
            if not self.fact(Players).holds(event.optimizer, generator) or self.said(event.optimizer):
                continue
            foreign = [
                at
                for at, stepped in mine
                if any(self.fact(Players).holds(key, discriminator) for key in stepped)
            ]
            own = [at for at, stepped in mine if not stepped]
            if not foreign or not own:
                continue
            self._times[event.optimizer] += 1
            if self._times[event.optimizer] == THRICE:
                self.once(event.optimizer)
                name = self.fact(Players).names.get(generator, "the generator")
                critic = self.fact(Players).names.get(discriminator, "the discriminator")
                yield self.finding(
                    event,
                    f"`{name}` steps on the sum of its own gradient and that of `{critic}`'s loss",
                    cause=f"`{critic}`'s backward pass ran through samples that were not detached, and `{name}`'s "
                    "gradients were not cleared before its own",
                    remedy=f"use `.detach()` on the samples in `{critic}`'s step, and clear `{name}`'s gradients first",
                    at=foreign[-1],
                    module=name,
                )
