"""PM303 evaluated-copy-never-changes."""

from __future__ import annotations

from collections.abc import Iterator

from premortem.cards import Card
from premortem.detectors.base import THRICE, Detector
from premortem.detectors.shared.models import Models
from premortem.detectors.shared.printed import evaluates
from premortem.detectors.shared.wording import count
from premortem.events import Custody, EvaluationEnded, Event, LogLine, ModelSeen
from premortem.findings import Finding, Severity


class EvaluatedCopyNeverChanges(Detector):
    """The model that is evaluated is a copy whose weights never change, while another one is trained.

    ## Why it matters
    The metric is that of a model that does not learn, the same to the last digit after every epoch; early stopping
    and the choice of the best checkpoint follow it.

    ## Usual causes
    An EMA update that computes a new value and drops it (`lerp` for `lerp_`), or is never called; a `deepcopy` made
    before training; a checkpoint that is loaded for each evaluation and was written only once.

    ## What to do
    Evaluate the trained model itself, or update the copy in place after each step.

    ## When it stays silent
    The trained model is evaluated as well (then the copy is a baseline), the copy changes at some time, or it is
    called in every step (a teacher).
    """

    card = Card(
        code="PM303",
        name="evaluated-copy-never-changes",
        family="eval-stale",
        severity=Severity.ERROR,
        explains=("metric-frozen", "plateau-wrong-mode"),
        explains_here=("statistics-never-collected",),
    )
    uses = (Models,)
    listens = (EvaluationEnded, Custody, LogLine)

    def __init__(self) -> None:
        self._moved: set[int] = set()  # models whose weights an optimizer moved
        self._evaluated: set[int] = set()
        self._history: dict[int, list[EvaluationEnded]] = {}
        self._logged: set[int] = set()

    def observe(self, event: Event) -> Iterator[Finding]:
        if isinstance(event, Custody):
            self._moved.update(link.model for link in event.links if link.moved)
        elif isinstance(event, LogLine):
            if evaluates(event):
                self._logged.add(event.step)
        elif isinstance(event, EvaluationEnded):
            self._evaluated.add(event.model)
            logged = event.step in self._logged
            self._logged = {step for step in self._logged if step >= event.step}
            if (
                event.model in self.fact(Models).seen
                and event.weights is not None
                and (event.judged or (logged and not event.every_step))
            ):
                yield from self._follow(event)

    def _follow(self, event: EvaluationEnded) -> Iterator[Finding]:
        history = self._history.setdefault(event.model, [])
        if history and history[-1].weights != event.weights:
            history.clear()
            self.once(event.model)  # it does change
        if self.said(event.model) or event.model in self._moved:
            return
        if not history or history[-1].step < event.step:
            history.append(event)
        trained = self._original(event.model)
        if trained is not None and len(history) >= THRICE:
            self.once(event.model)
            yield self._found(event, history, trained)

    def _original(self, copy: int) -> ModelSeen | None:
        """The model in training that this is a copy of; None when that one is evaluated too."""
        mine = self.fact(Models).seen[copy]
        keys = {parameter.key for parameter in mine.parameters}
        twins = [self.fact(Models).seen[model] for model in self._moved if model in self.fact(Models).seen]
        twins = [seen for seen in twins if seen.shapes == mine.shapes]
        if any(seen.model in self._evaluated or keys & {p.key for p in seen.parameters} for seen in twins):
            return None
        return twins[0] if twins else None

    def _found(self, event: EvaluationEnded, history: list[EvaluationEnded], trained: ModelSeen) -> Finding:
        name = self.fact(Models).seen[event.model].name
        # A function that evaluates calls whatever it is given by the same name.
        copy = f"`{name}`" if name != trained.name else f"the copy of `{name}`"
        return self.finding(
            event,
            f"{copy} was evaluated {count(len(history), 'time')} between steps {history[0].step} and {event.step} "
            f"with the same weights, while `{trained.name}` was trained",
            cause=f"What is evaluated is a copy of `{trained.name}` that nothing updates, so its metric cannot change.",
            remedy=f"Evaluate `{trained.name}` itself, or update the copy in place after each step "
            "(`lerp_`, `copy_`, `mul_().add_()`) and check that the update is called.",
            module=name,
            evaluations=len(history),
            trained=trained.name,
        )
