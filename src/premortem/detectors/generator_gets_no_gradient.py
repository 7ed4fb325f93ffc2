from __future__ import annotations

from collections.abc import Iterable

from premortem.cards import Card
from premortem.detectors.base import THRICE, Detector
from premortem.detectors.shared.adversarial import Players
from premortem.events import Backward, Detached, Event, Forward, OptimizerStep, Site
from premortem.findings import Finding, Severity


class GeneratorGetsNoGradient(Detector):
    """The generator's optimizer steps, and the generator never gets a gradient.

    ## Why it matters
    The discriminator learns to tell a fixed random generator from the data, quickly and perfectly; the
    generator never changes.

    ## Usual causes
    - the fake batch is detached when it is made, or the detached one is used again for the generator's loss
    - the generator runs under `torch.no_grad()` in its own step
    - the generator's loss is computed from numbers (`.item()`, `.data`)

    ## What to do
    Detach the fake batch in the discriminator's step only: `D(fake.detach())` there, `D(fake)` for the
    generator.
    """

    card = Card(
        code="PM141",
        name="generator-gets-no-gradient",
        family="gan",
        severity=Severity.ERROR,
        explains=(
            "detached-from-loss",
            "optimizer-holds-other-parameters",
            "step-without-new-gradients",
            "metric-frozen",
            "evaluated-copy-never-changes",
            "updates-too-small",
            "vanishing-gradients",
            "gradients-thrown-away",
        ),
    )
    uses = (Players,)
    listens = (Forward, Backward, Detached, OptimizerStep)

    def __init__(self) -> None:
        self._backwards = 0
        self._cuts: dict[frozenset[int], Site | None] = {}
        self._called: dict[int, tuple[bool, Site | None]] = {}  # model -> gradients on, where

    def observe(self, event: Event) -> Iterable[Finding]:
        if isinstance(event, Backward):
            self._backwards += not event.error
        elif isinstance(event, Detached):
            if event.op in {"detach", "data", "numpy", "tensor"}:
                self._cuts[frozenset(event.parameters)] = event.at
        elif isinstance(event, Forward):
            self._called[event.model] = (event.grad, event.at)
        elif isinstance(event, OptimizerStep):
            yield from self._stepped(event)

    def _stepped(self, event: OptimizerStep) -> Iterable[Finding]:
        starved = self._backwards > 0 and event.backwards == 0 and not event.touched and not event.closure
        self._backwards = 0
        steps = self.in_a_row(event.optimizer, starved)
        if steps < THRICE:
            return
        for generator, discriminator in self.fact(Players).pairs():
            if not self.fact(Players).holds(event.optimizer, generator) or not self.once(generator):
                continue
            mine = self.fact(Players).parameters(generator)
            cut = next((at for keys, at in reversed(self._cuts.items()) if keys & mine), None)
            grad, called = self._called.get(generator, (True, None))
            name = self.fact(Players).names.get(generator, "the generator")
            critic = self.fact(Players).names.get(discriminator, "the discriminator")
            yield self.finding(
                event,
                f"`{name}` gets no gradient: its optimizer made {steps} steps on nothing",
                cause=(
                    f"the samples that go into `{critic}` for `{name}`'s own loss are detached from it"
                    if grad
                    else f"`{name}` runs without gradients (`no_grad`)"
                ),
                remedy=f"detach the samples in `{critic}`'s step only, and give `{critic}` the attached ones for `{name}`",
                at=cut if grad else called,
                module=name,
            )
