import math
from collections import Counter

from premortem.detectors.base import THRICE, TWICE, Card, Certainty, Detector, Findings, Severity
from premortem.events import RowsCompared, Site
from premortem.findings import Finding
from premortem.metric_words import TERMINAL, words

_ROWS = 100  # that are counted before a guide is judged
_MOSTLY = 0.6  # of them: with three classes the best of all orders is right about four in ten by chance
_BY_CHANCE = 0.01  # of all ways to give each answer some class are such exchanges: one of a hundred healthy runs at most


class LossRowsTurned(Detector):
    """The rows of the scores and the rows of the targets come in different orders: each score is compared with the target of another
    sample or another place.

    ## Why it matters
    Nothing fails, because the numbers of rows agree. The model learns the average of all targets, and the loss stays near that of
    a guess.

    ## Usual causes
    `logits.transpose(0, 1).reshape(-1, V)` beside `targets.reshape(-1)`; a recurrent model that gives (time, batch, classes)
    beside targets of (batch, time).

    ## What to do
    Bring scores and targets into the same order of samples and places before both are made flat.

    ## How it is measured
    The rows that the loss is given are found in the variables of the script, number for number: from a tensor of (samples, places,
    classes) and from one of (samples, places), straight or turned.

    ## When it stays silent
    As many samples as places, tensors that the script no longer holds, or one pair of tensors that does belong together.
    """

    card = Card("PM471", "loss-rows-turned", "shape", Severity.ERROR)
    listens = (RowsCompared,)

    def observe(self, event: RowsCompared) -> Findings:
        if self.always(event.at, event.turned is not None) >= TWICE and event.turned and self.once(event.at):
            scores, targets = event.turned
            yield self.finding(
                event,
                f"`{event.fn}` compares scores of {scores} with targets of {targets}, made flat in different orders: each row meets "
                "the target of another one",
                cause="One of the two was turned (or is stored the other way round) before both were made flat.",
                remedy="Turn the scores back, or the targets as well, so that row i of both is the same place of the same sample.",
                certainty=Certainty.PROVED,
                scores=list(scores),
                targets=list(targets),
            )


class TargetTooFarAhead(Detector):
    """A model of sequences is trained on the token after the next one, or on one before, and never on the next.

    ## Why it matters
    Every place learns the wrong neighbour. The loss falls, because tokens that lie two places apart have something in common, and what
    the model writes is nonsense.

    ## Usual causes
    Labels that are shifted twice: by the dataset and by the loss, or by the model and by a loss function that shifts as well.

    ## What to do
    Shift once: `logits[:, :-1]` beside `labels[:, 1:]`.

    ## How it is measured
    Scores are found in the output of the model, and targets in its input, number for number: both say which place they belong to. Where the
    loss cuts places off the output, and fewer than the targets are ahead, the data were shifted too: both did. Any other distance may be meant
    (a forecast two moments ahead, a model that reads backwards): that is a note, and suspected.

    ## When it stays silent
    A loss of any line that compares with the next token, a line that compares with several places (heads that look further ahead), masked
    words, a sequence that repeats itself.
    """

    card = Card("PM489", "target-too-far-ahead", "data-labels", Severity.ERROR).explaining(
        "uninformative-labels"
    )
    listens = (RowsCompared,)

    def observe(self, event: RowsCompared) -> Findings:
        if event.ahead is None:
            return
        if event.ahead in (0, 1):
            self.once("next")
        elif self.different(("ahead", event.at), event.ahead) > 1 or self.said("next"):
            return
        elif self.times(event.at) >= THRICE and self.once(event.at):
            twice = 0 < event.cut < event.ahead
            where = f"{event.ahead} places behind it" if event.ahead > 0 else "right before it"
            yield self.finding(
                event,
                f"`{event.fn}` compares the score of each place with the token {where}, and no loss with the next one",
                cause="Scores and labels are shifted against each other more than once, or the wrong way.",
                remedy="Shift once: `logits[:, :-1]` beside `labels[:, 1:]`, in the dataset, the model or the loss, and not in two of them.",
                severity=None if twice else Severity.INFO,
                certainty=Certainty.PROVED if twice else Certainty.SUSPECTED,
                ahead=event.ahead,
            )


