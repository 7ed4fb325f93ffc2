"""Which rules run: from the words of `--select`, `--ignore` and the settings."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from fnmatch import fnmatch
from functools import lru_cache
from pathlib import Path

from premortem.cards import Card
from premortem.errors import UsageError
from premortem.findings import FAMILIES
from premortem.lint import problems
from premortem.lint.rule import ConfigRule, Rule
from premortem.lint.settings import Settings


def chosen(rules: Sequence[Rule | ConfigRule], settings: Settings) -> list[Rule | ConfigRule]:
    """The rules to run. A preview rule runs with `preview`, or when it is selected by its own code or name."""
    cards = [rule.card for rule in rules]
    _check((*settings.select, *settings.ignore), cards)
    for words in settings.per_file_ignores.values():
        _check(words, cards)
    return [rule for rule in rules if _runs(rule.card, settings)]


def _runs(card: Card, settings: Settings) -> bool:
    if any(matches(card, word) for word in settings.ignore):
        return False
    if card.preview and not settings.preview:
        return any(_is_own_name(card, word) for word in settings.select)
    return not settings.select or any(matches(card, word) for word in settings.select)


def matches(card: Card, word: str) -> bool:
    """A word is a code, the beginning of a code, a name, a family, or ALL."""
    word = word.strip()
    upper = word.upper()
    if upper == "ALL":
        return True
    if upper.startswith("PM"):
        return card.code.startswith(upper)
    return word.lower() in {card.name, card.family}


def _is_own_name(card: Card, word: str) -> bool:
    return word.strip().lower() in {card.code.lower(), card.name}


def _check(words: Iterable[str], cards: Sequence[Card]) -> None:
    known = [*cards, *(unit.card for unit in problems.ALL)]
    for word in words:
        if any(matches(card, word) for card in known) or word.lower() in FAMILIES:
            continue
        spellings = [spelling for card in known for spelling in (card.code, card.name)]
        near = difflib.get_close_matches(word.upper() if word[:1].isupper() else word, spellings, n=1)
        hint = f"did you mean `{near[0]}`?" if near else "`premortem explain --all` lists them"
        raise UsageError(f"no lint rule is called `{word}`; {hint}")


def ignored_here(card: Card, path: str, root: Path, settings: Settings) -> bool:
    """Whether `per-file-ignores` silences this card in this file."""
    return any(
        matches_path(path, pattern, str(root)) and any(matches(card, word) for word in words)
        for pattern, words in settings.per_file_ignores.items()
    )


@lru_cache(maxsize=4096)
def matches_path(path: str, pattern: str, root: str) -> bool:
    """`tests/*` matches below the root; `*_old.py` matches a name anywhere; `legacy` a folder anywhere.

    `!src/*` matches everything else.
    """
    if pattern.startswith("!"):
        return not matches_path(path, pattern[1:], root)
    full = Path(path).absolute()
    try:
        parts = full.relative_to(root).parts
    except ValueError:
        parts = full.parts[1:]
    inside = "/".join(parts)
    pattern = pattern.rstrip("/").removeprefix("./")
    if fnmatch(inside, pattern) or fnmatch(inside, f"{pattern}/*"):
        return True
    return "/" not in pattern and any(fnmatch(part, pattern) for part in parts)
