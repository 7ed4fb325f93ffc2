from premortem.detectors.base import THRICE, Card, Certainty, Detector, Findings, Severity
from premortem.events import EvaluationEnded, HabitSeen, LossCall


class OnlyTheLastBatch(Detector):
    """What is measured in each batch of an evaluation is written over by the next batch: the result is that of the last one.

    ## Why it matters
    The score of one batch, often the smallest, stands for the whole set. It jumps from epoch to epoch, and the best model is the one
    that was lucky there.

    ## Usual causes
    `correct = ...` for `correct += ...`.

    ## What to do
    Add up what is right and what there is, and divide once behind the loop.

    ## How it is measured
    The source of the loop that calls the model without gradients: a count of what is right is assigned there, read nowhere inside, and
    read behind it.

    ## When it stays silent
    When the loop reads it too (adds it to a list, prints it), when the loop is left early, when the set is one batch, and in training.
    """

    card = Card("PM375", "only-the-last-batch", "eval-stale", Severity.WARNING, subject="name")
    listens = (HabitSeen, EvaluationEnded)

    def __init__(self) -> None:
        self._waiting: list[HabitSeen] = []

    def observe(self, event: HabitSeen | EvaluationEnded) -> Findings:
        if isinstance(event, EvaluationEnded):
            if event.forwards > 1:  # a set that is one batch is whole
                for seen in self._waiting:
                    yield from self._found(seen)
                self._waiting = []
        elif event.kind == "last batch" and self.once((event.at, event.name)):
            self._waiting.append(event)

    def _found(self, event: HabitSeen) -> Findings:
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

    ## When it stays silent
    Loaders with one sample in a batch, and means of each batch that are summed up.
    """

    card = Card("PM376", "divided-by-batches", "eval-stale", Severity.WARNING, subject="name")
    listens = (HabitSeen,)

    def observe(self, event: HabitSeen) -> Findings:
        if event.kind == "batches for samples" and self.once((event.at, event.name)):
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

    ## When it stays silent
    When anything in the loop sets the counter.
    """

    card = Card("PM374", "patience-never-restored", "eval-stale", Severity.WARNING, subject="name")
    listens = (HabitSeen,)

    def observe(self, event: HabitSeen) -> Findings:
        if event.kind == "patience" and self.once((event.at, event.name)):
            yield self.finding(
                event,
                f"`{event.name}` counts the epochs without a record, ends the training, and is never set back by a record",
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

    ## When it stays silent
    When a record of the validation is kept as well, and when the names do not say.
    """

    card = Card("PM373", "chosen-by-the-wrong-set", "eval-stale", Severity.WARNING, subject="name")
    listens = (HabitSeen,)

    def observe(self, event: HabitSeen) -> Findings:
        if event.kind == "chosen" and self.once((event.at, event.name)):
            yield self.finding(
                event,
                f"the best is chosen by `{event.name}`, and `{event.other}` is compared with nothing",
                cause="A choice by data that was trained on, or that is to judge in the end, says nothing about new data.",
                remedy=f"Compare `{event.other}` with the record.",
                name=event.name,
                other=event.other,
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
