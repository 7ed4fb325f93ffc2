from premortem.amounts import count, some
from premortem.detectors.base import TWICE, Card, Detector, Findings, Severity
from premortem.events import Event, Forward, RunEnded, StateLoaded


class LoadedWithoutStatistics(Detector):
    """Loaded batch norms have trained scales and the statistics of a new layer, and are used in eval mode.

    ## Why it matters
    In eval mode a batch norm divides by its running statistics. At mean 0 and variance 1 it passes its input on as it came, and the
    layers above see numbers that they were never trained on. A frozen encoder stays so for the whole run.

    ## Usual causes
    A file that was saved from an average of the weights only; a conversion between frameworks that left out the buffers; a
    checkpoint of `named_parameters()`; `reset_running_stats()` before saving.

    ## What to do
    Load a checkpoint with its buffers, or collect the statistics again: `torch.optim.swa_utils.update_bn(loader, model)`.

    ## When it stays silent
    When the scales are those of a new layer too, and when the layers run in train mode, which counts their statistics anew. Before the first step one call
    may be a trial; several are an encoder that prepares the data, as long as it is not counted anew afterwards.
    """

    card = Card("PM356", "loaded-without-statistics", "checkpoint", Severity.WARNING).explaining(
        "statistics-never-collected", "trained-in-eval-mode"
    )
    listens = (StateLoaded, Forward, RunEnded)

    def __init__(self) -> None:
        super().__init__()
        self._loaded: StateLoaded | None = None
        self._early: dict[int, list[Forward]] = {}  # by model: calls with such layers before the first step

    def observe(self, event: Event) -> Findings:
        if isinstance(event, StateLoaded):
            self._loaded = event if event.uncounted else self._loaded
        elif self._loaded is None:
            return
        elif isinstance(event, RunEnded):
            if not event.cut_off:  # else their statistics may still have been collected
                yield from self._judge(self._loaded)
        elif isinstance(event, Forward):
            if event.unborn:
                self._early.setdefault(event.model, []).append(event)
            elif event.noisy_train:
                self._early.pop(event.model, None)
            if event.step:
                yield from self._judge(self._loaded)

    def _judge(self, loaded: StateLoaded) -> Findings:
        for calls in self._early.values():
            if len(calls) >= TWICE or calls[-1].step:
                yield self.last_word(
                    calls[-1],
                    f"{count(len(loaded.uncounted), 'batch norm')} of what was loaded into `{loaded.name}` ({some(loaded.uncounted)}) have "
                    "trained scales and the statistics of a new layer, and run in eval mode",
                    at=loaded.at,
                    cause="The file has mean 0 and variance 1 for them: no batch has ever gone into these statistics, or they were left out "
                    "when the file was made.",
                    remedy="Load a checkpoint with its buffers, or collect the statistics with "
                    "`torch.optim.swa_utils.update_bn(loader, model)` before the layers are frozen.",
                    module=loaded.name,
                    layers=list(loaded.uncounted),
                )
                return
