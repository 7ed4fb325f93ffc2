"""Everything premortem can say: the cards of all units, found by code or by name."""

import difflib
from dataclasses import dataclass
from typing import Any

from premortem import detectors, preflight
from premortem.cards import Card, page
from premortem.errors import UsageError
from premortem.lint import problems, rules
from premortem.settings import Shared
from premortem.settings.matching import check_words
from premortem.why import cards as why


@dataclass(frozen=True, slots=True)
class Entry:
    """A card together with the unit whose docstring is its page."""

    card: Card
    unit: type

    @property
    def page(self) -> str:
        return page(self.card, self.unit)

    @property
    def summary(self) -> str:
        """The first paragraph of the page, in one line: what a table has room for."""
        _head, _blank, text = self.page.partition("\n\n")
        return " ".join(text.partition("\n\n")[0].split())


def entries() -> tuple[Entry, ...]:
    """All units, in the order of their codes."""
    units: list[Any] = [*detectors.ALL, *rules.ALL, *problems.ALL, *preflight.ALL, *why.ALL]
    found = (Entry(unit.card, unit) for unit in units)
    return tuple(sorted(found, key=lambda entry: entry.card.code))


def lookup(word: str) -> Entry:
    """The unit with this code or name; letter case does not matter."""
    known = entries()
    wanted = word.strip().lower()
    for entry in known:
        if wanted in {entry.card.code.lower(), entry.card.name.lower()}:
            return entry
    raise UsageError(_sentence(word, known))


def _sentence(word: str, known: tuple[Entry, ...]) -> str:
    spellings = {name.lower(): name for entry in known for name in (entry.card.code, entry.card.name)}
    near = difflib.get_close_matches(word.strip().lower(), spellings, n=1)
    hint = f"did you mean `{spellings[near[0]]}`?" if near else "`premortem explain --all` lists them"
    return f"no finding is called `{word}`; {hint}"


def check(settings: Shared) -> None:
    """Raises UsageError for a word of the settings that names no finding."""
    if settings.words():
        check_words(settings.words(), [entry.card for entry in entries()], "finding")
