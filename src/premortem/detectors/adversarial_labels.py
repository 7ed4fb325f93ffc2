from __future__ import annotations

from collections.abc import Iterable

from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.detectors.shared.adversarial import Players
from premortem.events import Backward, Event, Forward, LossCall, OptimizerStep, Site
from premortem.findings import Finding, Severity

ENOUGH = 5  # labels of each role that all agree: two smoothed ones may be equal by chance
JUDGING = frozenset({"binary_cross_entropy", "binary_cross_entropy_with_logits", "mse_loss"})


class AdversarialLabels(Detector):
    """Generator and discriminator are trained towards labels that do not set them against each other.

    ## Why it matters
    The discriminator learns "real" for the data and "fake" for samples; the generator must be pushed towards
    "real". If the generator's target is "fake" it is trained to be found out, and if both kinds of samples have
    the same label the discriminator has nothing to learn.

    ## Usual causes
    - the label tensor of the discriminator's step is used again for the generator
    - ones and zeros mixed up

    ## What to do
    Real 1 and fake 0 for the discriminator, 1 for the generator's samples.

    ## When it stays silent
    When the loss is maximised (its sign is turned round), and for losses without labels.
    """

    card = Card(
        code="PM143",
        name="adversarial-labels",
        family="gan",
        severity=Severity.ERROR,
        explains=("constant-labels", "wrong-sign", "uninformative-labels", "metric-frozen"),
    )
    uses = (Players,)
    listens = (Forward, LossCall, Backward, OptimizerStep)

    def __init__(self) -> None:
        self._calls: list[Forward] = []  # models called with gradients since the last backward pass
        self._targets: list[LossCall] = []
        self._judged: list[tuple[Forward, LossCall]] = []  # since the last step
        self._seen: dict[tuple[int, str], list[float]] = {}  # (discriminator, role) -> last labels

    def observe(self, event: Event) -> Iterable[Finding]:
        if isinstance(event, Forward):
            if event.grad and len(self._calls) < 32:
                self._calls.append(event)
        elif isinstance(event, LossCall):
            if event.grad and len(self._targets) < 32:
                self._targets.append(event)
        elif isinstance(event, Backward):
            self._backward(event)
        elif isinstance(event, OptimizerStep):
            yield from self._stepped(event)

    def _backward(self, event: Backward) -> None:
        calls, self._calls = self._calls, []
        losses, self._targets = self._targets, []
        critics = {critic for _, critic in self.fact(Players).pairs()}
        judged = [call for call in calls if call.model in critics]
        usable = all(loss.fn in JUDGING and loss.target_mean is not None for loss in losses)
        # Matched by order, so only when every verdict has its loss; a turned sign means maximising.
        if usable and len(judged) == len(losses) and (event.value or 0.0) >= 0.0:
            self._judged += zip(judged, losses, strict=True)

    def _stepped(self, event: OptimizerStep) -> Iterable[Finding]:
        judged, self._judged = self._judged, []
        for generator, critic in self.fact(Players).pairs():
            by_critic = self.fact(Players).holds(event.optimizer, critic)
            by_maker = self.fact(Players).holds(event.optimizer, generator)
            if by_critic == by_maker:
                continue
            for call, loss in judged:
                if call.model != critic or loss.target_mean is None:
                    continue
                made = call.source == generator
                role = ("fake" if made else "real") if by_critic else ("maker" if made else "")
                self._seen[critic, role] = [
                    *self._seen.get((critic, role), [])[1 - ENOUGH :],
                    loss.target_mean,
                ]
            at = judged[-1][1].at if judged else None
            yield from self._judge(event, generator, critic, at if by_maker else None)

    def _judge(self, event: Event, generator: int, critic: int, at: Site | None) -> Iterable[Finding]:
        real, fake, maker = (self._seen.get((critic, role), []) for role in ("real", "fake", "maker"))
        if self.over or min(len(real), len(fake)) < ENOUGH:
            return
        name = self.fact(Players).names.get(generator, "the generator")
        judge = self.fact(Players).names.get(critic, "the discriminator")
        if all(abs(r - f) < 1e-6 for r, f in zip(real, fake, strict=True)):
            self.over = True
            yield self.finding(
                event,
                f"`{judge}` is trained towards the same label ({real[-1]:g}) for real samples and for `{name}`'s",
                cause="with equal labels there is nothing that tells the two apart",
                remedy="label real samples 1 and generated ones 0",
                module=judge,
            )
        elif at is not None and len(maker) == ENOUGH:
            towards_fake = [abs(m - f) < abs(m - r) for m, f, r in zip(maker, fake, real, strict=True)]
            if all(towards_fake) and all(abs(f - r) > 0.2 for f, r in zip(fake, real, strict=True)):
                self.over = True
                yield self.finding(
                    event,
                    f"`{name}` is trained towards the label {maker[-1]:g}, which `{judge}` uses for generated samples",
                    cause=f"its loss is smallest when `{judge}` recognises every sample as fake",
                    remedy=f"use the label of real samples ({real[-1]:g}) in `{name}`'s loss",
                    at=at,
                    module=name,
                )
