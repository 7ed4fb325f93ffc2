"""What the numbers in a printed line are: a counter, a metric of the evaluation, something else."""

import functools
import re

from premortem.events import LogLine
from premortem.metric_words import EPOCHS, EVALUATED, ITERATIONS, SCORES, words

# Kinds of lines that are remembered: a script has a handful; one that prints a table of words has thousands.
MOST_KINDS = 64
_COUNTERS = EPOCHS | ITERATIONS | {"round"}
_ARROW = r"(?:[-=~]+>|[→⇒⟶➔➜])"
# "loss decreased (inf --> 4.6)", "improved from inf to 4.6": what follows the number of before.
_THEN = re.compile(rf"[\s)\]%]*(?:{_ARROW}|to\b)[\s(\[]*$", re.IGNORECASE)
# "from inf", "(was inf)", "beats inf", "4.6 < inf": the number is what now is compared with, or how far it is from it.
_COMPARED = re.compile(
    r"\b(?:from|was|than|beats?|over|vs\.?|versus|below|under|above|by)[\s:=(]*$|(?<![-=~>])[<>]=?\s*$",
    re.IGNORECASE,
)
_BEFORE = frozenset({"previous"})


def columns(line: LogLine) -> tuple[frozenset[str], ...]:
    """The words that say what each number is: its label, and what stands between it and the number before.

    Of "from A to B", in whatever spelling, A is `previous` and B is what A is.
    """
    return _columns(line.template, next(zip(*line.values, strict=True), ()))


@functools.lru_cache(
    maxsize=256
)  # nine detectors ask about each line, and most lines are like the one before
def _columns(template: str, labels: tuple[str, ...]) -> tuple[frozenset[str], ...]:
    pieces = template.split("#")
    if len(pieces) != len(labels) + 1:
        return tuple(map(words, labels))
    found: list[frozenset[str]] = []
    for index, label in enumerate(labels):
        piece = pieces[index]
        names = words(label) | words(piece)
        if found and _THEN.fullmatch(piece):
            names |= found[-1] - _BEFORE
        if _COMPARED.search(piece) or (index + 1 < len(labels) and _THEN.fullmatch(pieces[index + 1])):
            names |= _BEFORE
        found.append(names)
    return tuple(found)


def counter(line: LogLine) -> tuple[str, int] | None:
    """The number of the epoch in this line, with the word it is called by."""
    for label, text, value in line.values:
        if label in _COUNTERS and text.isdigit() and value < 1e6:
            return label, int(value)
    return None


def counted(line: LogLine) -> int | None:
    """Likewise, or a whole number that the line begins with ("[03] loss 0.5"). The caller checks whether it counts up."""
    named = counter(line)
    if named is not None:
        return named[1]
    for label, text, value in line.values[:1]:
        if not label and text.isdigit() and value < 1e6:
            return int(value)
    return None


def kind_of(line: LogLine) -> str:
    """What lines of one `print` have in common; padding differs with the width of the numbers."""
    return " ".join(line.template.split())


def evaluates(line: LogLine) -> bool:
    """Whether the line shows the result of an evaluation, so that there was one before it."""
    return any(names & (EVALUATED | SCORES) for names in columns(line))


def held_out(line: LogLine) -> bool:
    """Whether it shows a result on data that is not trained on."""
    return any(names & EVALUATED for names in columns(line))


def digits(text: str) -> int:
    """Significant digits, as printed: 4 in "0.4410", 1 in "0.1000" (its zeros say nothing)."""
    mantissa = text.lower().partition("e")[0].lstrip("+-")
    whole = mantissa.replace(".", "").replace(",", "").lstrip("0")
    return len(whole) if "." in mantissa and len(whole.rstrip("0")) >= 2 else len(whole.rstrip("0"))
