from typing import NamedTuple

from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.detectors.shared.resuming import FIRST_RESUMED, file_of, goes_on
from premortem.events import (
    EpochEnded,
    EpochStarted,
    Event,
    LoaderBuilt,
    LogLine,
    OptimizerStep,
    RanksSeen,
    Resumed,
    RunEnded,
)
from premortem.metric_words import EPOCHS, counts, sizes_a_step

# Times the samples of an epoch: less is a cleaned or extended data set, an uneven last batch, a skipped step.
_TIMES = 4.0
# The steps of an epoch differ by these when a run moves between one, four, eight and sixteen processes, or accumulates so many batches.
_EARLY = 0.1  # of the steps: a line that counts batches comes in the first tenth of an epoch
_USUAL_FACTORS = (4, 8, 16)


class _Claim(NamedTuple):
    """What the file says of the run that made it."""

    name: str  # of its counter
    number: int
    done: int  # epochs
    length: float  # steps of each


class CheckpointMadeOnOtherData(Detector):
    """A run goes on from a file whose epochs had a quarter of the steps that its own have, or four times as many.

    ## Why it matters
    The counter of epochs is carried over, and it counted epochs of other data. "Epoch 14 of 15" is then the last but one of a run
    that has seen these data not once: it stops after one epoch, with a schedule that is at its end, and its score is that of a pilot.

    ## Usual causes
    A pilot on a part of the data left its checkpoint in the folder in which the run looks for its own; a folder for two data sets.

    ## What to do
    Move the file away to train anew, or load only its weights and count the epochs from 0.

    ## When it stays silent
    When the optimizer counts no steps (SGD), when the file has no counter of epochs, and when the run counts its epochs anew. When batch
    size, accumulation or the number of processes explains the difference, as far as the file or the run shows them; a factor of exactly 4, 8 or
    16 without a word about them is `info`. When the steps may have been counted anew in the middle of the earlier run (an optimizer that was
    built again), and when this run makes as many epochs as the file already had: then it was meant as a start.
    """

    card = Card("PM334", "checkpoint-made-on-other-data", "checkpoint", Severity.WARNING)
    listens = (Resumed, LoaderBuilt, EpochStarted, EpochEnded, LogLine, OptimizerStep, RanksSeen, RunEnded)

    def __init__(self) -> None:
        self._resumed: Resumed | None = None
        self._batch_sizes: dict[int, int] = {}  # of each loader
        self._open: dict[int, int] = {}  # loader -> step at which its pass began
        self._passes: set[tuple[int, int]] = (
            set()
        )  # steps of whole passes with training in them, and the loader
        self._left_early = False
        self._printed: list[tuple[int, int]] = []  # number of the epoch, and the step: the first and the last
        self._optimizers: set[int] = set()
        self._summed_up = 1  # backward passes for one step
        self._processes = 1

    def observe(self, event: Event) -> Findings:
        if isinstance(event, Resumed):
            if not event.restored or self._resumed is not None or event.step or not event.saved_steps:
                self.over = (
                    True  # another kind of resume, or several optimizers, which share the steps of an epoch
                )
            self._resumed = event
        elif isinstance(event, LoaderBuilt):
            self._batch_sizes[event.loader] = event.batch_size or 0
        elif isinstance(event, EpochStarted):
            self._left_early |= event.step > self._open.pop(event.loader, event.step)
            self._open[event.loader] = event.step
        elif isinstance(event, EpochEnded):
            began = self._open.pop(event.loader, event.step)
            if event.step > began and event.complete:
                self._passes.add((event.step - began, event.loader))
            self._left_early |= event.step > began and not event.complete
        elif isinstance(event, LogLine):
            named = [value for label, _, value in event.values if label in EPOCHS]
            if named and named[0] == int(named[0]) and (not self._printed or named[0] > self._printed[-1][0]):
                self._printed = [*self._printed[:1], (int(named[0]), event.step)]
        elif isinstance(event, OptimizerStep):
            self._optimizers.add(event.optimizer)
            self._summed_up = max(self._summed_up, event.backwards)
            self.over = self._resumed is None or len(self._optimizers) > 1
        elif isinstance(event, RanksSeen):
            self._processes = max(self._processes, len(event.ranks))
        elif isinstance(event, RunEnded) and self._resumed is not None and not event.cut_off:
            yield from self._judge(event, self._resumed)

    def _judge(self, event: RunEnded, resumed: Resumed) -> Findings:
        length = self._length(event)
        claim = claim_of(resumed, length) if length else None
        if claim is None:
            return
        made = max(1, round(event.step / length))
        if made >= claim.done or not self._apart(resumed, claim.length, length):
            return
        factor = max(claim.length, length) / min(claim.length, length)
        usual = any(near(claim.length, length, each) for each in _USUAL_FACTORS)
        sized = bool(sizes(resumed))
        then = f"{claim.length:.0f}" if claim.length == round(claim.length) else f"{claim.length:.1f}"
        path = file_of(resumed)
        yield self.last_word(
            event,
            f"the run goes on with `{path}` at {claim.name} {claim.number}, whose epochs had {then} {'step' if then == '1' else 'steps'} "
            f"each; an epoch of this run has {length}, and it made {'only one' if made == 1 else made} of them",
            cause=f"The optimizer in `{path}` has made {resumed.saved_steps} steps in {claim.done} epochs: it is of a run on "
            f"{'less' if claim.length < length else 'more'} data, by a factor of {factor:.3g}. Its epochs are none of these data.",
            remedy="Move the file away to train anew, or load only its weights and count the epochs from 0."
            + ("" if sized else " Ignore this if batch size or number of processes was another then."),
            severity=Severity.INFO if usual and not sized else Severity.WARNING,
            at=resumed.at,
            file=resumed.path,
            counter=claim.name,
            saved=claim.number,
            saved_steps=resumed.saved_steps,
            steps_per_epoch_then=round(claim.length, 2),
            steps_per_epoch_now=length,
            epochs_made=made,
        )

    def _length(self, event: RunEnded) -> int:
        """Steps of an epoch of this run; 0 where that is not certain."""
        if self._left_early or any(event.step > began for began in self._open.values()):
            return 0  # a pass was cut short: its length is not that of the data
        if self._passes:
            lengths = {length for length, _ in self._passes}
            return max(lengths) if max(lengths) - min(lengths) <= 1 else 0
        if not self._printed:
            return 0
        (first, began), (last, ended) = self._printed[0], self._printed[-1]
        if last > first and ended > began:
            return round((ended - began) / (last - first))
        # One epoch, whose line was printed early in it or after its last step.
        return event.step if last == first and (began <= _EARLY * event.step or began == event.step) else 0

    def _apart(self, resumed: Resumed, then: float, now: int) -> bool:
        """Whether the samples of an epoch differ that much, whatever the file leaves open of how many make a step."""
        known = sizes(resumed)
        own = {
            "batch": max((self._batch_sizes.get(loader, 0) for _, loader in self._passes), default=0),
            "accumulated": self._summed_up,
            "processes": self._processes,
        }
        factors = [1.0]
        if self._processes > 1 and "processes" not in known:
            factors.append(float(self._processes))
        if self._summed_up > 1 and "accumulated" not in known:
            factors += [self._summed_up * factor for factor in factors]
        for kind, size in known.items():
            if own[kind]:
                factors = [factor * own[kind] / size for factor in factors]
            else:
                factors += [factor / size for factor in factors]
        return all(max(then / (now * each), now * each / then) >= _TIMES for each in factors)