class RowIsItsOwnRival(Detector):
    """In a matrix of similarities each row is compared with itself as well, and that is the most similar of all.

    ## Why it matters
    A contrastive loss asks which of the others belongs to a row. With the row itself among the candidates, the strongest rival is
    always there and can never be pushed away; if it is the answer, there is nothing to learn.

    ## Usual causes
    `sim.fill_diagonal_(float("-inf"))` was left out; the targets are `arange(n)` although both sides of the product are the same.

    ## What to do
    Take the diagonal out (or set it to minus infinity), and let the targets point to the other view.

    ## How it is measured
    The scores that the loss is given are a symmetric matrix, the diagonal is finite and the largest number of each row, and the
    targets are never there, or always.

    ## When it stays silent
    Matrices that are not symmetric (two encoders, two kinds of data), and diagonals that are masked by whatever number is small.
    """

    card = Card("PM472", "row-is-its-own-rival", "loss-definition", Severity.ERROR)
    listens = (RowsCompared,)

    def observe(self, event: RowsCompared) -> Findings:
        if self.always(event.at, bool(event.itself)) >= TWICE and event.itself and self.once(event.at):
            said = {
                "answer": "the diagonal is the answer",
                "rival": "the diagonal is never the answer and always the largest",
                "twin": "the answer of each row is a row that is the same as itself",
            }
            cause = "Each row is among its own candidates: it is as similar to itself as can be."
            if event.itself == "twin":
                cause = "Both views of a sample are the same numbers: there is nothing to recognise."
            yield self.finding(
                event,
                f"`{event.fn}` is given the similarities of {event.rows} rows with themselves, and {said[event.itself]}",
                cause=cause,
                remedy='Mask the diagonal (`sim.fill_diagonal_(float("-inf"))`) and let the targets point to the other view.',
                certainty=Certainty.PROVED,
                rows=event.rows,
            )


class EveryRowTheSame(Detector):
    """All rows of the batches are the same, number for number, while their targets differ.

    ## Why it matters
    A batch of one sample, many times over, with contradicting targets: the model can only learn their mean.

    ## Usual causes
    A replay buffer that stores the same array again and again, which the environment writes over; a list of views of one buffer;
    `expand` of one sample.

    ## What to do
    Store a copy (`obs.copy()`, `x.clone()`), and look at two samples of a batch.

    ## When it stays silent
    Batches below eight rows, inputs of which any row differs in any number, targets that are all the same.
    """

    card = Card("PM473", "every-row-the-same", "data-order", Severity.ERROR).explaining(
        "inputs-nearly-constant", "uninformative-labels", "metric-frozen"
    )
    listens = (RowsCompared,)

    def observe(self, event: RowsCompared) -> Findings:
        if self.always(event.at, event.alike) >= THRICE and self.once(event.at):
            yield self.finding(
                event,
                f"all {event.rows} rows that the model is given are the same, number for number, and their targets differ",
                cause="The rows share one memory (a buffer that is written over), or one sample was repeated.",
                remedy="Store copies (`.copy()`, `.clone()`), and check that two rows of a batch differ.",
                rows=event.rows,
            )


class BatchOfCopies(Detector):
    """Each row of a batch stands in it several times, with the same target, while other batches hold other rows.

    ## Why it matters
    A batch of 64 rows that are 8 different ones is a batch of 8: eight times the cost, and the noise of the small batch.

    ## Usual causes
    `[row] * k`; one dictionary or array that is filled again and appended again; a loop that stores the sample in place of its element; `repeat` for several
    views, which were never made different.

    ## What to do
    Build each row anew, and look at two rows of a batch.

    ## How it is measured
    In audited steps: every row of what the model was given stands there twice or more, number for number, with the same target and the same output. No row comes
    again in another of at least three batches, so that the run has many.

    ## When it stays silent
    Batches below eight rows; batches of which one row stands there once; copies that a model with dropout or noise tells apart; rows that come again in the
    next batch, as those of a small or discrete set do.
    """

    card = Card("PM490", "batch-of-copies", "data-order", Severity.WARNING).explaining(
        "class-sorted-batches",
        "inputs-nearly-constant",
        "constant-labels",
        "uninformative-labels",
        "few-rows-many-times",
    )
    listens = (RowsCompared,)

    def __init__(self) -> None:
        self._seen: dict[Site | None, set[int]] = {}

    def observe(self, event: RowsCompared) -> Findings:
        if event.copies is None:
            return
        seen = self._seen.setdefault(event.at, set())
        fresh = seen.isdisjoint(event.copies)
        seen.update(event.copies)
        if self.always(event.at, fresh and bool(event.copies)) >= THRICE and self.once(event.at):
            distinct = len(event.copies)
            yield self.finding(
                event,
                f"the {event.rows} rows of a batch are {distinct} different {'row' if distinct == 1 else 'rows'}, each of which stands there several times with the same "
                "target; the next batch holds others",
                cause="One object was put into the batch several times, so that its copies teach nothing more.",
                remedy="Build each row anew (`[make() for _ in range(k)]`, a copy before `append`), and look at two rows of a batch.",
                certainty=Certainty.PROVED,
                rows=event.rows,
                distinct=distinct,
            )


