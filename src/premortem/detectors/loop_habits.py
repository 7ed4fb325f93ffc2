from premortem.detectors.base import THRICE, TWICE, Card, Certainty, Detector, Finding, Findings, Severity
from premortem.detectors.shared.recounts import Printed, Recounts
from premortem.events import EvaluationEnded, Event, HabitSeen, LogLine, LossCall, ScoreRecounted
from premortem.metric_words import HIGHER, LOWER, words


def always_so(unit: Detector, found: Printed, so: bool) -> bool:
    """The first time that it was so often enough, never otherwise, and with different numbers: one number may agree by chance, and goes
    on to agree while the score stands still."""
    often = unit.always(found.label, so) >= THRICE
    changed = so and unit.different(found.label, found.text) >= TWICE
    if not (often and changed and unit.once(("printed", found.label))):
        return False
    unit.once("printed")
    return True


class OnlyTheLastBatch(Detector):
    """What is measured in each batch of an evaluation is written over by the next batch: the result is that of the last one.

    ## Why it matters
    The score of one batch, often the smallest, stands for the whole set. It jumps from epoch to epoch, and the best model is the one
    that was lucky there.

    ## Usual causes
    `correct = ...` for `correct += ...`; `correct = 0` inside the loop over the batches.

    ## What to do
    Add up what is right and what there is, and divide once behind the loop.

    ## How it is measured
    The accuracy of the whole pass and that of its last batch are counted again: what is printed is the latter, to the last digit, after
    each evaluation, and not the former; with different numbers, none of them 0 or 1. Or the source of the loop that calls the model without gradients: a count of what is
    right is assigned there, read nowhere inside, and read behind it.

    ## When it stays silent
    When the loop reads it too (adds it to a list, prints it), when the loop is left early, when the set is one batch, and in training. When
    what is printed was once not that of the last batch, and where all of it is right or wrong: then many accuracies look alike.
    """

    card = Card("PM375", "only-the-last-batch", "eval-stale", Severity.WARNING, subject="name")
    listens = (HabitSeen, EvaluationEnded, ScoreRecounted, LogLine)

    def __init__(self) -> None:
        self._waiting: list[HabitSeen] = []
        self._recounts = Recounts()

    def observe(self, event: HabitSeen | EvaluationEnded | ScoreRecounted | LogLine) -> Findings:
        if isinstance(event, (ScoreRecounted, LogLine)):
            for found in self._recounts.hears(event):
                if found.is_last and (found.is_whole or found.last[0] in (0, found.last[1])):
                    continue  # it is both, or as good as can be, as other accuracies are: it tells nothing
                if always_so(self, found, found.is_last):
                    yield self._printed(event, found)
        elif isinstance(event, EvaluationEnded):
            if event.forwards > 1:  # a set that is one batch is whole
                for seen in self._waiting:
                    yield from self._found(seen)
                self._waiting = []
        elif event.kind == "last batch" and self.once((event.at, event.name)):
            self._waiting.append(event)

    def _printed(self, event: Event, found: Printed) -> Finding:
        return self.finding(
            event,
            f"`{found.label}` is {found.text}, which is right for the last batch ({found.last[0]} of {found.last[1]}): of the whole pass it is "
            f"{found.right / found.of:.4g} ({found.right:,} of {found.of:,})",
            cause="What is counted is written over, or begins anew, in each batch of the evaluation.",
            remedy="Begin the counts before the loop over the batches, add to them inside, and divide behind it.",
            severity=Severity.ERROR,
            certainty=Certainty.PROVED,
            name=found.label,
            whole=found.right / found.of,
        )

    def _found(self, event: HabitSeen) -> Findings:
        if self.said("printed"):  # that says more, and is surer
            return
        yield self.finding(
            event,
            f"`{event.name}` is written over in each batch of the evaluation: what is left behind the loop is of the last batch",
            cause="It is assigned (`=`) where it should be added to (`+=`).",
            remedy=f"Begin with {event.name} = 0 before the loop, and add each batch: {event.name} += ...",
            certainty=Certainty.PROVED,
            name=event.name,
        )


