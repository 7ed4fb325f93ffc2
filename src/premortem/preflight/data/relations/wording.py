"""Texts, the numbers that stand for their words, and the vocabulary that says which: the three agree, row by row."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from premortem.preflight.data.data_facts import Recoded, Vocabulary
from premortem.preflight.data.tables import Table

_ROWS = 2000  # that are compared
_WORDS = 20  # different ones, at least
_ONE_NUMBER = 0.95  # of the places of a word: then the numbers are those of this text, whatever the numbering
_WRONG = 0.5  # of the words
_IN_IT = 0.8  # of the words that have a number of their own are in their vocabulary
_SPECIAL = 8  # numbers before the first word: padding, unknown, begin, end and a few more


def recoded(
    held: Mapping[str, Any], tables: Sequence[Table], vocabularies: Iterable[Vocabulary]
) -> Iterator[Recoded]:
    """Arrays of numbers that follow a text word by word, in another numbering than that of the vocabulary beside it."""
    given = [each for each in vocabularies if each.numbers]
    texts = [
        (t, name, t.cells[name]) for t in tables for name in t.words if name in t.cells and "=" not in t.part
    ]
    if not given or not texts:
        return
    for path, made in held.items():
        if made.ndim != 2 or made.dtype.kind not in "iu":
            continue
        for table, column, cells in texts:
            numbers = numbering(cells, made) if len(cells) == len(made) else {}
            if len(numbers) < _WORDS:
                continue
            found = [disagreement(numbers, each) for each in given]
            # One vocabulary that agrees is enough: the others are of something else. So is one that lacks the words.
            if found and all(wrong >= _WRONG * len(numbers) for wrong, _ in found):
                at = min(range(len(given)), key=lambda at: found[at][0])
                wrong, example = found[at]
                yield Recoded(
                    path=path,
                    text=table.shown,
                    column=column,
                    vocabulary=given[at].path,
                    words=len(numbers),
                    wrong=wrong,
                    example=example,
                )


def numbering(cells: Sequence[str], made: Any) -> dict[str, int]:
    """The number of each word, where the rows of numbers follow the words of the cells; nothing where they do not."""
    seen: dict[str, Counter[int]] = defaultdict(Counter)
    for cell, row in zip(cells[:_ROWS], made[:_ROWS].tolist(), strict=True):
        for word, number in zip(cell.split(), row, strict=False):
            seen[word][number] += 1
    several = {word: counts for word, counts in seen.items() if counts.total() >= 2}
    total = sum(counts.total() for counts in several.values())
    first = {word: counts.most_common(1)[0] for word, counts in several.items()}
    if not total or sum(number for _, number in first.values()) < _ONE_NUMBER * total:
        return {}
    # What many words share is the number of unknown ones, or of the padding.
    shared = Counter(number for number, _ in first.values())
    return {word: number for word, (number, _) in first.items() if shared[number] == 1}


def disagreement(numbers: dict[str, int], given: Vocabulary) -> tuple[int, tuple[str, int, int]]:
    """Words with another number in the vocabulary, and one of them. A few special numbers before the first word are a custom."""
    known = {word: number for word, number in numbers.items() if word in given.numbers}
    if len(known) < max(_WORDS, _IN_IT * len(numbers)):
        return 0, ("", 0, 0)
    moved = Counter(number - given.numbers[word] for word, number in known.items()).most_common(1)[0][0]
    moved = moved if 0 <= moved <= _SPECIAL else 0
    wrong = [word for word, number in known.items() if number - given.numbers[word] != moved]
    word = wrong[0] if wrong else ""
    return len(wrong), (word, known.get(word, 0), given.numbers.get(word, 0))
