from typing import Any

from premortem.amounts import count
from premortem.detectors.base import Card, Certainty, Detector, Finding, Findings, Severity
from premortem.detectors.shared.models import Models
from premortem.detectors.shared.printed import evaluates, held_out
from premortem.events import EvaluationEnded, Event, LogLine, ModelSeen, RunEnded


class EvaluatedInTrainMode(Detector):
    """A trained model is evaluated while its dropout or batch-norm layers are in train mode.

    ## Why it matters
    Dropout removes units at random and batch norm uses the statistics of each evaluation batch, so the metric is
    noisy and wrong; and in train mode batch norm writes the evaluation data into its running statistics.

    ## Usual causes
    `model.eval()` is missing, stands after the loop, or lost its parentheses; `F.dropout(x, p)` without
    `training=self.training` (it is on by default); `scaled_dot_product_attention(dropout_p=...)`, which has no mode;
    a sub-module in a plain list, which `eval()` does not reach.

    ## What to do
    Call `model.eval()` before the evaluation and `model.train()` after it.

    ## When it stays silent
    The same input several times (Monte Carlo dropout), generators and their critics, passes whose output is thrown
    away (they refresh batch-norm statistics), teachers that are called in every step, batches that were just trained
    on, and models without such layers. Where nothing is compared with the output and a part of the model is evaluated in
    eval mode before the next step, the printed number is taken to be of that part.
    """

    card = Card(
        "PM301",
        "evaluated-in-train-mode",
        "eval-mode",
        Severity.ERROR,
        explains_later=("train-and-eval-inputs-differ",),
    ).explaining("evaluated-with-gradients")
    uses = (Models,)
    listens = (EvaluationEnded, LogLine, RunEnded)

    def __init__(self) -> None:
        self._learnt: set[int] = set()  # shapes of models that were trained
        self._logged: dict[int, bool] = {}  # steps at which a metric was printed -> of held-out data
        self._on_purpose: set[int] = set()  # models that were sampled with dropout on
        self._odd: dict[int, EvaluationEnded] = {}  # dropout on in eval mode, as the script sets it
        self._in_eval_mode: set[int] = set()  # models that were evaluated so at the newest step
        self._newest = -1
        # reported at the next step, unless a part of it is evaluated in eval mode before
        self._waiting: EvaluationEnded | None = None

    def observe(self, event: Event) -> Findings:
        if isinstance(event, LogLine):
            if evaluates(event):
                self._logged[event.step] = self._logged.get(event.step, False) or held_out(event)
        elif isinstance(event, EvaluationEnded):
            if event.step > self._newest:
                yield from self._waited()
                self._newest = event.step
                self._in_eval_mode.clear()
            if not event.training and event.step == self._newest:
                self._in_eval_mode.add(event.model)
            yield from self._evaluated(event)
        elif isinstance(event, RunEnded) and not event.cut_off:
            yield from self._waited()
            for model, evaluation in self._odd.items():
                if not self.over and model not in self._on_purpose:
                    yield self._noise_left_on(evaluation)

    def _evaluated(self, event: EvaluationEnded) -> Findings:
        seen = self.fact(Models).seen.get(event.model)
        shapes = seen.shapes if seen is not None else 0
        if event.trained:
            self._learnt.add(shapes)
        if event.repeated:
            self._on_purpose.add(event.model)
        logged, held = event.step in self._logged, self._logged.get(event.step, False)
        self._logged = {step: value for step, value in self._logged.items() if step >= event.step}
        learnt = event.step > 0 and (event.trained or shapes in self._learnt)
        on_purpose = event.repeated or event.generator or event.critic or event.discarded
        if self.over or not event.noisy_train or not learnt or on_purpose:
            return
        # On the training input itself (a graph with validation nodes, or a look at the training loss), or twice on the
        # same one: only what is printed says that it is an evaluation.
        plain = event.fresh and event.passes == 1
        if not event.training:
            if (event.judged or logged) and (event.forgotten or (seen is not None and seen.hidden)):
                yield self._deaf(event, seen)
            elif event.judged or logged:
                self._odd.setdefault(event.model, event)
        elif not event.both and (plain or held):
            # One sample at a time is not an evaluation: text is generated, an agent acts.
            several = event.samples > event.forwards
            if event.judged:
                yield self._in_train_mode(event, Severity.ERROR)
            elif several and (held or (logged and not event.every_step)):
                self._waiting = self._waiting or event

    def _waited(self) -> Findings:
        waiting, self._waiting = self._waiting, None
        if waiting is not None and not self.over and not self._a_part_was(waiting):
            yield self._in_train_mode(waiting, Severity.WARNING)

    def _a_part_was(self, event: EvaluationEnded) -> bool:
        """Evaluated in eval mode, at the same step: what was printed is of that."""
        seen = self.fact(Models).seen
        own = {each.key for each in seen[event.model].parameters} if event.model in seen else set()
        parts = [seen[model].parameters for model in self._in_eval_mode if model in seen]
        return any(part and own.issuperset(each.key for each in part) for part in parts)

    def _in_train_mode(self, event: EvaluationEnded, severity: Severity) -> Finding:
        self.over = True
        name = self._name(event)
        return self._found(
            event,
            f"`{name}` is evaluated in train mode: {{layers}} of it ran as in training, on {count(event.samples, 'sample')}",
            "Dropout removes units at random and batch norm uses the statistics of the evaluation batch (and "
            "remembers them), so the metric is not that of the model you will use.",
            f"Call `{name}.eval()` before the evaluation and `{name}.train()` after it.",
            severity,
            samples=event.samples,
        )

    def _deaf(self, event: EvaluationEnded, seen: ModelSeen | None) -> Finding:
        """In eval mode, and layers that the mode does not reach."""
        self.over = True
        if event.forgotten:
            why = "A functional dropout without `training=self.training` is always on."
            remedy = "Pass `training=self.training` to `F.dropout`, and `dropout_p=self.p if self.training else 0.0` to attention."
        else:
            hidden = seen.hidden[0] if seen is not None and seen.hidden else None
            where = (
                f"`{hidden.attribute}` is a plain {hidden.container}"
                if hidden
                else "a plain container hides them"
            )
            why = f"`eval()` does not reach every sub-module: {where}."
            remedy = "Put the sub-modules in an `nn.ModuleList` or `nn.ModuleDict`."
        on = count(event.samples, "sample")
        what = (
            f"`{self._name(event)}` is in eval mode, and {{layers}} of it still ran as in training, on {on}"
        )
        return self._found(event, what, why, remedy, Severity.ERROR)

    def _noise_left_on(self, event: EvaluationEnded) -> Finding:
        return self._found(
            event,
            f"`{self._name(event)}` is in eval mode, and {{layers}} of it ran as in training; no input was ever evaluated twice",
            "The script keeps some layers in train mode (`training=True`, or a `.train()` on them), which makes "
            "the metric noisy; Monte Carlo dropout would average several passes over the same input.",
            "Pass `training=self.training`, or average several passes.",
            Severity.WARNING,
        )

    def _found(
        self, event: EvaluationEnded, what: str, why: str, remedy: str, severity: Severity, **evidence: Any
    ) -> Finding:
        return self.finding(
            event,
            what.format(layers=count(event.noisy_train, "dropout or batch-norm layer")),
            cause=why,
            remedy=remedy,
            severity=severity,
            certainty=Certainty.MEASURED if severity is Severity.ERROR else Certainty.SUSPECTED,
            module=self._name(event),
            layers=event.noisy_train,
            **evidence,
        )

    def _name(self, event: EvaluationEnded) -> str:
        return self.fact(Models).name(event.model)
