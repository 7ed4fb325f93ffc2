from premortem.amounts import count
from premortem.detectors.base import THRICE, Card, Detector, Finding, Findings, Severity
from premortem.detectors.shared.models import Models
from premortem.detectors.shared.printed import evaluates
from premortem.events import Custody, EvaluationEnded, Event, LogLine, ModelSeen


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
        "PM303",
        "evaluated-copy-never-changes",
        "eval-stale",
        Severity.ERROR,
        explains_here=("statistics-never-collected",),
    ).explaining("metric-frozen", "plateau-wrong-mode")
    uses = (Models,)
    listens = (EvaluationEnded, Custody, LogLine, ModelSeen)

    def __init__(self) -> None:
        self._moved: set[int] = set()  # models whose weights an optimizer moved
        self._evaluated: set[int] = set()
        self._history: dict[int, list[EvaluationEnded]] = {}
        self._logged: set[int] = set()
        self._born: dict[int, set[int]] = {}  # shapes -> models that were evaluated as they were built
        self._first_writes: dict[int, int] = {}  # shapes -> those of the first model of that kind

    def observe(self, event: Event) -> Findings:
        if isinstance(event, Custody):
            self._moved.update(link.model for link in event.links if link.moved)
        elif isinstance(event, ModelSeen):
            if not event.step:
                self._first_writes.setdefault(event.shapes, event.writes)
        elif isinstance(event, LogLine):
            if evaluates(event):
                self._logged.add(event.step)
        elif isinstance(event, EvaluationEnded):
            self._evaluated.add(event.model)
            logged = event.step in self._logged
            self._logged = {step for step in self._logged if step >= event.step}
            counts = event.judged or (logged and not event.every_step)
            if counts and event.weights is not None and event.model in self.fact(Models).seen:
                yield from self._follow(event)
                yield from self._born_for_it(event)

    def _born_for_it(self, event: EvaluationEnded) -> Findings:
        """A new model for each evaluation, as it was built."""
        seen = self.fact(Models).seen[event.model]
        trained = self._original(event.model)
        if event.trained or event.model in self._moved or trained is None or seen.same_weights:
            return
        if seen.writes != self._first_writes.get(seen.shapes) or event.forwards < 1:
            return  # something was loaded or copied into it
        built = self._born.setdefault(seen.shapes, set())
        built.add(event.model)
        if len(built) >= THRICE and self.once(("born", seen.shapes)):
            yield self.finding(
                event,
                f"each evaluation is of a new `{seen.kind}`, as it was initialised: {len(built)} of them so far, while `{trained.name}` is "
                "trained",
                cause="The evaluation builds a model of its own, and nothing is loaded into it.",
                remedy=f"Evaluate `{trained.name}`.",
                module=seen.name,
            )

    def _follow(self, event: EvaluationEnded) -> Findings:
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
        models = self.fact(Models).seen
        keys = {parameter.key for parameter in models[copy].parameters}
        twins = [
            seen
            for model, seen in models.items()
            if model in self._moved and seen.shapes == models[copy].shapes
        ]
        if any(seen.model in self._evaluated or keys & {p.key for p in seen.parameters} for seen in twins):
            return None
        return twins[0] if twins else None

    def _found(self, event: EvaluationEnded, history: list[EvaluationEnded], trained: ModelSeen) -> Finding:
        name = self.fact(Models).seen[event.model].name
        # A function that evaluates calls every model by the same name.
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
