"""A generator and a discriminator that do not train against each other."""

from typing import NamedTuple

from premortem.detectors.base import DIVERGING, FADING, THRICE, TWICE, Card, Detector, Findings, Severity
from premortem.detectors.shared.adversarial import Players
from premortem.detectors.shared.optimizers import Optimizers
from premortem.events import (
    Backward,
    Detached,
    Event,
    Forward,
    GraphWalked,
    LossCall,
    OptimizerStep,
    Pull,
    Site,
    ZeroGrad,
)

ROUNDS = 40  # of both players: pretraining of one of them alone is over, and a pair of equal batches is no accident


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

    card = Card("PM141", "generator-gets-no-gradient", "gan", Severity.ERROR).explaining(
        *FADING,
        "detached-from-loss",
        "optimizer-holds-other-parameters",
        "step-without-new-gradients",
        "evaluated-copy-never-changes",
        "gradients-thrown-away",
    )
    uses = (Players,)
    listens = (Forward, Backward, Detached, OptimizerStep)

    def __init__(self) -> None:
        self._backwards = 0
        self._cuts: dict[frozenset[int], Site | None] = {}
        self._called: dict[int, tuple[bool, Site | None]] = {}  # model -> gradients on, where

    def observe(self, event: Event) -> Findings:
        if isinstance(event, Backward):
            self._backwards += not event.error
        elif isinstance(event, Detached):
            if event.op in {"detach", "data", "numpy", "tensor"}:
                self._cuts[frozenset(event.parameters)] = event.at
        elif isinstance(event, Forward):
            self._called[event.model] = (event.grad, event.at)
        elif isinstance(event, OptimizerStep):
            yield from self._stepped(event)

    def _stepped(self, event: OptimizerStep) -> Findings:
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
                f"`{name}` gets no gradient: its optimizer made {steps} steps without one",
                cause=(
                    f"the samples that go into `{critic}` for `{name}`'s own loss are detached from it"
                    if grad
                    else f"`{name}` runs without gradients (`no_grad`)"
                ),
                remedy=f"detach the samples in `{critic}`'s step only, and give `{critic}` the attached ones for `{name}`",
                at=cut if grad else called,
                module=name,
            )


class Pass(NamedTuple):
    """A backward pass whose gradients are still there."""

    at: Site | None
    reached: tuple[int, ...]  # optimizers
    stepped: set[int]  # those that have stepped on it


class _StepsOnTheOthers(Detector):
    """A player steps on a gradient on which the other one has stepped already, and on one of its own."""

    uses = (Players,)
    listens = (Backward, ZeroGrad, OptimizerStep)

    def __init__(self) -> None:
        self._sums: dict[int, list[Pass]] = {}  # optimizer -> since its gradients were cleared
        self._cleared: dict[int, Site | None] = {}  # ... where

    def observe(self, event: Event) -> Findings:
        if isinstance(event, Backward):
            for optimizer in event.optimizers:
                passes = self._sums.setdefault(optimizer, [])
                if len(passes) < 16:
                    passes.append(Pass(event.at, event.optimizers, set()))
        elif isinstance(event, ZeroGrad):
            for optimizer in event.cleared:
                self._sums.pop(optimizer, None)
                self._cleared[optimizer] = event.at
        elif isinstance(event, OptimizerStep):
            mine = self._sums.pop(event.optimizer, [])
            for passes in self._sums.values():
                for each in passes:
                    each.stepped.add(event.optimizer)
            if not self.said(event.optimizer):
                yield from self._stepped(event, mine[-event.pending :] if event.pending else [])

    def _stepped(self, event: OptimizerStep, passes: list[Pass]) -> Findings:
        raise NotImplementedError

    def _again(self, event: OptimizerStep) -> bool:
        return self.times(event.optimizer) == THRICE and self.once(event.optimizer)