def claim_of(resumed: Resumed, length: int) -> _Claim | None:
    """What the counter of epochs and the optimizer's count of steps say, when the run counts its own epochs on from there."""
    on = goes_on(resumed)
    saved = next(((n, v) for n, v in resumed.counters if counts(n) == "epoch"), None)
    if on is None or saved is None or counts(on[0]) not in ("epoch", "") or saved[1] < FIRST_RESUMED:
        return None
    name, number = saved
    if not number <= on[1] <= number + 1:
        return None
    steps = resumed.saved_steps
    # A counter from 0 stands one below the epochs that are done when it is saved: both may be so, and one gives whole epochs.
    whole = [done for done in (on[1], number, number + 1) if steps % done == 0]
    done = whole[0] if whole else on[1]
    if steps / done < length and (not whole or steps % length == 0):
        return None  # its steps may have been counted anew in between, with an optimizer that was built again
    return _Claim(name, number, done, steps / done)


def sizes(resumed: Resumed) -> dict[str, int]:
    """How many samples the file says that a step of its run was made of: batch size, accumulation, processes."""
    found: dict[str, int] = {}
    for name, value in resumed.saved_settings:
        found.setdefault(sizes_a_step(name), value)
    return found


def near(then: float, now: int, factor: int) -> bool:
    """Whether one is the other, divided by this, within the last batch."""
    small, large = sorted((then, float(now)))
    return abs(large / factor - small) <= 1
