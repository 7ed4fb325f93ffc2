"""Lists that run side by side in each record, such as words and their tags: as long as each other, and entry by entry."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

_FEWEST = 50  # records
_SIDE = 0.95  # of the records with two lists have them of one length: then they are meant to run side by side
_SEVERAL = 2  # entries of a list: shorter ones are as long as each other by chance
_UNEVEN = 0.01  # of them are not
_SHIFTED = 0.9  # of the entries are those of the other list, a place further on: one series, and what comes next in it
_LEFT_OUT = "-100"
_ENTRIES = 500
_MOST = 50_000  # entries
_CLASSES = 40  # different tags
_KNOWN = 0.5  # of what is left open by the most frequent tag does a word say, once it is moved,
_LOST = 0.5  # ... and at most so much of that as it stands


def of_records(records: Sequence[Mapping[str, Any]]) -> tuple[tuple[str, str, str, int, int], ...]:
    """Two lists, "uneven" or "moved", in how many records or by how many places, and of how many."""
    if len(records) < _FEWEST:
        return ()
    keys = [key for key, value in records[0].items() if isinstance(value, list)][:8]
    lists = {
        key: [record[key] for record in records]
        for key in keys
        if all(isinstance(record.get(key), list) for record in records)
    }
    return tuple(judged(lists))


def judged(lists: Mapping[str, Sequence[list[Any]]]) -> Iterator[tuple[str, str, str, int, int]]:
    for one, two in combinations(lists, 2):
        pairs = list(zip(lists[one], lists[two], strict=True))
        lengths = [(len(a), len(b)) for a, b in pairs if min(len(a), len(b)) >= _SEVERAL]
        even = sum(a == b for a, b in lengths)
        if len(lengths) < _FEWEST or len({a for a, _ in lengths}) < 3 or even < _SIDE * len(lengths):
            continue
        if len(lengths) - even >= max(3, _UNEVEN * len(lengths)):
            yield one, two, "uneven", len(lengths) - even, len(lengths)
        if any(follows(lists[one], lists[two], step) >= _SHIFTED for step in (-1, 1)):
            continue
        for words, tags in ((one, two), (two, one)):
            step = moved(lists[words], lists[tags])
            if step:
                yield words, tags, "moved", step, len(pairs)


def follows(words: Sequence[list[Any]], tags: Sequence[list[Any]], step: int) -> float:
    """How many entries are the one before, or behind, in the other list. What is left out of a loss (-100) says nothing."""
    same = of = 0
    for row, other in zip(words, tags, strict=True):
        one, two = (row[1:], other[:-1]) if step > 0 else (row[:-1], other[1:])
        told = [(a, b) for a, b in zip(one, two, strict=False) if str(b) != _LEFT_OUT]
        same, of = same + sum(str(a) == str(b) for a, b in told), of + len(told)
        if of > _MOST:
            break
    return same / of if of else 0.0


def moved(words: Sequence[list[Any]], tags: Sequence[list[Any]]) -> int:
    """By how many places tags are moved against their words; 0 where they are not."""
    if len({str(tag) for row in tags[:200] for tag in row}) > _CLASSES:
        return 0
    worth = {step: telling(words, tags, step) for step in (-1, 0, 1)}
    best = max(worth, key=lambda step: worth[step])
    return best if best and worth[best] >= _KNOWN and worth[0] <= _LOST * worth[best] else 0


def telling(words: Sequence[list[Any]], tags: Sequence[list[Any]], step: int) -> float:
    """How much of what the most frequent tag leaves open the word knows, learnt from every other record."""
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    asked: list[tuple[str, str]] = []
    total: Counter[str] = Counter()
    for at, (row, other) in enumerate(zip(words, tags, strict=True)):
        if len(row) != len(other) or len(asked) > _MOST:
            continue
        moved_tags = other[1:] if step > 0 else other[: len(other) + step]
        moved_words = row[: len(row) - step] if step > 0 else row[-step:]
        for word, tag in zip(map(str, moved_words), map(str, moved_tags), strict=True):
            if at % 2:
                seen[word][tag] += 1
                total[tag] += 1
            else:
                asked.append((word, tag))
    if len(asked) < _ENTRIES or len(total) < 2:
        return 0.0
    usual = total.most_common(1)[0][0]
    chance = sum(tag == usual for _, tag in asked) / len(asked)
    right = sum(
        (seen[word].most_common(1)[0][0] if word in seen else usual) == tag for word, tag in asked
    ) / len(asked)
    return (right - chance) / (1 - chance) if chance < 1 else 0.0
