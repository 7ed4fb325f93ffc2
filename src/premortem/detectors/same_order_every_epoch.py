from premortem.detectors.base import THRICE, Card, Certainty, Detector, Findings, Severity
from premortem.events import (
    EpochEnded,
    Event,
    OptimizerBuilt,
    OptimizerStep,
    OrderDrawn,
    Seeded,
    Site,
    StateLoaded,
)


class SameOrderEveryEpoch(Detector):
    """The data are shuffled, and into the same order in every epoch.

    ## Why it matters
    Each batch holds the same samples each time, in the same place of the epoch: the gradient's noise is the same again, and so are dropout
    and augmentation if they draw from the same generator. What shuffling is for is lost.

    ## Usual causes
    A seed that is set at the start of each epoch, for the training or for a sampling or an evaluation beside it
    (`generator=torch.manual_seed(0)` seeds the generator that the training draws from); or a loader that is built for each epoch with
    a generator of a fixed seed.

    ## What to do
    Set the seed once, before the training; or make it depend on the epoch: `torch.manual_seed(seed + epoch)`.

    ## How it is measured
    The numbers of the samples in the first batch of each pass of a random sampler: a training draws the same ones three times in a row.
    Without a loader: when torch's generator is seeded again with the same number, it stands bit for bit where it stood the time
    before, and training steps were among those that drew from it since.

    ## When it stays silent
    Data in a fixed order, samplers of the script's own, small sets, a seed for each step (PM333 speaks of that), and trainings that are
    repeated from the start with one seed. Where several optimizers train in turns, each of them is another training, which may see the same
    order; a pass of which it is not known who was trained is left out.
    """

    card = Card("PM157", "same-order-every-epoch", "data-order", Severity.WARNING)
    listens = (OrderDrawn, EpochEnded, OptimizerBuilt, OptimizerStep, Seeded, StateLoaded)

    def __init__(self) -> None:
        self._open: dict[int, OrderDrawn] = {}
        self._trained: dict[int, frozenset[int]] = {}  # by loader: who stepped in the pass
        self._all: frozenset[int] = frozenset()  # who ever did
        self._last: dict[tuple[int, frozenset[int]], int] = {}
        # Line and seed: times in a row that the training repeated.
        self._seeded: dict[tuple[Site | None, int], int] = {}

    def observe(self, event: Event) -> Findings:
        if isinstance(event, OrderDrawn):
            self._open[event.loader] = event
            self._trained[event.loader] = frozenset()
        elif isinstance(event, OptimizerStep):
            self._all |= {event.optimizer}
            for loader, trained in self._trained.items():
                self._trained[loader] = trained | {event.optimizer}
        elif isinstance(event, (OptimizerBuilt, StateLoaded)):
            # another training, or the same one from an earlier point
            self._last.clear()
            self._seeded.clear()
        elif isinstance(event, Seeded):
            yield from self._rewound(event)
        elif isinstance(event, EpochEnded):
            drawn = self._open.pop(event.loader, None)
            stepped = self._trained.pop(event.loader, frozenset())
            # Not every step is reported. Of one optimizer alone it is known who made it.
            who = stepped or (self._all if len(self._all) == 1 else frozenset())
            if drawn is not None and event.step > drawn.step and who:
                key = (drawn.data, who)
                again = self._last.get(key) == drawn.first
                self._last[key] = drawn.first
                row = self.in_a_row(key, again)
                if row >= THRICE - 1 and self.once(drawn.data):
                    yield self.finding(
                        event,
                        f"{row + 1} epochs in a row began with the same samples in the same order, though the sampler is random",
                        cause="The random numbers begin anew in each epoch: a seed is set inside the loop over the epochs, or a generator is "
                        "built there.",
                        remedy="Set the seed once before the loop, or let it depend on the epoch.",
                        certainty=Certainty.PROVED,
                        epochs=row + 1,
                    )

    def _rewound(self, event: Seeded) -> Findings:
        key = (event.at, event.seed)
        row = self._seeded[key] = self._seeded.get(key, 0) + 1 if event.trained else 0
        if row >= THRICE - 1 and self.once(key):
            yield self.finding(
                event,
                f"torch's generator is seeded with {event.seed} again and again, and the training draws the same numbers after each time "
                f"({row + 1} times in a row)",
                cause="All that is random in the training repeats: batches, noise, dropout, augmentation.",
                remedy="Set the seed once before the loop. What is to be the same each time, such as samples to look at, gets a generator of "
                f"its own: `torch.Generator().manual_seed({event.seed})`.",
                certainty=Certainty.PROVED,
                seed=event.seed,
                times=row + 1,
            )
