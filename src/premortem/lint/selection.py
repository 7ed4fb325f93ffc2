"""Which rules run: from the words of `--select`, `--ignore` and the settings."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from premortem.cards import Card
from premortem.lint import problems
from premortem.lint.rule import ConfigRule, Rule
from premortem.lint.settings import Settings
from premortem.settings.matching import check_words, matches, matches_path


def chosen(rules: Sequence[Rule | ConfigRule], settings: Settings) -> list[Rule | ConfigRule]:
    """The rules to run. A preview rule runs with `preview`, or when it is selected by its own code or name."""
    cards = [rule.card for rule in rules]
    words = [word for inner in settings.per_file_ignores.values() for word in inner]
    _check([w for w in (*settings.select, *settings.ignore, *words) if w not in settings.inherited], cards)
    return [rule for rule in rules if _runs(rule.card, settings)]


def _runs(card: Card, settings: Settings) -> bool:
    if any(matches(card, word) for word in settings.ignore):
        return False
    if card.preview and not settings.preview:
        return any(_is_own_name(card, word) for word in settings.select)
    return not settings.select or any(matches(card, word) for word in settings.select)


def _is_own_name(card: Card, word: str) -> bool:
    return word.strip().lower() in {card.code.lower(), card.name}


def _check(words: Iterable[str], cards: Sequence[Card]) -> None:
    check_words(words, [*cards, *(unit.card for unit in problems.ALL)], "lint rule")


def ignored_here(card: Card, path: str, root: Path, settings: Settings) -> bool:
    """Whether `per-file-ignores` silences this card in this file."""
    return any(
        matches_path(path, pattern, str(root)) and any(matches(card, word) for word in words)
        for pattern, words in settings.per_file_ignores.items()
    )
