"""Vocabularies and weights of classes that lie beside the data, in files of their own."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from premortem.preflight.data import names, splits
from premortem.preflight.data.data_facts import Chosen, Listed, Vocabulary, Weights
from premortem.preflight.data.statistics import contents, small_files
from premortem.preflight.data.walk import File

_VOCABULARY = re.compile(r"vocab|stoi|word|token|dictionary|lexicon")
_WEIGHTS = re.compile(
    r"(class|label|loss|pos|ce)[^a-z]*weight|weights?[^a-z]*(of|per|by|for)?[^a-z]*(class|label)"
)
_MOST_BYTES = 16 << 20
_MOST_FILES = 16
_FEWEST = 20  # words
_LONGEST = 64  # letters of the name of a column
_MOST_NAMES = 1000
_SPECIAL = 8  # numbers that no word has: of padding, unknown ones and a few more
_PIECES = ("##", "Ġ", "▁", "</w>")  # of words: such a vocabulary is not asked for whole ones


def vocabularies(root: Path, files: Iterable[File]) -> Iterator[Vocabulary]:
    named = [f for f in files if f.size <= _MOST_BYTES and _VOCABULARY.search(names.stem(f.name).lower())]
    for file in [f for f in named if names.suffix(f.name) in {"json", "yaml", "yml", "txt", "vocab"}][
        :_MOST_FILES
    ]:
        read = lines if names.suffix(file.name) in {"txt", "vocab"} else contents
        found = read(root / file.path)
        lists = list(numbered(found))
        words = frozenset(word for each in lists for word in each)
        numbering = {tuple(sorted(each.items())): each for each in lists if is_numbering(each)}
        numbers = next(iter(numbering.values())) if len(numbering) == 1 else {}
        letters = sum(len(word) == 1 for word in words)
        pieces = sum(word.startswith(_PIECES) or word.endswith(_PIECES) for word in words)
        if len(words) >= _FEWEST and letters < 0.5 * len(words) and pieces < 0.02 * len(words):
            yield Vocabulary(path=file.path, words=words, cased=keeps_case(found), numbers=numbers)


def lines(path: Path) -> Any:
    """The first word of each line; a number or a vector may follow it. With their numbers where each line has one: these may be counts."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    split = [words for line in text.splitlines() if (words := line.split()) and len(words) <= 3]
    if split and all(len(words) == 2 and words[1].isdecimal() for words in split):
        return {word: int(number) for word, number in split}
    return [words[0] for words in split]


def numbered(value: Any, depth: int = 0) -> Iterator[dict[str, int]]:
    """Words with a number each, and lists of words, whose places are their numbers, at any depth."""
    if isinstance(value, Mapping):
        words = {k: v for k, v in value.items() if isinstance(k, str) and type(v) is int}
        if len(words) >= _FEWEST and len(words) >= 0.9 * len(value):
            yield words
        elif depth < 3:
            for each in value.values():
                yield from numbered(each, depth + 1)
    elif isinstance(value, list) and len(value) >= _FEWEST and all(isinstance(v, str) for v in value):
        yield {word: at for at, word in enumerate(value)}


def is_numbering(words: Mapping[str, int]) -> bool:
    """Each word has a number of its own, from 0 on and with hardly a gap: else they are counts, lengths or ranks."""
    numbers = set(words.values())
    return (
        len(numbers) == len(words)
        and 0 <= min(numbers) <= _SPECIAL
        and max(numbers) <= 1.1 * len(words) + _SPECIAL
    )


def keeps_case(value: Any) -> bool:
    """The file says that its tokenizer does not make letters small."""
    if not isinstance(value, Mapping):
        return False
    return any(value.get(key) is False for key in ("lowercase", "do_lower_case", "lower"))


def lists(root: Path, files: Iterable[File]) -> Iterator[Listed]:
    """Lists of names, and names with a number each, in files that are there for each split."""
    small = [f for f in files if f.size <= 1 << 16 and names.suffix(f.name) in {"json", "yaml", "yml", "txt"}]
    for file in [f for f in small if splits.of(f).split or names.split_of(f.name)][: 4 * _MOST_FILES]:
        split, path = splits.of(file).split or names.split_of(file.name), root / file.path
        found = text_lines(path) if file.name.endswith(".txt") else in_order(contents(path))
        if 2 <= len(found) <= 1000 and len(set(found)) == len(found):
            parts = [part for part in re.split(r"[/_.-]+", file.path) if not names.split_of(part)]
            yield Listed(path=file.path, series="/".join(parts), split=split, names=tuple(found))


def chosen(root: Path, files: Iterable[File]) -> Iterator[Chosen]:
    """`{"target": "load_next", "features": ["load", "temp"]}`, at any depth."""
    for file, found in small_files(root, files, "json", "yaml", "yml"):
        for key, value in named(found):
            one = (value,) if isinstance(value, str) else tuple(value)
            yield Chosen(path=file.path, key=key, names=one, alone=isinstance(value, str))


def named(value: Any, depth: int = 0) -> Iterator[tuple[str, str | list[str]]]:
    for key, each in value.items() if isinstance(value, Mapping) and depth < 3 else ():
        if (isinstance(each, str) and len(each) <= _LONGEST) or (
            isinstance(each, list) and 0 < len(each) <= _MOST_NAMES and all(isinstance(v, str) for v in each)
        ):
            yield str(key), each
        else:
            yield from named(each, depth + 1)


def in_order(value: Any) -> list[str]:
    """The names of a list; of names with numbers, or numbers with names, by their numbers."""
    if isinstance(value, Mapping):
        pairs = [(v, k) if type(v) is int else (k, v) for k, v in value.items()]
        if not all(str(number).isdecimal() and isinstance(name, str) for number, name in pairs):
            return []
        return [name for _, name in sorted((int(number), name) for number, name in pairs)]
    return value if isinstance(value, list) and all(isinstance(v, str) for v in value) else []


def text_lines(path: Path) -> list[str]:
    try:
        return [line for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if line]
    except OSError:
        return []


def class_weights(root: Path, files: Iterable[File]) -> Iterator[Weights]:
    for file, found in small_files(root, files, "json", "yaml", "yml", "npy"):
        for name, values in weights_in(found, names.stem(file.name)):
            yield Weights(path=file.path, classes=name, values=values)
            break


def weights_in(
    value: Any, called: str, depth: int = 0
) -> Iterator[tuple[tuple[str, ...], tuple[float, ...]]]:
    """Numbers above 0 under a name that says that they are weights of classes; with the names of the classes where they stand there."""
    if _WEIGHTS.search(called.lower()):
        if isinstance(value, list) and 2 <= len(value) <= 300 and all(is_weight(v) for v in value):
            yield (), tuple(map(float, value))
            return
    if "weight" in called.lower():
        if (
            isinstance(value, Mapping)
            and 2 <= len(value) <= 300
            and all(is_weight(v) for v in value.values())
        ):
            yield tuple(map(str, value)), tuple(map(float, value.values()))
            return
    if isinstance(value, Mapping) and depth < 3:
        for key, each in value.items():
            yield from weights_in(each, str(key), depth + 1)


def is_weight(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0