class DividedByBatches(Detector):
    """Samples that were right are counted, and divided by the number of batches.

    ## Why it matters
    The accuracy is too large by the size of a batch: 30 for 0.94 looks like percent, and is none.

    ## Usual causes
    `correct / len(loader)` for `correct / len(loader.dataset)`.

    ## What to do
    Divide by the number of samples.

    ## How it is measured
    The source of the loop; or what is printed, which is what was counted again divided by the batches, after each evaluation; with different
    numbers.

    ## When it stays silent
    Loaders with one sample in a batch, and means of each batch that are summed up.
    """

    card = Card("PM376", "divided-by-batches", "eval-stale", Severity.WARNING, subject="name")
    listens = (HabitSeen, ScoreRecounted, LogLine)

    def __init__(self) -> None:
        self._recounts = Recounts()

    def observe(self, event: HabitSeen | ScoreRecounted | LogLine) -> Findings:
        if isinstance(event, (ScoreRecounted, LogLine)):
            for found in self._recounts.hears(event):
                if found.is_by_batches and (found.is_whole or found.right in (0, found.of)):
                    continue
                if always_so(self, found, found.is_by_batches):
                    yield self.finding(
                        event,
                        f"`{found.label}` is {found.text}: {found.right:,} samples that were right, divided by {found.batches:,} batches",
                        cause="The result is too large by the size of a batch.",
                        remedy=f"Divide by the number of samples ({found.of:,}).",
                        severity=Severity.ERROR,
                        certainty=Certainty.PROVED,
                        name=found.label,
                    )
        elif (
            event.kind == "batches for samples"
            and not self.said("printed")
            and self.once((event.at, event.name))
        ):
            yield self.finding(
                event,
                f"`{event.name}` counts samples and is divided by len({event.other}), which counts batches",
                cause="The result is too large by the size of a batch.",
                remedy=f"Divide by len({event.other}.dataset), or by a count of samples.",
                certainty=Certainty.PROVED,
                name=event.name,
            )


class PatienceNeverRestored(Detector):
    """The epochs without a record are counted over the whole run, and end it: a new record does not set them back.

    ## Why it matters
    Patience means so many epochs in a row. Counted in all, any run ends after so many bad epochs, in the middle of its progress.

    ## Usual causes
    `bad_epochs = 0` is missing where the record is kept.

    ## What to do
    Set the counter to 0 with each record.

    ## How it is measured
    The source of the loop says what counts and what is the record; their values at the evaluations say that a record came, while the
    counter was above 0 and stayed there.

    ## When it stays silent
    When anything in the loop sets the counter, and when no record came after a bad epoch: then it has had no effect.
    """

    card = Card("PM374", "patience-never-restored", "eval-stale", Severity.WARNING, subject="name")
    listens = (HabitSeen,)

    def __init__(self) -> None:
        self._last: dict[tuple[object, str], tuple[float, ...]] = {}

    def observe(self, event: HabitSeen) -> Findings:
        if event.kind != "patience" or len(event.values) != 2:
            return
        count, record = event.values
        before, best = self._last.get((event.at, event.name), (0.0, record))
        self._last[event.at, event.name] = event.values
        if record != best and count >= before > 0 and self.once((event.at, event.name)):
            yield self.finding(
                event,
                f"`{event.name}` counts the epochs without a record and ends the training: a record came ({best:.4g}, now {record:.4g}), and "
                f"it is still {count:.0f}",
                cause="Bad epochs are counted in all, and not in a row.",
                remedy=f"Set {event.name} = 0 where the record is kept.",
                certainty=Certainty.PROVED,
                name=event.name,
            )


