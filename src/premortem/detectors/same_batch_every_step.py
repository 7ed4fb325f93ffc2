from dataclasses import dataclass
from itertools import pairwise

from premortem.detectors.base import THRICE, Card, Detector, Finding, Findings, Severity
from premortem.detectors.shared.printed import counted
from premortem.detectors.shared.runs import Run, Runs
from premortem.events import BatchDrawn, EpochEnded, Event, LoaderBuilt, LogLine, RunEnded

STEPS = 10  # when the batches come from a loader that has others: chance never draws one twice
# When they are cut from a larger tensor, several in each epoch: overfitting one batch on purpose takes few steps.
CUT_STEPS = 20
STUCK_STEPS = 50  # when other batches came before: a few repeats are a line search
PER_EPOCH = 3  # steps in each printed epoch: full-batch training makes one
PASSES = 2  # over a loader of a few batches: in each, the first batch stood for all the others


@dataclass
class Epoch:
    number: int
    step: int


@dataclass
class Pass:
    """One pass over a loader that was left after its first batch."""

    begun: dict[int, int]  # model -> its steps before
    changed: dict[int, int]  # ... and how often its input had changed


class SameBatchEveryStep(Detector):
    """Every training step of an epoch gets the same batch.

    ## Why it matters
    The model learns a few samples by heart. The training loss falls nicely and nothing generalises.

    ## Usual causes
    `next(iter(loader))` in each step on a loader that does not shuffle, or on a stream; a position that is never advanced
    (`x[:64]`, `pos =+ size`); a dataset whose `__getitem__` ignores the index; a batch that is taken before the loop over
    the steps of an epoch.

    ## What to do
    Loop over the loader, or advance the position; look at the index that is used in each step.

    ## When it stays silent
    One tensor used again and again (full-batch training, an overfitting check), unless one is drawn for each epoch and used
    for exactly as many steps as the loader has batches; LBFGS, and slices of which there is no sign that they should change; where
    one loss has several inputs of the model that no loader gave: an agent that has learned its task makes the same steps in each episode.
    """

    card = Card("PM332", "same-batch-every-step", "data-order", Severity.ERROR).explaining(
        "constant-labels", "fewer-samples-than-expected"
    )
    listens = (*Runs.LISTENS, LoaderBuilt, BatchDrawn, EpochEnded, LogLine, RunEnded)

    def __init__(self) -> None:
        self._runs = Runs()
        self._loaders: dict[int, LoaderBuilt] = {}
        self._drawn: dict[int, tuple[int, int]] = {}  # loader -> fingerprint, times in a row
        self._left: dict[int, int] = {}  # loader -> passes in a row that were left after their first batch
        self._epochs: list[Epoch] = []
        self._steps: dict[int, int] = {}  # model -> training steps whose input is known
        self._changed: dict[int, int] = {}  # model -> ... of which the input was another than before
        self._passes: dict[int, Pass] = {}  # loader -> the pass that has drawn one batch so far
        self._stood: dict[int, int] = {}  # loader -> passes in a row in which one batch stood for all

    def observe(self, event: Event) -> Findings:
        if isinstance(event, LoaderBuilt):
            self._loaders[event.loader] = event
        elif isinstance(event, RunEnded):
            # Where the run was cut off, the last pass may have had more batches: at rest they are only counted, by its end.
            for loader in list(self._passes) if event.reason == "finished" else ():
                yield from self._passed(event, loader)
        elif isinstance(event, BatchDrawn):
            if event.index > 0:
                self._passes.pop(event.loader, None)
            else:
                yield from self._passed(event, event.loader)
                self._passes[event.loader] = Pass(dict(self._steps), dict(self._changed))
            if event.fingerprint is not None:
                last, times = self._drawn.get(event.loader, (0, 0))
                self._drawn[event.loader] = (event.fingerprint, times + 1 if last == event.fingerprint else 1)
        elif isinstance(event, EpochEnded):
            if event.batches > 1:  # at rest batches are only counted: no event says that there were others
                self._passes.pop(event.loader, None)
            early = event.batches == 1 and not event.complete
            self._left[event.loader] = self._left.get(event.loader, 0) + 1 if early else 0
        elif isinstance(event, LogLine):
            self._printed(event)
        else:
            for run in self._runs.observe(event):
                self._steps[run.model] = self._steps.get(run.model, 0) + 1
                self._changed[run.model] = self._changed.get(run.model, 0) + (run.steps == 1)
                if not self.over and run.changing:
                    yield from self._judge(event, run)

    def _passed(self, event: Event, key: int) -> Findings:
        """A pass that drew one batch is over: how many steps were made with it?"""
        last, loader = self._passes.pop(key, None), self._loaders.get(key)
        if last is None or loader is None or self.over:
            return
        stood = loader.batches is not None and any(
            steps - last.begun.get(model, 0) == loader.batches > PER_EPOCH
            and self._changed[model] - last.changed.get(model, 0) <= 1
            for model, steps in self._steps.items()
        )
        self._stood[key] = self._stood.get(key, 0) + 1 if stood else 0
        # Exactly as many steps with one batch as the loader has, and many of them, are not made on purpose.
        if self._stood[key] >= (PASSES if loader.batches is None or loader.batches < STEPS else 1):
            yield self.last_word(
                event,
                f"each epoch made {loader.batches} steps with one batch, the first that the loader gave",
                cause=f"The loader has {loader.batches} batches; one of them was taken before the loop over the steps, and used "
                "in all of them.",
                remedy="Loop over the loader: one batch for each step.",
                steps=loader.batches,
            )

    def _printed(self, event: LogLine) -> None:
        number = counted(event)
        if number is None:
            return
        last = self._epochs[-1] if self._epochs else None
        if last is not None and (number != last.number + 1 or event.step <= last.step):
            self._epochs = []
        self._epochs = [*self._epochs[-THRICE:], Epoch(number, event.step)]

    def _judge(self, event: Event, run: Run) -> Findings:
        loader = self._loader(run)
        if loader is not None and run.steps >= STEPS:
            has = "gives a stream of batches" if loader.batches is None else f"has {loader.batches} batches"
            how = f"the loader {has}, and each pass over it starts again with the first"
            yield self._found(event, run, how)
        elif run.several:
            return  # a policy that has learned its task goes the same way in each episode
        elif (run.window or run.others) and run.steps >= CUT_STEPS and self._several_in_each_epoch(run):
            yield self._found(event, run, "it is taken anew in each step, and each epoch has many steps")
        elif run.window and run.steps >= STUCK_STEPS and run.others:
            how = "it is a part of a larger tensor, and other parts came before it got stuck"
            yield self._found(event, run, how)

    def _loader(self, run: Run) -> LoaderBuilt | None:
        """The loader that gave the same batch in each of these steps, and has more of them."""
        for key, (_, times) in self._drawn.items():
            loader = self._loaders.get(key)
            if loader is not None and times >= min(run.steps, STEPS) and self._has_others(loader, run):
                return loader
        return None

    def _has_others(self, loader: LoaderBuilt, run: Run) -> bool:
        """A stream does not say how long it is: its first batch was a full one, and the script never asked for the second."""
        if loader.batches is not None:
            return loader.batches > 1
        return run.samples == loader.batch_size and self._left.get(loader.loader, 0) >= STEPS - 2

    def _several_in_each_epoch(self, run: Run) -> bool:
        epochs = [epoch for epoch in self._epochs if epoch.step >= run.since]
        pairs = list(pairwise(epochs))
        return len(pairs) >= THRICE - 1 and all(
            b.step - a.step >= PER_EPOCH * (b.number - a.number) for a, b in pairs
        )

    def _found(self, event: Event, run: Run, how: str) -> Finding:
        return self.last_word(
            event,
            f"the last {run.steps} training steps all got the same batch of {run.samples} samples",
            cause=f"The script does not keep one tensor: {how}.",
            remedy="Advance the position, or loop over the loader instead of starting it again in each step.",
            at=run.at,
            steps=run.steps,
        )
