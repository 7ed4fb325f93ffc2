from premortem.amounts import count
from premortem.detectors.base import Card, Certainty, Detector, Finding, Findings, Severity
from premortem.detectors.shared.optimizers import Optimizers
from premortem.detectors.shared.printed import counter
from premortem.detectors.shared.resuming import FIRST_RESUMED, goes_on
from premortem.events import (
    Event,
    FileLoaded,
    LogLine,
    OptimizerStep,
    Resumed,
    Site,
    StateLoaded,
)


class OptimizerStateNotRestored(Detector):
    """A run is resumed with the weights of a checkpoint and without the optimizer state that is in it.

    ## Why it matters
    Adam's moments and step count start from zero on weights that are far along, so the first steps are too large, and
    the loss jumps after each resume.

    ## Usual causes
    `optimizer.load_state_dict(checkpoint["optimizer"])` was forgotten, or was called on an optimizer that is replaced
    afterwards.

    ## What to do
    Restore model, optimizer, scheduler and counter together, after all of them were built.

    ## When it stays silent
    A new run that starts from old weights (fine-tuning): it counts its epochs from the start.
    """

    card = Card("PM312", "optimizer-state-not-restored", "checkpoint", Severity.WARNING)
    uses = (Optimizers,)
    listens = (FileLoaded, StateLoaded, OptimizerStep, LogLine, Resumed)

    def __init__(self) -> None:
        self._file: FileLoaded | None = None
        self._weights: StateLoaded | None = None  # loaded after the file was read
        self._restored: set[int] = set()
        self._stepping: OptimizerStep | None = None

    def observe(self, event: Event) -> Findings:
        if isinstance(event, FileLoaded):
            # Only a file that holds optimizer state and says how far it was can be resumed from.
            self._file = event if event.optimizer_entries and event.counters else None
            self._weights, self._stepping = None, None
            self._restored.clear()
        elif isinstance(event, StateLoaded):
            self._loaded(event)
        elif isinstance(event, OptimizerStep):
            if self._weights is not None and self._stepping is None and event.optimizer not in self._restored:
                self._stepping = event
        elif isinstance(event, LogLine):
            yield from self._printed(event)
        elif isinstance(event, Resumed):
            yield from self._looped(event)

    def _loaded(self, event: StateLoaded) -> None:
        if event.target == "optimizer":
            self._restored.add(event.key)
        elif self._file is not None and event.matched == event.wanted and not event.error and event.wanted:
            self._weights = event

    def _printed(self, event: LogLine) -> Findings:
        counted = counter(event)
        file, step, weights = self._file, self._stepping, self._weights
        if counted is None or file is None or step is None or weights is None:
            return
        self._file = None  # the first line decides
        near = [value for _, value in file.counters if value and value <= counted[1] <= value + 2]
        if (
            near
            and counted[1] >= FIRST_RESUMED
            and len(self.fact(Optimizers).held(step.optimizer)) == file.optimizer_entries
        ):
            yield self._found(event, counted, file.path, step.kind, file.optimizer_entries, file.at)

    def _looped(self, event: Resumed) -> Findings:
        """The script need not print its counter: the loop itself goes on from where the file ends."""
        counted = goes_on(event)
        if counted is not None and not event.restored and event.entries == event.parameters and self._file:
            self._file = None
            yield self._found(event, counted, event.path, event.kind, event.entries, event.at)

    def _found(
        self, event: Event, counted: tuple[str, int], path: str, kind: str, entries: int, at: Site | None
    ) -> Finding:
        return self.finding(
            event,
            f"the run goes on at {counted[0]} {counted[1]} with the weights of "
            f"`{path.rpartition('/')[2] or 'the checkpoint'}`, but a fresh {kind}: the state of "
            f"{count(entries, 'parameter')} in the file was not restored",
            cause="The optimizer's moments start from zero on weights that are far along, so the first steps are too large.",
            remedy="Call `optimizer.load_state_dict(...)` with the state in the file, after the optimizer was built.",
            at=at,
            certainty=Certainty.MEASURED,
            file=path,
            entries=entries,
        )