class DiscriminatorLossInGenerator(_StepsOnTheOthers):
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

    card = Card("PM142", "discriminator-loss-in-generator", "gan", Severity.ERROR).explaining(
        "gradients-never-cleared", "accumulation-not-divided", "exploding-gradients", "wrong-sign"
    )

    def _stepped(self, event: OptimizerStep, passes: list[Pass]) -> Findings:
        players = self.fact(Players)
        for generator, discriminator in players.pairs():
            if not players.holds(event.optimizer, generator):
                continue
            foreign = [
                each.at for each in passes if any(players.holds(key, discriminator) for key in each.stepped)
            ]
            if foreign and not all(each.stepped for each in passes) and self._again(event):
                name = players.names.get(generator, "the generator")
                critic = players.names.get(discriminator, "the discriminator")
                yield self.finding(
                    event,
                    f"`{name}` steps on the sum of its own gradient and that of `{critic}`'s loss",
                    cause=f"`{critic}`'s backward pass ran through samples that were not detached, and `{name}`'s "
                    "gradients were not cleared before its own",
                    remedy=f"use `.detach()` on the samples in `{critic}`'s step, and clear `{name}`'s gradients first",
                    at=foreign[-1],
                    module=name,
                )


class GeneratorLossInDiscriminator(_StepsOnTheOthers):
    """The discriminator steps on the gradient of the generator's loss as well as on its own.

    ## Why it matters
    The generator's loss has to go through the discriminator, and leaves a gradient there that asks for the opposite of what the
    discriminator is to learn. Added to its own it takes away what it learns of generated samples, and both losses run off.

    ## Usual causes
    - `zero_grad()` for the discriminator right after its own step, before the generator's backward pass, and not before its own
    - one `zero_grad()` for both at the end of the discriminator's part

    ## What to do
    Clear the discriminator's gradients right before its own backward pass.

    ## When it stays silent
    When they are cleared between the generator's backward pass and its own, when it is frozen in the generator's step, and when its own
    loss trains the generator too: then the two are no rivals.
    """

    card = Card("PM161", "generator-loss-in-discriminator", "gan", Severity.ERROR).explaining(
        *DIVERGING,
        *FADING,
        "gradients-never-cleared",
        "accumulation-not-divided",
        "wrong-sign",
        "sudden-jump",
    )

    def _stepped(self, event: OptimizerStep, passes: list[Pass]) -> Findings:
        players = self.fact(Players)
        for generator, discriminator in players.pairs():
            if not players.holds(event.optimizer, discriminator):
                continue
            makers = {key for each in passes for key in each.reached if players.holds(key, generator)}
            makers.discard(event.optimizer)
            foreign = [each for each in passes if makers & each.stepped]
            own = [each for each in passes if not each.stepped and not makers.intersection(each.reached)]
            if foreign and own and len(foreign) + len(own) == len(passes) and self._again(event):
                name = players.names.get(discriminator, "the discriminator")
                maker = players.names.get(generator, "the generator")
                yield self.finding(
                    event,
                    f"`{name}` steps on the sum of its own gradient and the one that `{maker}`'s loss has left in it",
                    cause=f"`{maker}`'s backward pass goes through `{name}`, and `{name}`'s gradients are not cleared "
                    "between that and its own",
                    remedy=f"clear `{name}`'s gradients right before its own backward pass",
                    at=self._cleared.get(event.optimizer) or foreign[-1].at,
                    module=name,
                )


ENOUGH = 5  # labels of each role that all agree: two smoothed ones may be equal by chance
JUDGING = frozenset({"binary_cross_entropy", "binary_cross_entropy_with_logits", "mse_loss"})


