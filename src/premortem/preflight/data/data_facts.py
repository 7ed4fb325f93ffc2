"""What a survey of the data has found, as plain values: the checks judge nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from premortem.events import FileFacts
from premortem.preflight.data.code.joined import Join
from premortem.preflight.data.tables import Table

# Columns that are called after what they are for.
LABELS = frozenset(
    {"label", "labels", "class", "target", "category", "class_id", "label_id", "class_name", "y"}
)
SMALL = 20  # files; below that, "all but one are alike" says little


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What reading one file, or one array in a file, has shown. Fields that do not apply stay empty."""

    path: str  # below its root
    kind: str
    problem: str = ""  # why it cannot be read; then nothing else is known
    shape: tuple[int, ...] = ()  # of the sample: (height, width) of images, all axes of arrays
    mode: str = ""  # `RGB`, `uint8`, `float32`
    low: float | None = None
    high: float | None = None
    values: int = 0  # that were looked at
    nan: int = 0
    inf: int = 0
    flat: bool = False  # one single value everywhere
    digest: str = ""  # of the decoded content
    thumb: bytes = b""  # 16 x 16 grey values of an image
    part: str = ""  # which array of the file
    rows: tuple[str, ...] = ()  # digests of rows, when the file holds many samples
    labels: tuple[tuple[str, int], ...] = ()  # values of a column of labels, and how often
    missing: tuple[str, ...] = ()  # files that a table names and that are not there
    named: int = 0  # files that a table names
    keys: tuple[tuple[str, int], ...] = ()  # of a tar: the kinds of members, and in how many samples
    bands: tuple[float, ...] = ()  # of an image: the mean of each band, then the deviation of each
    tables: tuple[Table, ...] = ()  # what it holds, column by column
    hole: tuple[int, int, int] | None = None  # the longest stretch of zero bytes: from, to, and of how many
    sizes: tuple[tuple[str, tuple[int, int]], ...] = ()  # of images in an archive: name, height and width
    notes: tuple[Annotated, ...] = ()  # what it says about other samples: boxes in pictures, spans in texts
    turned: int = 0  # EXIF's note which way is up; 1 and 0 mean as it is
    holds: tuple[
        tuple[str, str, float, float], ...
    ] = ()  # lists and single entries of a row that they hold: how often, and how often by chance
    parallel: tuple[
        tuple[str, str, str, int, int], ...
    ] = ()  # lists of its records that should run side by side: both, what is wrong, how much, of how many
    filled: tuple[str, int] | None = None  # of rows of tokens: where they are filled up, and with what
    rough: tuple[float, float, float] | None = (
        None  # of signals: how far a value is from the one before it, at 5, 50 and 95 % of them; 1 for noise
    )
    ends: float = 0.0  # the share of a signal in whole numbers that lies at the ends of its type
    swapped: bool = False  # noise that is a smooth signal once the bytes of each number are exchanged
    widths: tuple[int, int, int, str] | None = (
        None  # of a CSV: rows with more cells than its first, rows in all, its width, and one such row
    )
    heads: int = 0  # of a CSV: rows that are its first row once more
    attributes: tuple[tuple[str, str], ...] = ()  # notes that are stored with an array
    seconds: float = 0.0  # of sound, by its header
    goes_round: bool = False  # a signal that is smooth once it is taken to go on at the other end of its type
    cut: bool = False  # there are more rows than were read
    faults: tuple[str, ...] = ()  # faults of our own in what was to be measured here


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotated:
    """Places that a file names in one thing: boxes in a picture, spans in a text."""

    what: str  # "box" or "span"
    name: str  # of the picture; the text itself
    places: tuple[tuple[float, ...], ...]
    said: tuple[str, ...] = ()  # what is at each place, where the file says so


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """A file or folder that cannot be used, and why."""

    path: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Files that a loader would treat alike: one kind, one role, one split."""

    name: str
    kind: str
    split: str = ""
    role: str = ""
    count: int = 0  # files on the disk
    looks: tuple[Look, ...] = ()  # of those that were read


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """Two groups whose files belong together by name."""

    left: str
    right: str
    both: int
    left_only: tuple[str, ...] = ()
    right_only: tuple[str, ...] = ()
    annotations: bool = False  # the right side is text: images without objects may have none
    folders: frozenset[str] = frozenset()  # of the left side
    counted: bool = False  # plain numbers, and only the last ones are alone: two classes look like that too
    shapes: tuple[tuple[str, tuple[int, ...], tuple[int, ...]], ...] = ()
    laid: tuple[
        tuple[str, int], ...
    ] = ()  # ways in which the right side lies on the left, and how many pairs


@dataclass(frozen=True, slots=True, kw_only=True)
class Uneven:
    """A folder that lacks what nearly all of its siblings have."""

    folder: str
    lacks: tuple[str, ...]
    siblings: int  # that have it


@dataclass(frozen=True, slots=True, kw_only=True)
class Sequence:
    """A folder of numbered frames; `counts` are those of the roles beside it."""

    name: str
    counts: tuple[tuple[str, int], ...]

    @property
    def length(self) -> int:
        return min(count for _, count in self.counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Classes:
    """The class folders of one split."""

    split: str
    place: str  # what holds the splits
    counts: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """Samples of one split that are in another."""

    first: str
    second: str  # the smaller one
    shared: int
    of: int  # samples of the second that were compared
    how: str  # "bytes", "content", "rows" or "near"
    trained: bool = True  # the first is the training split
    examples: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Statistics:
    """A mean and a standard deviation that lie beside the data."""

    path: str
    mean: tuple[float, ...]
    std: tuple[float, ...]
    names: tuple[str, ...] = ()  # under which each stands there


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """A list of words that lies beside the data."""

    path: str
    words: frozenset[str]
    cased: bool = False  # it says that letters stay as large as they are
    numbers: Mapping[str, int] = field(default_factory=dict, compare=False, repr=False)  # of the words


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """A weight for each class, in a file beside the data."""

    path: str
    classes: tuple[str, ...]  # their names, where the file has them
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entries:
    """A list of names or numbers in a small file: the samples of a split, the classes, the columns to use."""

    path: str
    key: str  # under which it stands; "" for the file itself
    values: tuple[str, ...]
    types: frozenset[str] = frozenset()  # "str", "int", "bool": what its entries are to a program

    @property
    def shown(self) -> str:
        return f"{self.path}[{self.key}]" if self.key else self.path


@dataclass(frozen=True, slots=True, kw_only=True)
class Copies:
    """The same content several times in one split."""

    count: int  # files that are a copy of another
    of: int
    examples: tuple[tuple[str, str], ...] = ()
    contradicting: tuple[tuple[str, str], ...] = ()  # in two class folders


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """Numbers of rows that are off by one: labels against their samples, edges against what they join."""

    what: str  # "labels", "edges"
    path: str
    other: str
    step: int
    here: float  # how well they go together as they are
    there: float  # ... once they are moved


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """A long file of tokens."""

    path: str
    split: str
    tokens: int
    highest: int
    counts: tuple[int, ...]  # of each token
    marks: frozenset[int]  # of the passages with the smallest marks
    repeated: float  # share of passages that have come before in it


@dataclass(frozen=True, slots=True, kw_only=True)
class Unruly:
    """Labels that do not follow their rows, in parts of the data or as a whole, and what puts them right."""

    what: str  # where the labels stand
    parts: tuple[str, ...]  # which of them; empty for all
    how: str  # what puts them right
    here: float  # how often a simple rule is right about them,
    rest: float  # ... about the others, or once they are put right
    chance: float
    column: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recoded:
    """Numbers of words that belong to a text row by row, and stand for other words in the vocabulary."""

    path: str  # of the numbers
    text: str
    column: str
    vocabulary: str
    words: int  # different ones that were compared
    wrong: int  # ... and have another number in the vocabulary
    example: tuple[str, int, int]  # a word, its number in the file, its number in the vocabulary


@dataclass(frozen=True, slots=True, kw_only=True)
class Announced:
    """What `by` says about `file`, and what is there."""

    by: str
    key: str
    file: str
    what: str  # "rows", or the name of a checksum
    said: str
    found: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """An array, the table that it was made from, and rows in which they disagree."""

    array: str
    table: str
    path: str  # of the table
    rows: int
    of: int
    column: str
    example: tuple[int, float, float]  # a row, what the table has there, what the array has


@dataclass(frozen=True, slots=True, kw_only=True)
class Rated:
    """A rate that is stated, and another one that follows from what else is stated of the same samples."""

    by: str
    key: str
    file: str
    what: str  # from which the other rate follows
    stated: float
    found: float
    right: str = ""  # the file about which it is right
    files: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchanged:
    """A key that stands for other things in another split, as a column says."""

    path: str
    first: str
    other_path: str
    second: str
    column: str
    measure: str
    keys: int
    within: float  # correlation of the averages of each key between halves of the training rows,
    between: float  # between the splits as the keys are,
    put_right: float  # ... and once both are in the order of the averages


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrapped:
    """A column whose numbers went through a type that cannot hold them, as a file beside it shows."""

    path: str
    shown: str
    column: str
    other_path: str
    other: str
    dtype: str
    stored: bool  # the file itself has the type
    evenly: bool  # its numbers fill the type evenly, as many other things would
    beyond: int  # rows of the other file that the type cannot hold
    of: int
    highest: float  # of the other file


@dataclass(frozen=True, slots=True, kw_only=True)
class Coded:
    """An array of codes, row by row with a column of words: which code stands for which word."""

    array: str
    table: str
    column: str
    words: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """Rows of one split that lie far closer to rows of the other than rows of that lie to each other."""

    first: str
    second: str
    rows: int
    of: int
    distance: float  # in usual distances between a row and its nearest


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """One dataset on the disk."""

    name: str
    files: int = 0
    samples: int = 0
    bytes: int = 0
    kinds: tuple[tuple[str, int], ...] = ()
    suffixes: tuple[tuple[str, int], ...] = ()  # as they are spelled
    skipped: tuple[tuple[str, int, str], ...] = ()  # reason, how many, an example
    read: int = 0  # files whose content was looked at
    hashed: int = 0
    absent: bool = False  # named with --data, and not there
    cut: bool = False  # there are more files than could be listed; then no file is called missing
    trouble: tuple[Trouble, ...] = ()
    groups: tuple[Group, ...] = ()
    pairings: tuple[Pairing, ...] = ()
    uneven: tuple[Uneven, ...] = ()
    sequences: tuple[Sequence, ...] = ()
    classes: tuple[Classes, ...] = ()
    overlaps: tuple[Overlap, ...] = ()
    copies: Copies | None = None
    tables: tuple[Table, ...] = ()
    statistics: tuple[Statistics, ...] = ()
    vocabularies: tuple[Vocabulary, ...] = ()
    recoded: tuple[Recoded, ...] = ()
    weights: tuple[Weights, ...] = ()
    lists: tuple[Listed, ...] = ()
    chosen: tuple[Chosen, ...] = ()
    entries: tuple[Entries, ...] = ()
    stems: frozenset[str] = frozenset()  # names of sample files without their endings
    follows: tuple[Unruly, ...] = ()
    streams: tuple[Stream, ...] = ()
    numbers: tuple[
        tuple[str, str, int], ...
    ] = ()  # whole numbers in small files: the file, the key, the number
    uneven_arrays: tuple[
        tuple[str, int, str, int], ...
    ] = ()  # two files that belong together, and their rows
    links: tuple[
        tuple[str, str], ...
    ] = ()  # folders that are links, and the folder of this root where they end
    described: tuple[FileFacts, ...] = ()  # texts, and what the script keeps for its next run
    stored: tuple[Stored, ...] = ()
    moved: tuple[Moved, ...] = ()
    paths: tuple[str, ...] = field(default=(), repr=False)  # of the files, as many as may be looked through
    doubled: tuple[
        tuple[str, str, str, str], ...
    ] = ()  # keys that stand twice: the file, the key, both values
    near: tuple[Near, ...] = ()
    announced: tuple[Announced, ...] = ()  # what files say about others, and is not so
    copied: tuple[Copied, ...] = ()  # arrays that differ from the table they are made from
    coded: tuple[Coded, ...] = ()
    wrapped: tuple[Wrapped, ...] = ()
    rated: tuple[Rated, ...] = ()
    exchanged: tuple[Exchanged, ...] = ()
    twice: tuple[
        tuple[str, str, int, int], ...
    ] = ()  # two files of one split, samples in both, samples of the second
    faults: tuple[str, ...] = ()  # faults of our own in what was to be measured: it is missing here


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """Names in an order, in a small file of one split: the classes, where a label is a place in the list."""

    path: str
    series: str  # the same for the lists of other splits
    split: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """Names that a small file has under a key: columns, where a table has some that are called so."""

    path: str
    key: str
    names: tuple[str, ...]
    alone: bool  # one name, and no list


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """How the files of one split are stored: modes, sampling rates, EXIF notes, and how many have each."""

    dataset: str
    split: str
    kind: str
    ways: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Miss:
    """A path that the code or a config names, that does not exist, beside one that nearly has its name."""

    wanted: str
    there: str
    file: str = ""
    line: int | None = None
    samples: int = 0  # in the one that is there


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A pattern in the code that fits nothing in the data, beside files that it nearly fits."""

    pattern: str
    nearly: str  # a suffix that is there
    count: int
    file: str = ""
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Length:
    """How long a dataset of the script was, seen in a rehearsal."""

    name: str
    length: int
    folder: str  # where its files lie
    files: int  # that lie there
    read: int  # of them, as many as all its samples need


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipLength:
    """How many frames the script wants from one sequence."""

    name: str
    frames: int
    file: str = ""
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFacts:
    """Everything that the checks of this part may know."""

    roots: tuple[Root, ...] = ()
    misses: tuple[Miss, ...] = ()
    patterns: tuple[Pattern, ...] = ()
    lengths: tuple[Length, ...] = ()
    clips: tuple[ClipLength, ...] = ()
    handled: frozenset[str] = (
        frozenset()
    )  # "size", "type": the code brings every sample to one; "gaps": it knows of NaN
    notes: tuple[str, ...] = ()
    opened: frozenset[str] = (
        frozenset()
    )  # names of files that a run has opened, where it is looked at beside one
    words: frozenset[str] = frozenset()  # texts that stand in the script: names of columns among them
    names: frozenset[str] = frozenset()  # every word of the script's code
    sorts: bool = False  # it takes files in the order of their names

    latest: frozenset[str] = frozenset()  # patterns of file names of which it takes the last by letters
    lists: frozenset[tuple[str, ...]] = frozenset()  # lists of words by which its code numbers words
    targets: frozenset[str] = frozenset()  # columns that its code predicts; "-1" for the last one
    later: frozenset[tuple[str, str, int]] = (
        frozenset()
    )  # what its code takes from later rows: what it calls that, of which column, and how many rows later
    columns: frozenset[tuple[str, ...]] = frozenset()  # lists of names in its code, which may be columns
    dropped: frozenset[str] = frozenset()  # names of columns that it leaves out
    writes: frozenset[str] = frozenset()  # texts that stand only where it writes a file
    by_place: bool = False  # it reads tables by the place of their columns, and none by their names
    guesses_types: bool = False  # it leaves to pandas what is a number in a text file
    drops_commas: bool = False  # it takes commas in numbers for marks between thousands
    turns_commas: bool = False  # it takes commas in numbers for decimal points
    drops_points: bool = False  # it takes points in numbers for marks between thousands
    joins: frozenset[Join] = frozenset()  # columns by which its code joins tables
    truths: frozenset[str] = frozenset()  # columns of which the code asks whether their text is true
    sorts_rows: bool = False  # it sorts rows by what they hold
    numbers: frozenset[float] = frozenset()  # that its code asks its data for, as what is missing
    every_other: bool = False  # it takes every other row of something
    permutes: bool = False  # it mixes all of its samples, and not only what is near each other

    def reads(self, path: str) -> bool:
        """Whether the script may read this file: it has opened it, it names it and not only to write it, or there is no script. A `*`
        in the path stands for several files."""
        name = path.rpartition("/")[2]
        words = self.words - self.writes if self.writes else self.words
        if any(name in text for text in self.writes) and not any(name in text for text in words):
            return False
        if name in self.opened or ("*" in name and any(fnmatchcase(each, name) for each in self.opened)):
            return True
        ending = f".{name.rpartition('.')[2]}"
        return not self.words or any(
            name in text
            or name.rpartition(".")[0] == text
            or text == ending  # f"load_{year}.csv"
            or ("*" in text and text.endswith(ending) and fnmatchcase(name, text.rpartition("/")[2]))
            for text in words
        )

    def uses(self, table: Table, column: str) -> bool:
        """Whether the script may use this column: it names it, or hardly any of the file's (the label, what to drop)."""
        named = [name for name in (*table.sample.columns, *table.categories) if name in self.words]
        return column in self.words if len(named) >= 3 else True

    def predicts(self, column: str, *, last: bool = False) -> bool:
        """Whether this column is what is predicted: the script takes it for that, or it is called so. `last`: of its table."""
        return column in self.targets or (last and "-1" in self.targets) or column.strip().lower() in LABELS