class ChosenByTheWrongSet(Detector):
    """The best model is chosen by its result on training or test data, while a result on validation data is there.

    ## Why it matters
    The best on training data is the one that has memorised most; the best on test data has seen the exam.

    ## Usual causes
    The wrong name in `if train_acc > best_acc:`.

    ## What to do
    Compare the result of the validation.

    ## How it is measured
    The names in the loop: a record that is kept of a name with "train" (or "test"), and another name with "val" that no record is kept of.
    Their values at the evaluations: a model was kept whose result on the validation data is worse than one before it.

    ## When it stays silent
    When a record of the validation is kept as well, when the names do not say, and when both would have chosen the same models.
    """

    card = Card("PM373", "chosen-by-the-wrong-set", "eval-stale", Severity.WARNING, subject="name")
    listens = (HabitSeen,)

    def __init__(self) -> None:
        self._last: dict[
            tuple[object, str], tuple[float, float]
        ] = {}  # the record, and the best of the other result

    def observe(self, event: HabitSeen) -> Findings:
        way = bool(words(event.other) & HIGHER) - bool(words(event.other) & LOWER)
        if event.kind != "chosen" or len(event.values) != 3 or not way:
            return
        now, other, record = event.values
        kept, best = self._last.get((event.at, event.name), (record, other))
        self._last[event.at, event.name] = (record, max(best, other, key=lambda value: way * value))
        if record == now != kept and way * other < way * best and self.once((event.at, event.name)):
            yield self.finding(
                event,
                f"the best is chosen by `{event.name}`: a model was kept with `{event.other}` {other:.4g}, which had been {best:.4g} before",
                cause="A choice by data that was trained on, or that is to judge in the end, says nothing about new data.",
                remedy=f"Compare `{event.other}` with the record.",
                name=event.name,
                other=event.other,
                certainty=Certainty.PROVED,
            )


class LeftAtOnce(Detector):
    """The loop over all batches is left at the end of its first pass.

    ## Why it matters
    Each epoch trains on one batch: most of the data is never used.

    ## Usual causes
    A `return` that is indented one step too far; a `break` that was left from a trial.

    ## What to do
    Move it behind the loop.

    ## When it stays silent
    Loops over a loader (another detector counts their batches), and loops that can go on before they are left.
    """

    card = Card("PM377", "left-at-once", "data-empty", Severity.WARNING)
    listens = (HabitSeen,)

    def observe(self, event: HabitSeen) -> Findings:
        if event.kind == "left at once" and self.once(event.at):
            yield self.finding(
                event,
                "the loop over the batches is left at the end of its first pass: each epoch trains on one batch",
                cause="The last statement of its body leaves it, unconditionally.",
                remedy="Move that statement behind the loop.",
                certainty=Certainty.PROVED,
            )


class LossNeverRead(Detector):
    """A loss is computed with its graph in every step, and the script never reads it.

    ## Why it matters
    It was meant to be trained on: a term that was left out of the sum.

    ## Usual causes
    `loss = hard` where `loss = alpha * soft + (1 - alpha) * hard` was meant; the wrong name in the sum.

    ## What to do
    Add it to what is sent backward, or remove it.

    ## When it stays silent
    When any line of the function reads the variable, also for a log; when the call has no gradients.
    """

    card = Card("PM151", "loss-never-read", "loss-definition", Severity.WARNING, subject="name")
    listens = (LossCall,)

    def observe(self, event: LossCall) -> Findings:
        if (
            self.always(event.at, bool(event.unread and event.grad)) >= THRICE
            and event.unread
            and self.once(event.at)
        ):
            yield self.finding(
                event,
                f"`{event.unread}` is computed by `{event.fn}` in every step, and nothing reads it",
                cause="The term is not part of what is sent backward, nor of anything else.",
                remedy=f"Add `{event.unread}` to the loss, or remove the line.",
                certainty=Certainty.PROVED,
                name=event.unread,
            )
