"""Runs of training steps whose input is the same, though the tensor is not."""

from collections.abc import Iterator
from dataclasses import dataclass

from premortem.events import Backward, Event, Forward, OptimizerStep, Site

MOST_PENDING = 256  # forwards without a step: an evaluation, whose first ones are not asked for


@dataclass
class Run:
    """Steps of one model that had the same input."""

    fingerprint: int
    samples: int | None
    at: Site | None
    since: int
    window: bool
    model: int = 0
    steps: int = 0
    anew: int = 0  # steps with another tensor object than the step before
    others: bool = False  # other inputs of this size came at this line before
    several: bool = (
        False  # different inputs in one backward pass: two views of a picture, the steps of an episode
    )

    @property
    def changing(self) -> bool:
        """The input is made anew in each step: it is not one tensor that is kept on purpose."""
        return self.anew >= 0.8 * self.steps


class Runs:
    LISTENS: tuple[type[Event], ...] = (Forward, Backward, OptimizerStep)

    def __init__(self) -> None:
        self._pending: list[Forward] = []
        self._trained: dict[int, Forward] = {}  # last trained forward of each model since the last step
        self._several: dict[
            int, tuple[int | None, ...]
        ] = {}  # model -> its inputs, where one loss has different ones
        self._runs: dict[int, Run] = {}

    def observe(self, event: Event) -> Iterator[Run]:
        """The runs that this event makes longer."""
        if isinstance(event, Forward):
            if event.grad and event.tracked:
                self._pending = [*self._pending[-MOST_PENDING:], event]
        elif isinstance(event, Backward):
            inputs: dict[int, list[int | None]] = {}
            for forward in self._pending:
                if forward.number not in event.untrained:
                    self._trained[forward.model] = forward
                    inputs.setdefault(forward.model, []).append(forward.fingerprint)
            self._several = {model: tuple(each) for model, each in inputs.items() if len(set(each)) > 1}
            self._pending = []
        elif isinstance(event, OptimizerStep):
            trained, self._trained = self._trained, {}
            if event.closure:
                self._runs.clear()
                return
            for forward in trained.values():
                yield from self._extend(forward)

    def _extend(self, forward: Forward) -> Iterator[Run]:
        run = self._runs.get(forward.model)
        several = self._several.pop(forward.model, ())
        if forward.fingerprint is None or None in several:
            self._runs.pop(forward.model, None)
            return
        fingerprint = hash(several) if several else forward.fingerprint
        if run is None or run.fingerprint != fingerprint:
            same_place = run is not None and run.at == forward.at and run.samples == forward.samples
            run = self._runs[forward.model] = Run(
                fingerprint,
                forward.samples,
                forward.at,
                forward.step,
                forward.window,
                forward.model,
                others=same_place,
                several=bool(several),
            )
        run.steps += 1
        run.anew += not forward.same_object
        run.window = run.window and forward.window
        yield run