class AdversarialLabels(Detector):
    """Generator and discriminator are trained towards labels that do not set them against each other.

    ## Why it matters
    The discriminator learns "real" for the data and "fake" for samples; the generator must be pushed towards
    "real". If the generator's target is "fake" it learns to be recognised, and if both kinds of samples have
    the same label the discriminator has nothing to learn.

    ## Usual causes
    - the label tensor of the discriminator's step is used again for the generator
    - ones and zeros are swapped

    ## What to do
    Real 1 and fake 0 for the discriminator, 1 for the generator's samples.

    ## When it stays silent
    When the loss is maximised (its sign is turned round), and for losses without labels.
    """

    card = Card("PM143", "adversarial-labels", "gan", Severity.ERROR).explaining(
        "constant-labels", "wrong-sign", "uninformative-labels", "metric-frozen"
    )
    uses = (Players,)
    listens = (Forward, LossCall, Backward, OptimizerStep)

    def __init__(self) -> None:
        self._calls: list[Forward] = []  # models called with gradients since the last backward pass
        self._targets: list[tuple[int, LossCall]] = []  # and how many models had been called before each
        self._judged: list[tuple[Forward, LossCall]] = []  # since the last step
        self._seen: dict[tuple[int, str], list[float]] = {}  # (discriminator, role) -> last labels

    def observe(self, event: Event) -> Findings:
        if isinstance(event, Forward):
            if event.grad and len(self._calls) < 32:
                self._calls.append(event)
        elif isinstance(event, LossCall):
            if event.grad and len(self._targets) < 32:
                self._targets.append((len(self._calls), event))
        elif isinstance(event, Backward):
            self._backward(event)
        elif isinstance(event, OptimizerStep):
            yield from self._stepped(event)

    def _backward(self, event: Backward) -> None:
        calls, self._calls = self._calls, []
        targets, self._targets = self._targets, []
        losses = [loss for _, loss in targets]
        critics = {critic for _, critic in self.fact(Players).pairs()}
        places = [place for place, call in enumerate(calls) if call.model in critics]
        usable = all(loss.fn in JUDGING and loss.target_mean is not None for loss in losses)
        if not losses or not usable or len(places) != len(losses) or (event.value or 0.0) < 0.0:
            return  # a turned sign means maximising
        # Which verdict a loss is about: the last one before it. Where several verdicts come first, their order says nothing.
        asked = [call for call, _ in targets]
        next_ones = [*places[1:], len(calls)]
        in_turn = all(
            here < then <= after for here, then, after in zip(places, asked, next_ones, strict=True)
        )
        if in_turn or len({loss.target_mean for loss in losses}) == 1:
            self._judged += zip([calls[place] for place in places], losses, strict=True)

    def _stepped(self, event: OptimizerStep) -> Findings:
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
                before = self._seen.get((critic, role), [])
                self._seen[critic, role] = [*before[1 - ENOUGH :], loss.target_mean]
            at = judged[-1][1].at if judged else None
            yield from self._judge(event, generator, critic, at if by_maker else None)

    def _judge(self, event: Event, generator: int, critic: int, at: Site | None) -> Findings:
        real, fake, maker = (self._seen.get((critic, role), []) for role in ("real", "fake", "maker"))
        if self.over or min(len(real), len(fake)) < ENOUGH:
            return
        name = self.fact(Players).names.get(generator, "the generator")
        judge = self.fact(Players).names.get(critic, "the discriminator")
        if all(abs(r - f) < 1e-6 for r, f in zip(real, fake, strict=True)):
            yield self.last_word(
                event,
                f"`{judge}` is trained towards the same label ({real[-1]:g}) for real samples and for `{name}`'s",
                cause="with equal labels the discriminator cannot learn a difference",
                remedy="label real samples 1 and generated ones 0",
                module=judge,
            )
        elif at is not None and len(maker) == ENOUGH:
            towards_fake = [abs(m - f) < abs(m - r) for m, f, r in zip(maker, fake, real, strict=True)]
            if all(towards_fake) and all(abs(f - r) > 0.2 for f, r in zip(fake, real, strict=True)):
                yield self.last_word(
                    event,
                    f"`{name}` is trained towards the label {maker[-1]:g}, which `{judge}` uses for generated samples",
                    cause=f"its loss is smallest when `{judge}` recognises every sample as fake",
                    remedy=f"use the label of real samples ({real[-1]:g}) in `{name}`'s loss",
                    at=at,
                    module=name,
                )


CLEAR = 0.7  # of the pull on the verdicts goes one way