class EndOfEpisodeIgnored(Detector):
    """The value of what comes next is part of the target even where nothing comes next, or only there.

    ## Why it matters
    What lies behind the end of an episode has no value. A target that counts it there promises rewards that never come: values
    grow, and failing looks as good as going on.

    ## Usual causes
    `target = r + gamma * q_next` without `* (1 - done)`; `* done` for `* (1 - done)`; a target without its reward; the value of the
    state itself for that of the next one, also because an environment changes its one array in place and no copy was stored.

    ## What to do
    `target = reward + gamma * q_next * (1 - done)`.

    ## How it is measured
    The target of the loss is looked for among the script's own variables as reward + factor * value, row by row and exactly: for all
    rows, for those whose episode goes on, and for those whose episode has ended.

    ## When it stays silent
    Where the target is not such a sum, no variable has the name of an ending (`done`, `terminal`, `terminated`), or it is 0 in all rows.
    An episode that is `done` may have been cut off by a limit of time, behind which values go on: then it is a warning.
    """

    card = Card("PM148", "end-of-episode-ignored", "loss-definition", Severity.ERROR)
    listens = (RowsCompared,)

    def observe(self, event: RowsCompared) -> Findings:
        found = event.promise
        if found is None:
            return
        marked = bool(found.flag and found.ended)
        wrong = ""
        if found.same_state:
            wrong = "takes the value of the state itself for that of the next one"
        elif found.counted == "one for all":
            wrong = "holds one next value for all rows, the largest of the whole batch"
        elif not found.reward:
            wrong = "holds no reward"
        elif marked and found.counted == "all":
            wrong = f"counts the next value also where `{found.flag}` is 1"
        elif found.flag and found.counted == "ended":
            wrong = f"counts the next value only where `{found.flag}` is 1"
        if not wrong and not marked:
            return  # the ending was in no row: this call says nothing
        cut = wrong.startswith("counts the next value also") and not words(found.flag) & TERMINAL
        if self.always(event.at, bool(wrong)) >= TWICE and self.once(event.at):
            yield self.finding(
                event,
                f"the target of `{event.fn}` {wrong}: {found.reward or '0'} + {found.factor:.3g} * value, exactly, in all "
                f"{event.rows} rows",
                cause="What comes after the end of an episode is worth nothing; before it, a target is the reward plus the value of "
                "the next state.",
                remedy=f"target = reward + gamma * q_next * (1 - {found.flag or 'done'})"
                + (
                    "; where state and next state are equal in the data, store copies of both"
                    if found.same_state
                    else ""
                )
                + (f"; ignore this where `{found.flag}` is a limit of time and no end" if cut else ""),
                severity=Severity.WARNING if cut else None,
                certainty=Certainty.SUSPECTED if cut else Certainty.PROVED,
                factor=found.factor,
                flag=found.flag or None,
            )


class TargetInTheWindow(Detector):
    """What is to be predicted is the last value of the window that the model sees.

    ## Why it matters
    A forecast of what is known already: the model copies the last value, the error is nearly 0, and nothing was learnt about the future.

    ## Usual causes
    `y.append(a[t + window - 1])` for `a[t + window]`; a target column that is shifted the wrong way.

    ## What to do
    Begin the target behind the last moment of the window.

    ## When it stays silent
    When any target of a batch differs from it in any digit, and for windows that are shorter than eight moments.
    """

    card = Card("PM474", "target-in-the-window", "data-labels", Severity.WARNING)
    listens = (RowsCompared,)

    def observe(self, event: RowsCompared) -> Findings:
        if self.always(event.at, bool(event.window)) >= THRICE and self.once(event.at):
            yield self.finding(
                event,
                f"the target of each of {event.rows} samples is `input{event.window}`, number for number: the last value of the window "
                "that the model sees",
                cause="The window ends at the moment that is to be predicted, and not before it.",
                remedy="Take the target from the moment after the window.",
                certainty=Certainty.PROVED,
            )


