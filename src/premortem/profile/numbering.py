"""Whether two streams of tokens number the same things in the same way."""

from typing import NamedTuple

from premortem.profile.facts import Profile

_EXPECTED = 25.0  # times that a token should have come
_FEWEST = 500  # tokens of each stream
_MOVED = 16  # numbers, up to which a shift is looked for
_AGREE = 0.97  # of the frequent tokens, once they are moved
_SEVERAL = 5  # frequent tokens; two would agree by chance


class Renumbered(NamedTuple):
    """Tokens that are frequent in one stream and never come in the other, in both directions."""

    only_first: tuple[tuple[int, int], ...]  # each, and how often
    only_second: tuple[tuple[int, int], ...]
    first: int  # tokens of each stream that were counted
    second: int
    moved: int  # the numbers of the second, against those of the first


def renumbered(first: Profile, second: Profile) -> Renumbered | None:
    one, two = dict(first.tokens), dict(second.tokens)
    many, more = sum(one.values()), sum(two.values())
    if min(many, more) < _FEWEST:
        return None
    here, there = frequent(one, two, many, more), frequent(two, one, more, many)
    only_first, only_second = missing(one, two, here), missing(two, one, there)
    # Other words alone prove nothing: an evaluation may ask for what was never trained on.
    moved = shift(here, there) if only_first and only_second else 0
    return Renumbered(only_first, only_second, many, more, moved) if moved else None


def frequent(mine: dict[int, int], yours: dict[int, int], many: int, more: int) -> set[int]:
    """Tokens that should have come in the other stream if it were like this one."""
    floor = min(yours.values(), default=0) if len(yours) >= 512 else 0  # rarer ones were not kept
    return {code for code, number in mine.items() if number * more / many > _EXPECTED + 4 * floor}


def missing(mine: dict[int, int], yours: dict[int, int], those: set[int]) -> tuple[tuple[int, int], ...]:
    return tuple(
        sorted(((c, mine[c]) for c in those if c not in yours), key=lambda pair: (-pair[1], pair[0]))
    )[:20]


def shift(here: set[int], there: set[int]) -> int:
    """By how much the second is moved; the smallest numbers are padding and marks, and may stay where they are."""
    for moved in sorted(range(-_MOVED, _MOVED + 1), key=abs):
        for fixed in range(6):
            back = {code if code < fixed else code - moved for code in there}
            if moved and len(back & here) >= _AGREE * len(back | here) and len(here) >= _SEVERAL:
                return moved
    return 0