class JudgeNeverShownData(Detector):
    """The discriminator judges what the generator makes, and is never shown anything else.

    ## Why it matters
    It cannot learn what real samples look like, so that its verdict says nothing, and the generator learns nothing about the data.

    ## Usual causes
    The wrong variable in `bce(D(fake.detach()), ones)`, where `D(real)` was meant: the same samples are judged twice, with both labels.

    ## What to do
    Show it both in each of its steps: `D(real)` with one label, `D(fake.detach())` with the other.

    ## When it stays silent
    When it is ever called on something that the generator has not made, when its calls are on different samples (a judge of domains
    sees nothing but features), and when both are trained in one step.
    """

    card = Card("PM149", "judge-never-shown-data", "gan", Severity.ERROR).explaining(*FADING)
    uses = (Players,)
    listens = (OptimizerStep,)

    def observe(self, event: OptimizerStep) -> Findings:
        for generator, judge, rounds in self.fact(Players).unshown():
            if rounds >= ROUNDS and self.once((generator, judge)):
                maker = self.fact(Players).names.get(generator, "the generator")
                name = self.fact(Players).names.get(judge, "the discriminator")
                yield self.finding(
                    event,
                    f"`{name}` was shown only what `{maker}` makes, in {rounds} rounds of both",
                    cause="Without real samples it has nothing to tell them from.",
                    remedy=f"Call `{name}` on real samples too, in its own step.",
                    module=name,
                    rounds=rounds,
                )


class SameNoiseEveryStep(Detector):
    """The generator is given the same random numbers in every step.

    ## Why it matters
    It learns to make these few samples, and never to fill the space between them.

    ## Usual causes
    The noise is drawn once, before the loop: a batch that was meant for pictures of the progress.

    ## What to do
    Draw new noise in each step, and keep the fixed batch for pictures.

    ## When it stays silent
    When its inputs ever change, when they are no random numbers (an encoder of a whole graph is given the same nodes in each step), and when the
    discriminator's own samples are always the same too.
    """

    card = Card("PM150", "same-noise-every-step", "gan", Severity.ERROR)
    uses = (Players,)
    listens = (Forward, OptimizerStep)

    def __init__(self) -> None:
        self._inputs: dict[int, set[int | None]] = {}
        self._calls: dict[int, int] = {}

    def observe(self, event: Event) -> Findings:
        if isinstance(event, Forward):
            if event.grad:
                self._calls[event.model] = self._calls.get(event.model, 0) + 1
                if event.noise:
                    self.once(("noise", event.model))
                seen = self._inputs.setdefault(event.model, set())
                if len(seen) < 8:
                    seen.add(event.fingerprint)
            return
        for generator, judge in self.fact(Players).pairs():
            calls = self._calls.get(generator, 0)
            if not self.said(("noise", generator)):
                continue
            same = len(self._inputs.get(generator, ())) == 1 and None not in self._inputs[generator]
            if calls >= ROUNDS and same and len(self._inputs.get(judge, ())) >= 8 and self.once(generator):
                name = self.fact(Players).names.get(generator, "the generator")
                yield self.finding(
                    event,
                    f"`{name}` was given the same numbers in each of {calls} calls, while the samples it competes with change",
                    cause="The noise was drawn once, and not in each step.",
                    remedy="Draw it inside the loop: z = torch.randn(n, size).",
                    module=name,
                    calls=calls,
                )


