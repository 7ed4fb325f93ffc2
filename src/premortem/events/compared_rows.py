"""The rows of a loss: what is compared with what, row by row."""

from typing import NamedTuple

from premortem.events.base import Event, event


class Strangers(NamedTuple):
    """Rows of a batch whose targets stand in other rows of their array than their inputs do in theirs."""

    inputs: str  # the names of both arrays, as the script calls them
    targets: str
    length: int  # of both
    row: int  # of the batch, the first one that shows it
    input_row: int
    target_row: int


class Promise(NamedTuple):
    """A target that is a reward plus a factor times the value of what comes next: target = r + c * q, row by row."""

    factor: float
    reward: str  # as the script calls it; "" where the target is made without one
    flag: str  # what says that an episode has ended; "" where the script has nothing of that name
    ended: int  # rows that it marks, and whose next value is not 0
    counted: (
        str  # rows whose next value is part of their target: "all", "ended", "going on"; or "one for all"
    )
    same_state: bool = False  # the next value is that of the very state that is judged


class Ends(NamedTuple):
    """A token that ends every sequence of a batch, the longest one with a single one: a mark of the end that also fills up."""

    token: int
    width: int  # of the batch
    places: int  # where it is what comes next,
    counted: int  # ... and where the loss counts that


@event
class RowsCompared(Event):
    """Audit gear: a loss of the training was looked at row by row (probes/compared_rows.py)."""

    fn: str
    rows: int
    # Shapes of the scores and of the targets whose rows come in different orders.
    turned: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    # Of a model of sequences of tokens: how many places behind the place that is scored its target stands in the input.
    ahead: int | None = None
    ends: Ends | None = None
    cut: int = 0  # ... and how many places of the output are not scored at all
    # In a symmetric matrix of similarities, what the row itself is in its own row: "rival", "answer", "twin" (the answer is the same row once more) or "".
    itself: str = ""
    alike: bool = False  # every row of all that the model was given is the same, and the targets differ
    # Where each row that the model is given stands several times in the batch, with the same target and the same output: a mark of each different
    # one. Empty where some row stands there once; None where rows are not known.
    copies: tuple[int, ...] | None = None
    window: str = ""  # the target is, number for number, this value of the window that the model sees
    promise: Promise | None = None
    strangers: Strangers | None = None
    paired: bool = False  # inputs and targets were found in their arrays, in the same rows
    crossed: tuple[int, int] | None = (
        None  # the dimensions over which scores and targets of `kl_div` sum to one
    )
    # Of a whole set with masks for its parts: a mask that is called validation or test, and how many of its rows are trained on.
    held_out: tuple[str, int] | None = None
    # Of targets that are classes, (the answer, the target) and how often: of the scores that are compared with them, if the weights that made
    # them in the first place were all read from a file,
    answered: tuple[tuple[int, int, int], ...] = ()
    model: str = ""  # whose they are
    # ... and of another model, without gradients and as it was read from its file, that scores as many classes of the same rows.
    guided: tuple[tuple[int, int, int], ...] = ()
    guide: str = ""
