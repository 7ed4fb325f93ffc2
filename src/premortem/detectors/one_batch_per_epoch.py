from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.detectors.shared.stored import Stored
from premortem.events import EpochEnded, EpochStarted, Event, LoaderBuilt

_FITS = 2  # times the samples: who wants all of them in one batch writes the next round number
_EPOCHS = 3  # in which a step was made, so that it is no look at the data


class OneBatchPerEpoch(Detector):
    """The training set is smaller than one batch, so that an epoch is a single step.

    ## Why it matters
    The batch size says that many batches were expected. Every step sees the same samples, schedules that count epochs run through in a
    moment, and what is learnt is those few samples by heart.

    ## Usual causes
    A file that was cut off; a limit of a smoke test in an option, a configuration or the environment; a filter that leaves hardly
    anything; the folder of another split.

    ## What to do
    Count the samples, and find what limits them. Where all of them are meant to be one batch, write `batch_size=len(dataset)`.

    ## When it stays silent
    When the batch size is the length of the dataset, when the loader does not shuffle, and when no step is made in the epochs. A batch size
    that is less than twice as large as the dataset may be meant to hold all of it: that is a note, and so is it in a run that reads no file of
    data, whose samples were made up.
    """

    card = Card("PM363", "one-batch-per-epoch", "data-empty", Severity.WARNING).explaining(
        "same-batch-every-step"
    )
    uses = (Stored,)
    listens = (LoaderBuilt, EpochStarted, EpochEnded)

    def __init__(self) -> None:
        super().__init__()
        self._small: dict[int, LoaderBuilt] = {}
        self._began: dict[int, int] = {}

    def observe(self, event: Event) -> Findings:
        if isinstance(event, LoaderBuilt):
            if event.shuffle and event.samples and event.batch_size and 1 < event.samples < event.batch_size:
                self._small[event.loader] = event
        elif isinstance(event, EpochStarted):
            self._began[event.loader] = event.step
        elif isinstance(event, EpochEnded) and event.loader in self._small and event.batches == 1:
            trained = event.step > self._began.get(event.loader, event.step)
            if trained and self.times(event.loader) == _EPOCHS:
                loader = self._small[event.loader]
                yield self.finding(
                    event,
                    f"an epoch is one batch: the loader's batch size is {loader.batch_size}, and its dataset has {loader.samples} samples",
                    at=loader.at,
                    cause="The training set is smaller than a single batch, so each step sees all of it.",
                    remedy="Find what limits the samples: a file that was cut off, an option, a variable of the environment. Where this is "
                    "all there is, write `batch_size=len(dataset)`.",
                    severity=Severity.INFO if fits(loader) or not self.fact(Stored).data else None,
                    samples=loader.samples,
                    batch_size=loader.batch_size,
                )


def fits(loader: LoaderBuilt) -> bool:
    return (loader.batch_size or 0) < _FITS * (loader.samples or 0)