class PlayersPullTogether(Detector):
    """Generator and discriminator pull the verdict on generated samples in the same direction.

    ## Why it matters
    The discriminator learns to tell generated samples apart, the generator to be taken for real. When both want the same verdict,
    one of them has the wrong sign: the generator learns to be recognised, or the discriminator to be deceived. Both losses
    look fine in the log, and nothing is learnt.

    ## Usual causes
    - a minus too many or too few in front of one of the two losses
    - `maximize=True` in one of the two optimizers

    ## What to do
    Look at what each loss asks of the verdict on generated samples: one must ask for more of it, the other for less.

    ## When it stays silent
    When the verdicts are not pulled one way clearly (an auxiliary classifier beside the verdict may be of one mind with the
    generator), when one backward pass serves both, and when the discriminator is shown nothing but generated samples.
    """

    card = Card("PM144", "players-pull-together", "loss-definition", Severity.ERROR).explaining(
        *FADING, "wrong-sign", "loss-without-lower-bound", "saturated-activations", "uninformative-labels"
    )
    uses = (Players, Optimizers)
    listens = (GraphWalked, OptimizerStep)

    def __init__(self) -> None:
        self._walks: list[GraphWalked] = []  # since the last step
        # (maker, judge, whether the judge steps) -> of its last audited steps: which way, how it was meant, and where
        self._pulled: dict[tuple[int, int, bool], list[Wish]] = {}
        self._shown: set[tuple[int, int]] = set()  # judges whose own loss is about other samples as well

    def observe(self, event: Event) -> Findings:
        if isinstance(event, GraphWalked):
            self._walks = [*self._walks[-8:], event]
        elif isinstance(event, OptimizerStep):
            walks, self._walks = self._walks, []
            mine = [walk for walk in walks if walk.pulls and walk.at in event.backward_sites]
            if mine and not event.closure:
                yield from self._stepped(event, mine)

    def _stepped(self, event: OptimizerStep, walks: list[GraphWalked]) -> Findings:
        players, built = self.fact(Players), self.fact(Optimizers).built.get(event.optimizer)
        up = built is not None and built.maximize
        pulls = [pull for walk in walks for pull in walk.pulls]
        for maker, judge in {(pull.maker, pull.judge) for pull in pulls if pull.maker}:
            by_judge = players.holds(event.optimizer, judge)
            if by_judge == players.holds(event.optimizer, maker):
                continue
            sense = "max" if any(walk.sense == ("min" if up else "max") for walk in walks) else ""
            wish = Wish(wanted(pulls, maker, judge) * (-1 if up else 1), sense, walks[-1].at)
            self._pulled.setdefault((maker, judge, by_judge), []).append(wish)
            if by_judge and any(pull.judge == judge and pull.maker != maker for pull in pulls):
                self._shown.add((maker, judge))
            yield from self._judge(event, maker, judge)

    def _judge(self, event: Event, maker: int, judge: int) -> Findings:
        players = self.fact(Players)
        makers, judges = (self._pulled.get((maker, judge, by), [])[-THRICE:] for by in (False, True))
        pairs = {*players.pairs(), *self._shown}
        if self.over or min(len(makers), len(judges)) < TWICE or (maker, judge) not in pairs:
            return
        ways = {wish.way for wish in makers + judges}
        if ways not in ({1}, {-1}) or {wish.at for wish in makers} & {wish.at for wish in judges}:
            return
        turned = [wish.at for wish in makers + judges if wish.sense == "max"]
        name, critic = (players.names.get(key, "a model") for key in (maker, judge))
        yield self.last_word(
            event,
            f"the losses of `{name}` and `{critic}` both make what `{critic}` says of `{name}`'s samples "
            + ("smaller" if ways == {1} else "larger"),
            cause="players of an adversarial pair want opposite verdicts; with the same sign in both losses they do not train "
            "against each other",
            remedy="turn the sign of one of the two losses round"
            + (": this one is minus a criterion" if turned else ""),
            at=turned[0] if turned else makers[-1].at,
            module=name,
        )


class Wish(NamedTuple):
    """What a player's step wants of the verdict on generated samples."""

    way: int  # 1: a smaller one, than on others where it has a say in those; -1: a larger one; 0: neither
    sense: str
    at: Site | None


def wanted(pulls: list[Pull], maker: int, judge: int) -> int:
    made = [pull for pull in pulls if pull.judge == judge and pull.maker == maker]
    others = [pull for pull in pulls if pull.judge == judge and pull.maker != maker]
    slope = sum(pull.slope for pull in made) - sum(pull.slope for pull in others)
    size = sum(pull.size for pull in made + others)
    return 0 if abs(slope) <= CLEAR * size else 1 if slope > 0 else -1
