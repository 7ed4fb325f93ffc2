"""What is known of a stream of samples, as plain values."""

from __future__ import annotations

from typing import NamedTuple

BINS = 12


class Column(NamedTuple):
    """One column of a table, or one statistic of one channel, over the sampled rows."""

    name: str
    counted: int  # sampled rows with a number in it
    missing: int  # rows of the stream without one: NaN, infinity, an empty cell
    mean: float
    spread: float  # standard deviation
    low: float  # of the whole stream
    high: float
    # at 0, 5, 25, 50, 75, 95 and 100 %
    quantiles: tuple[float, ...] = ()
    distinct: int = 0
    common: tuple[tuple[float, int], ...] = ()  # the most frequent values, and how often
    histogram: tuple[int, ...] = ()
    whole: bool = False  # all of its numbers are whole
    merged: int = 0  # values that become one when they are stored in 32 bits

    @property
    def median(self) -> float:
        return self.quantiles[3] if self.quantiles else self.mean

    @property
    def middle(self) -> float:
        """The distance between the quartiles."""
        return self.quantiles[4] - self.quantiles[2] if self.quantiles else 0.0


class Placeholder(NamedTuple):
    """One value, far from all others and repeated, where a missing one was meant."""

    column: str
    value: float
    times: int
    of: int
    low: float  # of the other values
    high: float
    where: str = ""  # a row that has it


class Giveaway(NamedTuple):
    """A column that is the target, or nearly so."""

    column: str
    how: str  # "equal", "line" (a straight line), "renamed" (one value for each class), "marked" (one value in one class only)
    detail: str
    rows: int


class Blank(NamedTuple):
    """Rows that are one number from end to end, beside others that are not."""

    rows: int
    of: int
    labels: int  # different ones that they carry; 0 where that is not known
    frequent: int  # rows with the most frequent of these


class Filler(NamedTuple):
    """The most frequent token of a stream, where it stands in long runs and never between two others."""

    token: int
    times: int
    of: int  # tokens that were counted
    runs: int


class Versions(NamedTuple):
    """Samples that came in two passes: an augmentation changes them."""

    compared: int
    changed: int
    relabelled: int
    alike: (
        float  # correlation of both versions of a sample, on average, beyond what all samples have in common
    )


class Profile(NamedTuple):
    """One stream: what a loader handed out, what a model was given, or what a file holds."""

    name: str
    phase: str = (
        ""  # "training", "evaluation", "step" (without gradients, as a part of each step); "" for a file
    )
    source: str = ""  # file, where it is known
    model: int = 0  # that was given it
    rows: int = 0  # that were looked at
    sampled: int = 0
    distinct: int = 0  # different rows, estimated from the sample
    length: int | None = None  # of the dataset
    total: int | None = None  # of the dataset that it is a part of
    kind: str = "table"  # "table", "codes" (a few whole numbers), "channels", "tokens"
    dtype: str = ""
    columns: tuple[Column, ...] = ()
    classes: tuple[tuple[str, int], ...] = ()  # every label that came, and how often
    target: Column | None = None
    placeholders: tuple[Placeholder, ...] = ()
    giveaways: tuple[Giveaway, ...] = ()
    repeated: int = 0  # rows that had come before in the same pass
    contradicting: int = 0  # ... with another label
    passes: int = 1
    drift: tuple[Shift, ...] = ()  # between the first and the second half of the first pass
    odd: tuple[str, tuple[Shift, ...], int] | None = (
        None  # the file that is unlike the others, in what, and how many those are
    )
    tokens: tuple[tuple[int, int], ...] = ()  # of rows of tokens: the most frequent ones, and how often
    versions: Versions | None = None
    laid: tuple[tuple[str, int], ...] = ()  # of pictures with masks: ways in which they lie on each other
    fitting: tuple[int, int] = (
        0,
        0,
    )  # masks that say more of their own picture than another one does, and all that were compared
    blank: Blank | None = None
    copied: Blank | None = None  # the same for the row that came most often
    filler: Filler | None = None
    beside: str = (
        ""  # what comes with the first input of a model: another "input", or a "target" of several numbers
    )
    is_made: bool = False  # a script made the rows on the spot: neither a loader gave them, nor does a larger array hold them
    is_part: bool = False  # in training the model was given other samples as well, which are not in it


class Overlap(NamedTuple):
    """Rows of one stream that are rows of another."""

    first: str
    second: str
    shared: int
    of: int  # rows of the second that were compared
    whole: int = 0  # rows that the second has, as far as known
    example: str = ""
    relabelled: int = 0  # shared rows whose labels differ


class Shift(NamedTuple):
    """One column in two streams."""

    column: str
    how: str  # "shifted", "rescaled", "constant", "exchanged", "missing"
    first: float  # mean (or what `how` is about) in the one
    first_spread: float
    second: float
    second_spread: float
    factor: float = 0.0
    other: str = ""  # of exchanged ones: the other column


class Unrelated(NamedTuple):
    """A column that goes with another one in one stream, and does not in the other."""

    column: str
    other: str
    first: float  # correlation of their ranks in the one
    second: float
    pairs: int  # relations of this column that differ
    rows: int


class Rarer(NamedTuple):
    """A flag that is set far more seldom in one stream than in the other."""

    column: str
    first: float  # share of the rows of the one
    second: float