class TargetOfAnotherRow(Detector):
    """Inputs and targets of a batch are taken from different rows of their arrays.

    ## Why it matters
    Each input is trained towards the target of another sample. The model learns the mean of all targets.

    ## Usual causes
    `x[order]` beside `y[i:j]`; a shuffle that only one of the two arrays went through.

    ## What to do
    Use the same index for both, or shuffle both with one permutation.

    ## How it is measured
    Sixteen rows of the batch are looked for in the arrays of the script, number for number: each input stands in one row only, each
    target in one row only, and these are not the same, nor always as many rows apart.

    ## When it stays silent
    Where some array of the same length does hold these targets in the rows of the inputs, where rows are not unique, and for classes.
    """

    card = Card("PM475", "target-of-another-row", "data-labels", Severity.ERROR).explaining(
        "uninformative-labels", "metric-frozen"
    )
    listens = (RowsCompared,)

    def observe(self, event: RowsCompared) -> Findings:
        found = event.strangers
        if not event.paired and found is None:
            return
        if self.always(event.at, not event.paired) >= TWICE and found is not None and self.once(event.at):
            yield self.finding(
                event,
                f"row {found.row} of the batch has its input from row {found.input_row} of `{found.inputs}` and its target from row "
                f"{found.target_row} of `{found.targets}`",
                cause="Inputs and targets were taken with different indices, or only one of them was shuffled.",
                remedy=f"Take both with the same index: `{found.inputs}[index]`, `{found.targets}[index]`.",
                certainty=Certainty.PROVED,
                rows=found.length,
            )


class ProbabilitiesCrossed(Detector):
    """`kl_div` compares probabilities over the classes with probabilities over the samples.

    ## Why it matters
    The targets of one sample do not sum to one, those of one class do, over the batch: what each sample is pulled to depends on which others
    are in its batch.

    ## Usual causes
    `softmax(teacher, dim=0)` beside `log_softmax(student, dim=1)`; a dimension that was left out.

    ## What to do
    Name the dimension of the classes in both.

    ## When it stays silent
    When both sum to one over the same dimension, or one of them over both or none.
    """

    card = Card("PM476", "probabilities-crossed", "shape", Severity.ERROR).explaining("kl-arguments")
    listens = (RowsCompared,)

    def observe(self, event: RowsCompared) -> Findings:
        if (
            self.always(event.at, event.crossed is not None) >= TWICE
            and event.crossed
            and self.once(event.at)
        ):
            scores, targets = event.crossed
            yield self.finding(
                event,
                f"`{event.fn}` is given scores that sum to one over dimension {scores} and targets that do over dimension {targets}",
                cause="One of the two softmaxes runs over the samples of the batch.",
                remedy="Use the dimension of the classes in both: dim=-1.",
                certainty=Certainty.PROVED,
            )


class TrainedOnHeldOutRows(Detector):
    """The loss compares rows that a mask sets apart for validation or test.

    ## Why it matters
    What is measured on them afterwards is memory.

    ## Usual causes
    `F.cross_entropy(out, y)` for `F.cross_entropy(out[train_mask], y[train_mask])`; the wrong mask.

    ## What to do
    Compare the rows of the training mask only.

    ## How it is measured
    The targets of the loss are found in the script's own array, as all of its rows or as those of one mask, number for number; and a mask whose
    name says validation or test has rows among them.

    ## When it stays silent
    When no other mask is there, when several masks would give these targets, and when the names do not say.
    """

    card = Card("PM367", "trained-on-held-out-rows", "data-order", Severity.ERROR)
    listens = (RowsCompared,)

    def observe(self, event: RowsCompared) -> Findings:
        found = event.held_out
        if self.always(event.at, found is not None) >= TWICE and found and self.once(event.at):
            name, rows = found
            yield self.finding(
                event,
                f"the loss of the training compares {rows} rows that `{name}` sets apart",
                cause="The rows of the loss are not limited to the training mask, or by another mask.",
                remedy="Index outputs and targets of the loss with the training mask.",
                certainty=Certainty.PROVED,
                mask=name,
                rows=rows,
            )


