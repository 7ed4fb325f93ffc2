"""Words of the texts in a table, and how many of them a vocabulary knows."""

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

_SENTENCE = 3.0  # words in a cell, on average
_ROWS = 5000
_KEPT = 3000  # words
_LONG = 14  # letters of a word, on average: a text without spaces between its words


def words_in(columns: Mapping[str, Sequence[str]]) -> dict[str, tuple[int, dict[str, int]]]:
    """Of each column of sentences: how many words it has, and how often the most frequent ones come."""
    found = {}
    for name, cells in columns.items():
        some = cells[:_ROWS]
        if not some or sum(cell.count(" ") + 1 for cell in some[:200]) < _SENTENCE * len(some[:200]):
            continue
        counts = Counter(word for cell in some for word in cell.split())
        if sum(len(word) * number for word, number in counts.items()) <= _LONG * counts.total():
            found[name] = (counts.total(), dict(counts.most_common(_KEPT)))
    return found


def known(words: Mapping[str, int], vocabulary: AbstractSet[str], *, small: bool) -> float:
    """The share of the words that the vocabulary knows, with signs at their ends or without."""
    total = sum(words.values())
    good = 0
    for word, number in words.items():
        forms = {word, word.strip(".,;:!?\"'()[]")}
        forms |= {form.lower() for form in forms} if small else set()
        good += number * bool(forms & vocabulary)
    return good / total if total else 1.0


def known_in_another_form(
    words: Mapping[str, int], vocabulary: AbstractSet[str]
) -> tuple[float, str, list[str]]:
    """The share of the words that the vocabulary lacks only because accents are stored in another way, that way, and such words."""
    total = sum(words.values())
    best: tuple[float, str, list[str]] = (0.0, "", [])
    for form in ("NFC", "NFD", "NFKC"):
        lacking = [w for w in words if w not in vocabulary and unicodedata.normalize(form, w) in vocabulary]
        best = max(best, (sum(words[word] for word in lacking) / max(1, total), form, lacking))
    return best
