from premortem.detectors.base import Card, Certainty, Detector, Findings, Severity
from premortem.events import EpochEnded, PartStarted

FEWEST = 10  # rows: a few may be in two parts by mistake
HALF = 0.5  # of the rows are trained on in two of three folds alike, and more in those of more folds


class HeldOutAfterTraining(Detector):
    """Rows that are held out now were trained on before, and the model still has what it learned from them.

    ## Why it matters
    In cross-validation each fold is judged by rows that its own model has not seen. A model that goes on from fold to fold has seen
    them all: from the second fold on the score is one of memory, and so is the mean over the folds.

    ## Usual causes
    The model is built once, before the loop over the folds, and not anew (or set back) in each of them.

    ## What to do
    Build the model, and the optimizer, inside the loop over the folds.

    ## How it is measured
    By the numbers of rows in one dataset. A first training held its evaluation out, row by row; a second one, of weights that are bit
    for bit those after the first, holds out rows of which all were in the first, and is trained on all those that the first held out. At
    least half of its rows were in the first as well: these are folds.

    ## When it stays silent
    When a new model is trained, or one whose weights were set back or loaded in between; when parts grow or follow one another (active
    learning, walking forward, one task after the other with a look back at each); for two folds, which are like two tasks; for parts that
    are drawn anew, whatever is done with the rest; when rows have no numbers.
    """

    card = Card("PM154", "held-out-after-training", "data-order", Severity.ERROR)
    listens = (PartStarted, EpochEnded)

    def __init__(self) -> None:
        self._last: dict[int, int] = {}  # weights at the last start of a pass
        # ... before and at the first start of each loader's
        self._first: dict[int, tuple[dict[int, int], dict[int, int]]] = {}
        self._parts: dict[int, PartStarted] = {}
        self._open: dict[int, PartStarted] = {}
        self._chain: list[int] = []  # loaders that one model was trained on, one after the other
        self._next: int | None = None  # trained on, and perhaps another link
        # Those that shared no row with a pass that trained nothing: these passes, and how many rows they have
        self._held_out: dict[int, dict[int, int]] = {}

    def observe(self, event: PartStarted | EpochEnded) -> Findings:
        if isinstance(event, PartStarted):
            self._link(event.weights)
            self._first.setdefault(event.loader, (self._last, event.weights))
            self._last = event.weights
            self._open[event.loader] = self._parts[event.loader] = event
            return
        started = self._open.pop(event.loader, None)
        if started is None:
            return
        if event.step == started.step:
            yield from self._judged(event, started)
        elif event.loader not in self._chain[-1:]:
            self._next = event.loader

    def _link(self, weights: dict[int, int]) -> None:
        """The model that was trained on the last loader: whether it began there with the weights that the training before had left."""
        loader, self._next = self._next, None
        if loader is not None:
            before, at = self._first[loader]
            trained = {model for model, now in weights.items() if at.get(model) != now}
            goes_on = bool(trained) and all(
                before.get(model) == at.get(model) is not None for model in trained
            )
            self._chain = [*self._chain, loader] if goes_on else [loader]

    def _judged(self, event: EpochEnded, judged: PartStarted) -> Findings:
        if not self._chain:
            return
        *earlier, now = self._chain
        if judged.shared.get(now, 0):
            return
        self._held_out.setdefault(now, {})[event.loader] = judged.rows
        trained = self._parts[now].shared
        for loader in earlier:
            folds = any(
                trained.get(other, 0) == rows and not judged.shared.get(other, 0)
                for other, rows in self._held_out.get(loader, {}).items()
            )
            alike = trained.get(loader, 0) >= HALF * self._parts[now].rows
            shared = judged.shared.get(loader, 0)
            if folds and alike and shared == judged.rows >= FEWEST and self.once("found"):
                yield self.finding(
                    event,
                    f"{shared:,} of {judged.rows:,} rows that are held out now were trained on before, by the same weights: the "
                    "training goes on from one part of the data to the next",
                    cause="The model that is evaluated was trained on these rows when another part was held out, and was not built anew.",
                    remedy="Build model and optimizer anew for each fold, inside the loop.",
                    certainty=Certainty.PROVED,
                    shared=shared,
                    of=judged.rows,
                )