class ClassesNumberedOtherwise(Detector):
    """A trained model answers with the right classes under other numbers.

    ## Why it matters
    A teacher in another order of the classes pulls away from the labels: the model that is trained learns the wrong classes as far as the teacher
    is trusted. A model that was loaded has to unlearn first what it knew.

    ## Usual causes
    It was trained when the classes were in another order (alphabetical, by folder); the list of classes was edited since.

    ## What to do
    Bring its outputs into the order of the labels: `teacher(x)[:, order]`; or train it again with this list of classes.

    ## How it is measured
    For the same rows, answers are counted against the targets. Answer by answer one other class is the right one nearly always, a different one for
    each answer; as they are numbered, these answers are right no more often than guesses. Only models are judged of which all weights, those of the
    last layer too, were read from a file: a guide as it was read, the model that is trained by its first steps. Rows of one cluster get one answer,
    so that they count as one: where one of a hundred ways of giving each answer some class is such an exchange, or more (below seven
    classes), it is a note, and suspected. It may be weights that were saved before any training, or classes of another task.

    ## When it stays silent
    Below 100 such rows, when the answers are right more often than by chance, when no exchange of the numbers makes them right; for weights
    that no file has given, that were written since (a mean of another model), or that this run has built (a new head).
    """

    card = Card("PM379", "classes-numbered-otherwise", "checkpoint", Severity.ERROR).explaining(
        "metric-frozen", "uninformative-labels"
    )
    listens = (RowsCompared,)

    def __init__(self) -> None:
        self._pairs: dict[tuple[Site | None, str], Counter[tuple[int, int]]] = {}

    def observe(self, event: RowsCompared) -> Findings:
        for who, counted in (
            (f"`{event.guide}`, the teacher,", event.guided),
            (f"`{event.model}`, as it was loaded,", event.answered),
        ):
            pairs = self._pairs.setdefault((event.at, who), Counter())
            for answer, target, number in counted:
                pairs[answer, target] += number
            order = exchanged(pairs)
            if order and self.once(event.at):
                yield self._finding(event, who, pairs, order)

    def _finding(
        self, event: RowsCompared, who: str, pairs: Counter[tuple[int, int]], order: dict[int, int]
    ) -> Finding:
        of = sum(number for (answer, _), number in pairs.items() if answer in order)
        right = sum(pairs[answer, answer] for answer in order)
        then = sum(pairs[answer, target] for answer, target in order.items())
        one, other = min(order.items())
        answers = len({answer for answer, _ in pairs})
        clear = math.factorial(answers) / answers**answers < _BY_CHANCE
        return self.finding(
            event,
            f"{who} is right about {right} of {of} rows as its classes are numbered, and about {then} once they are exchanged: its "
            f"{one} is the target's {other}",
            cause="Its outputs are in another order of the classes than the labels: it disagrees with them wherever it is sure.",
            remedy="Bring its outputs into the order of the labels, or train it with this list of classes.",
            severity=None if clear else Severity.INFO,
            certainty=Certainty.PROVED if clear else Certainty.SUSPECTED,
            right=right,
            exchanged=then,
            of=of,
            order=[list(pair) for pair in sorted(order.items())][:20],
        )


def exchanged(pairs: Counter[tuple[int, int]]) -> dict[int, int]:
    """The class that each answer stands for, of those that are right under another number only; empty where that is not clear."""
    best: dict[int, tuple[int, int]] = {}
    for (answer, target), number in pairs.items():
        best[answer] = max(best.get(answer, (0, -1)), (number, target))
    order = {answer: target for answer, (_, target) in best.items() if answer != target}
    if set(order) != set(order.values()):
        return {}
    rows = {pair: number for pair, number in pairs.items() if pair[0] in order}
    total = sum(rows.values())
    answers, targets = Counter[int](), Counter[int]()
    for (answer, target), number in rows.items():
        answers[answer] += number
        targets[target] += number
    if total < _ROWS:
        return {}
    chance = sum(answers[k] * targets[k] for k in answers) / total
    right = sum(pairs[k, k] for k in order)
    # The best of all orders is right a little more often than a guess in any case, but not in most rows.
    then = sum(best[k][0] for k in order)
    return order if right <= chance + 2 * math.sqrt(chance) and then > _MOSTLY * total else {}
