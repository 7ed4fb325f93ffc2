from premortem.amounts import count, some
from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.events import Event, Forward, StateLoaded


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
    When the scales are those of a new layer too, and when the layers run in train mode, which counts their statistics anew.
    """

    card = Card("PM356", "loaded-without-statistics", "checkpoint", Severity.WARNING).explaining(
        "statistics-never-collected", "trained-in-eval-mode"
    )
    listens = (StateLoaded, Forward)

    def __init__(self) -> None:
        super().__init__()
        self._loaded: StateLoaded | None = None

    def observe(self, event: Event) -> Findings:
        if isinstance(event, StateLoaded):
            self._loaded = event if event.uncounted else self._loaded
        elif isinstance(event, Forward) and self._loaded is not None and event.unborn and event.step:
            loaded = self._loaded
            yield self.last_word(
                event,
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
