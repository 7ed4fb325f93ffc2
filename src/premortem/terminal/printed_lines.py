"""The log is an instrument too: what the script prints is passed through and read.

    Epoch 3/10 train loss 0.52 acc 81.0% | val loss nan
    Epoch #/# train loss # acc #% | val loss #                                     the template
    epoch 3, of 10, train_loss 0.52, train_acc 81.0, val_loss nan                  the values

Both standard streams are read, because `logging` writes to stderr. Lines without a number, and progress bars, are no
evidence and are left out; the time at which a line was logged is not part of it.
"""

import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, TextIO

from premortem import redaction
from premortem.events import LogLine
from premortem.metric_words import METRICS, SPLITS

LENGTH = 2000  # characters of a line that are looked at
NUMBERS = 64  # ... and numbers in it
LONGEST = 100_000  # characters of one write
RATE = 200  # lines parsed in a second; a script that prints more is not slowed down for it

# --- parsing ---------------------------------------------------------------------------------

COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
# What tqdm leaves behind: 100%|████| 40/40 [00:02<00:00, 17.3it/s] or, without a total, 40it [00:02, 17.3it/s]
BAR = re.compile(r"\[\d+:\d\d(?::\d\d)?<|\d+it \[\d+:\d\d")
# What `logging` puts before a line: 2026-05-01 12:00:03,123 or [05/01 12:00:03] or 12:00:03.1
STAMP = re.compile(
    r"[\[(]?(?:\d{2,4}[-/.]\d{1,2}(?:[-/.]\d{1,4})?[ T]+)?\d{1,2}:\d\d:\d\d(?:[.,]\d+)?Z?[\])]?[\s:|-]+"
)
TOKEN = re.compile(
    r"""
      (?P<hex> \b0[xX][0-9a-fA-F]{1,16}\b )
    | \b(?P<counter> (?i:epoch|ep|step|iter|iteration|batch|round|fold) ) (?P<count> \d+ )\b    # "epoch3"
    | (?P<odd> (?:(?<![\w.)])[+-])? \b(?:[nN][aA][nN]|[iI][nN][fF](?:[iI][nN][iI][tT][yY])?)\b )
    | (?P<word> [^\W\d]\w* (?: [./@-](?=[^\W\d])\w+ | @\d+ )* )                     # "val/loss", "acc@5", "f1"
    | (?P<number> (?:(?<![\w.)])[+-])?                                              # the "-" of "2024-05-01" is no sign
                  (?<![\w.])                                                       # no "3" in "v1.2.3"
                  (?: (?<!\d:)[1-9]\d{0,2}(?:,\d{3})+(?!\d)(?:\.\d+)? | \d+(?:\.\d+)? | \.\d+ )
                  (?:\.?[eE][+-]?\d+)? )
    """,
    re.VERBOSE,
)
# Words between a name and its number that name nothing themselves.
FILLERS = re.compile(r"is|was|are|at|to|the|an|as|now|tensor|array|np\.float(?:16|32|64)")
_PARTED = r"(?:.*[_./-])?(?:{})(?:[_./-].*)?"  # one of the words, alone or as a part of the name
METRIC = re.compile(_PARTED.format("|".join(sorted(map(re.escape, METRICS))) + r"|acc@\d+"))
SPLIT = re.compile(_PARTED.format("|".join(SPLITS)))


class Number(NamedTuple):
    """A number in a line: where it stands, what it is called."""

    start: int
    end: int
    label: str
    text: str
    value: float


def parse(line: str, step: int = 0) -> LogLine | None:
    """The line with its numbers, if it has any.

    A label is the nearest word before the number, in lower case. The metrics of a line often
    share the name of their split ("val: loss 0.3 acc 0.9"), so it is put before them: "val_acc".
    The second number of "3/10" is labelled "of".
    """
    shown = line.rstrip("\r").rpartition("\r")[2]  # what a terminal shows in the end
    text = COLOUR.sub("", redaction.line(shown[: 4 * LENGTH])[:LENGTH]).strip()
    if BAR.search(text):
        return None
    stamp = STAMP.match(text)
    if stamp is not None:
        text = text[stamp.end() :]
    numbers = list(_numbers(text))
    if not numbers:
        return None
    pieces, end = [], 0
    for number in numbers:
        pieces += [text[end : number.start], "#"]
        end = number.end
    pieces.append(text[end:])
    values = tuple((n.label, n.text, n.value) for n in numbers)
    return LogLine(step=step, text=text, template="".join(pieces), values=values)


