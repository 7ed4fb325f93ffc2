from collections import Counter
from typing import NamedTuple

from premortem.amounts import minute
from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.detectors.shared.models import Models
from premortem.events import Event, Forward, RunEnded, StateLoaded, WeightsReplaced

# More calls after the last step than after any other: the script evaluates what it has trained once more, for itself.
_MORE = 1.1


class _Calls(NamedTuple):
    """When a state was loaded: calls of each model so far, evaluations since the last step, and the most between two steps."""

    all: Counter[int]
    since: Counter[int]
    usual: Counter[int]


class TrainedWeightsReplaced(Detector):
    """A model is trained, and then a file from before this run takes the place of its weights; only that is used from there on.

    ## Why it matters
    All that this run has trained is thrown away. The score at its end is that of an earlier run, and looks like one of this run:
    whatever was changed in data, settings or code has no effect on it.

    ## Usual causes
    "Save when better, and load the best for the final test", with a record that was read from an older file: nothing is better, so
    nothing is saved, and the file that is loaded is the old one. A save that was taken out of the script, or that has another name.

    ## What to do
    Start the record anew and move the old file away, or load only what this run has saved. Save the last weights in any case.

    ## When it stays silent
    When this run wrote the file, under whatever name; when training goes on afterwards, or other weights are loaded over it; when the
    file holds what the model has already. When the run went on from an earlier one (weights or the state of an optimizer were loaded before the first step):
    then its best file may be of that part. When the script evaluates its own weights for themselves before it loads the others, or has
    saved them: that compares two models. Where no line of the script writes the file, and the trained weights were evaluated, it is `info`.
    """

    card = Card("PM330", "trained-weights-replaced", "checkpoint", Severity.WARNING)
    listens = (Forward, StateLoaded, WeightsReplaced, RunEnded)
    uses = (Models,)

    def __init__(self) -> None:
        self._all: Counter[int] = Counter()
        self._step = 0
        self._since: Counter[int] = Counter()  # evaluations of each model since the last step
        self._usual: Counter[int] = Counter()  # the most between two steps
        self._loads: dict[int, _Calls] = {}  # by the key of the module
        self._replaced: WeightsReplaced | None = None

    def observe(self, event: Event) -> Findings:
        if isinstance(event, (Forward, StateLoaded)) and event.step > self._step:
            # By the number of the step: in a long run most steps are only counted.
            self._step = event.step
            self._usual |= self._since
            self._since = Counter()
        if isinstance(event, Forward):
            self._all[event.model] += 1
            self._since[event.model] += not event.grad or not event.training
        elif isinstance(event, StateLoaded):
            if event.target == "module" and event.step and not event.error:
                self._loads[event.key] = _Calls(self._all.copy(), self._since.copy(), self._usual.copy())
        elif isinstance(event, WeightsReplaced):
            self._replaced = event
        elif isinstance(event, RunEnded) and self._replaced is not None and not event.cut_off:
            yield from self._judge(self._replaced)

    def _judge(self, event: WeightsReplaced) -> Findings:
        calls = self._loads.get(event.model)
        mine = set(event.parameters)
        seen = self.fact(Models).seen
        models = [key for key, model in seen.items() if any(p.key in mine for p in model.parameters)]
        if calls is None or not any(self._all[model] > calls.all[model] for model in models):
            return  # nothing uses it
        more = any(calls.since[model] > _MORE * calls.usual[model] for model in models)
        known = any(calls.usual[model] for model in models)
        if event.saved_by is not None:
            if more and known:
                return
            severity = Severity.WARNING
        elif event.kept or more:
            return
        else:
            severity = Severity.INFO if event.called else Severity.WARNING
        path = event.path.rpartition("/")[2]
        yield self.last_word(
            event,
            f"`{event.name}` was trained, {event.step} {'step' if event.step == 1 else 'steps'} in all, and then `{path}` of "
            f"{minute(event.written)} UTC, from before this run, took the place of its weights",
            cause=(
                f"{event.saved_by} writes `{path}`, and did not in this run: it compares with a record of an earlier run, or was not reached. "
                if event.saved_by is not None
                else "No line of this script writes that file. "
            )
            + "What is evaluated afterwards is the earlier run."
            + ("" if event.kept else " The weights that this run has trained are lost."),
            remedy="Start the record anew and move the old file away, or load only what this run has saved; save the last weights in any "
            "case.",
            severity=severity,
            file=event.path,
            written=event.written,
            steps=event.step,
            saved_at=str(event.saved_by) if event.saved_by is not None else None,
            kept=event.kept,
        )
