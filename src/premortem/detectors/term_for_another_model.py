from dataclasses import dataclass

from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.detectors.shared.adversarial import Players
from premortem.detectors.shared.models import Models
from premortem.events import Backward, Event, Forward, OptimizerStep, Site, ZeroGrad

# Passes: a model that is trained in every fifth round only has stepped by then, with some to spare.
MANY = 40


@dataclass
class Pass:
    """A backward pass that gave gradients to a model through which none went on."""

    model: int
    at: Site | None  # the last call of that model
    partners: frozenset[int]  # other optimizers that got gradients of the same pass
    stepped: bool = False  # ... and one of them has stepped on them


class TermForAnotherModel(Detector):
    """A term of the loss is what one model says of detached samples of another: it gives no gradient to the model that is trained.

    ## Why it matters
    The judge gets gradients from its own verdict, which are thrown away; the model that should learn from the verdict gets none.
    It is trained by the other terms of its loss alone, so that the loss falls and nothing looks broken.

    ## Usual causes
    `D(fake.detach())` in the generator's step, where only the discriminator's step should detach; a critic that is shown actions
    without a graph; a sample that was made under `no_grad`.

    ## What to do
    Give the judge the attached samples in the step of the model that is to learn from it, and detached ones in its own step.

    ## How it is measured
    One backward pass gives gradients to two optimizers. Of the one, a model was called on what a model of the other has made, and every model on
    inputs without a graph, so that no gradient went through it. The other one steps, and the gradients of the first are cleared before it has stepped. So it was 40 times in a row.

    ## When it stays silent
    The judge ever steps on such a pass, or the other optimizer holds some of it too, any of its calls in the pass has an input with a graph, or it gets no gradient (it is frozen).
    """

    card = Card("PM163", "term-for-another-model", "grad-flow", Severity.ERROR).explaining(
        "gradients-thrown-away"
    )
    uses = (Players, Models)
    listens = (Forward, Backward, ZeroGrad, OptimizerStep)

    def __init__(self) -> None:
        self._calls: dict[int, list[Forward]] = {}  # by model, since the last backward pass
        self._passes: dict[int, Pass] = {}  # by optimizer, until it steps or its gradients are cleared

    def observe(self, event: Event) -> Findings:
        if isinstance(event, Forward):
            if event.tracked:
                self._calls.setdefault(event.model, []).append(event)
        elif isinstance(event, Backward):
            calls, self._calls = self._calls, {}
            if len(event.optimizers) > 1 and not event.error:
                self._reached(event, calls)
        elif isinstance(event, OptimizerStep):
            if event.rested:  # calls of the steps before were only counted
                self._calls.clear()
                self._passes.clear()
            if self._passes.pop(event.optimizer, None) is not None:
                self.once(("stepped", event.optimizer))
            for each in self._passes.values():
                each.stepped = each.stepped or event.optimizer in each.partners
        elif isinstance(event, ZeroGrad):
            for optimizer in event.cleared:
                yield from self._cleared(event, optimizer)

    def _reached(self, event: Backward, calls: dict[int, list[Forward]]) -> None:
        players = self.fact(Players)
        for optimizer in event.optimizers:
            mine = [call for model, made in calls.items() if players.holds(optimizer, model) for call in made]
            partners = frozenset(event.optimizers) - {optimizer}
            # An optimizer of an earlier phase holds what its successor trains.
            shared = any(players.holds(other, call.model) for other in partners for call in mine)
            judges = any(
                call.source is not None and players.holds(other, call.source)
                for other in partners
                for call in mine
            )
            if judges and not shared and not any(call.attached for call in mine):
                self._passes[optimizer] = Pass(mine[-1].model, mine[-1].at, partners)
            else:
                self._passes.pop(optimizer, None)
                self.in_a_row(optimizer, False)

    def _cleared(self, event: ZeroGrad, optimizer: int) -> Findings:
        found = self._passes.pop(optimizer, None)
        if found is None or not found.stepped or self.said(("stepped", optimizer)):
            return
        if self.in_a_row(optimizer, True) < MANY or not self.once(optimizer):
            return
        name = self.fact(Models).name(found.model)
        taught = {maker for maker, judge in self.fact(Players).pairs() if judge == found.model}
        learner = self.fact(Players).names.get(next(iter(taught), 0), "")
        whom = f"`{learner}`" if learner else "the model whose optimizer steps"
        yield self.finding(
            event,
            f"a term of the loss is what `{name}` says of inputs without a graph: {whom} gets no gradient from it, and the gradients "
            f"that `{name}` got were cleared unused after each of {MANY} passes",
            cause=f"What `{name}` is given in this step is detached, so its verdict leads back to its own weights alone, and these are not stepped.",
            remedy=f"Give `{name}` the attached samples in this step, and detached ones only in its own.",
            at=found.at,
            family="gan" if learner else "grad-flow",
            module=name,
            passes=MANY,
        )
