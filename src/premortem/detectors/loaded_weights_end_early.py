from premortem.amounts import count, some
from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.events import Event, FileLoaded, StateLoaded


class LoadedWeightsEndEarly(Detector):
    """Weights that were loaded from a file end in rows of zeros.

    ## Why it matters
    All keys and shapes fit, so nothing is reported. But a part of the layer is dead: what it should have learnt is gone, and with
    zeros on both sides of an activation it may never come back.

    ## Usual causes
    A file of a fixed size that was not written to its end; a conversion that was stopped; a table of vectors with fewer words than rows.

    ## What to do
    Write the file again, and compare a checksum.

    ## When it stays silent
    For a single row (padding), for weights that are zero altogether (a new adapter) or in rows that are spread (pruning).
    """

    card = Card("PM364", "loaded-weights-end-early", "checkpoint", Severity.WARNING)
    listens = (StateLoaded, FileLoaded)

    def __init__(self) -> None:
        super().__init__()
        self._file = ""

    def observe(self, event: Event) -> Findings:
        if isinstance(event, FileLoaded):
            self._file = event.path.rpartition("/")[2]
        elif isinstance(event, StateLoaded) and event.empty and self._file and self.once(event.key):
            yield self.finding(
                event,
                f"`{self._file}` was loaded into `{event.name}`, and {count(len(event.empty), 'weight')} in it ({some(event.empty)}) "
                "end in rows of zeros: the file is incomplete",
                cause="The rows were never written: a part of the layer is empty (dead), while names and shapes fit.",
                remedy="Make the file again, and compare a checksum before it is used.",
                weights=list(event.empty),
            )