def _numbers(text: str) -> Iterator[Number]:
    label = split = ""
    end, found = -1, 0  # where the last number ended; how many there were
    for token in TOKEN.finditer(text):
        word = token.group().lower()
        if token.lastgroup == "word":
            unit = token.start() == end  # "3s", "45.2it/s": names the number before it
            if not unit and not FILLERS.fullmatch(word):
                split = SPLITS.get(word, split)
                label = word
            continue
        if token.lastgroup == "count":
            label, word = token["counter"].lower(), token["count"]
        start = token.end() - len(word)
        fraction = end > 0 and text[end:start].strip() == "/"
        name = "of" if fraction else _qualified(label, split)
        yield Number(start, token.end(), name, text[start : token.end()], _value(word))
        end, found = token.end(), found + 1
        if found == NUMBERS:
            return


def _qualified(label: str, split: str) -> str:
    if split and METRIC.fullmatch(label) and not SPLIT.fullmatch(label):
        return f"{split}_{label}"
    return label


def _value(text: str) -> float:
    return float(int(text, 16)) if text.startswith("0x") else float(text.replace(",", ""))


# --- listening -------------------------------------------------------------------------------


_ours = threading.local()


@contextmanager
def unread() -> Iterator[None]:
    """Around what premortem itself writes: it is no evidence either."""
    _ours.speaking = True
    try:
        yield
    finally:
        _ours.speaking = False


class Tee:
    """Reads along with what is written to a stream, which stays the very same object.

    Only the stream's `write` is covered, by an attribute of the instance: identity, type, `isatty`,
    `encoding` and `buffer` are untouched. Everything is passed on first and unchanged; what is read
    afterwards can neither fail the write nor cost much. A line of ours on the same terminal (`terminal/status_line.py`) is
    taken away before.
    """

    def __init__(
        self,
        stream: TextIO,
        emit: Callable[[LogLine], None] | None,
        passing: Callable[..., Any] | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream
        self._emit = emit  # None: no caller wants the lines
        self._passing = passing  # makes each write, with something of ours around it
        self._clock = clock
        self._pid = os.getpid()
        self._second, self._parsed = -1, 0
        self._threads = threading.local()  # a line is what one thread writes up to its newline
        try:
            attributes = vars(stream)
        except TypeError:  # no stream at all, or one whose instances have no attributes: nothing is read
            self._open = False
            return
        self._open = True
        self._attributes = attributes
        self._covered = attributes.get("write")
        self._original = stream.write
        attributes["write"] = self._write

    def close(self) -> None:
        """Give the stream its own `write` back."""
        if not self._open:
            return
        self._open = False
        if self._attributes.get("write") != self._write:
            return  # someone has covered our cover since: it stays, and only passes on
        del self._attributes["write"]
        if self._covered is not None:
            self._attributes["write"] = self._covered

    def _write(self, *args: Any, **kwargs: Any) -> Any:
        if self._open and self._passing is not None:
            result = self._passing(self._stream, self._original, args, kwargs)
        else:
            result = self._original(*args, **kwargs)
        if self._open and self._emit is not None and os.getpid() == self._pid:
            with suppress(Exception):  # a print must work, whatever we make of it
                self._listen(args[0])
        return result

    def _listen(self, text: str) -> None:
        mine = self._threads
        if getattr(mine, "busy", False) or getattr(_ours, "speaking", False):
            return  # printed by whoever is handling a line just now, or by us
        *lines, rest = (getattr(mine, "rest", "") + _shortened(text)).split("\n")
        # A bar is redrawn many times on one line: only its last state can still matter.
        mine.rest = rest.rpartition("\r")[2][:LENGTH]
        mine.busy = True
        try:
            for line in lines:
                self._read(line)
        finally:
            mine.busy = False

    def _read(self, line: str) -> None:
        second = int(self._clock())
        if second != self._second:
            self._second, self._parsed = second, 0
        if self._parsed >= RATE:
            return
        self._parsed += 1
        event = parse(line)
        if event is not None and self._emit is not None:
            self._emit(event)


def _shortened(text: str) -> str:
    """A bounded part of a very long text, with its last line so that the next write joins the right one."""
    if len(text) <= LONGEST:
        return text
    cut = max(text.rfind("\n"), LONGEST)
    return text[:LONGEST] + text[cut : cut + LENGTH]
