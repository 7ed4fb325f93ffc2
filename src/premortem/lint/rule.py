"""The two kinds of rules: for Python sources, and for configuration files."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

from premortem.cards import Card
from premortem.findings import Severity
from premortem.lint.configs import Config, Entry
from premortem.lint.diagnostics import Diagnostic, Edit, Fix
from premortem.lint.project_facts import Facts
from premortem.lint.source import Source

# What every rule needs, so that it has one import.
__all__ = [
    "Card", "Config", "ConfigRule", "Diagnostic", "Edit", "Entry", "Facts", "Fix", "Rule", "Severity", "Source",
]  # fmt: skip


class Held(bytes):
    """The bytes of a file: whether they hold a word is found out once, however many rules ask."""

    def __init__(self, _data: bytes) -> None:
        self._known: dict[Any, bool] = {}

    def __contains__(self, word: Any) -> bool:
        known = self._known.get(word)
        if known is None:
            known = self._known[word] = bytes.__contains__(self, word)
        return known


class _Unit:
    card: ClassVar[Card]
    # A rule is shown the files in which all of `needs` and one of `triggers` occur. What many rules need comes first: whether
    # a file holds it is known already.
    needs: ClassVar[tuple[bytes, ...]] = ()
    triggers: ClassVar[tuple[bytes, ...]] = ()
    of_python: ClassVar[bool]  # or of configs
    # Raise it when the rule's answers change: stored results of older versions are then not used.
    version: ClassVar[int] = 1

    def wants(self, data: bytes) -> bool:
        """Whether a file can be of interest at all, from its bytes; must be very cheap."""
        holds = data.__contains__  # mapped: sixty rules ask this about every file
        return all(map(holds, self.needs)) and (not self.triggers or any(map(holds, self.triggers)))

    def report(
        self,
        text: Source | Config,
        place: Any,
        message: str,
        *,
        remedy: str = "",
        fix: Fix | None = None,
        severity: Severity | None = None,
    ) -> Diagnostic:
        """A diagnostic at a node of a source, or at an entry of a config. `severity` where it is not the card's."""
        more = {"remedy": remedy, "fix": fix, "severity": severity or self.card.severity}
        return Diagnostic.at(text.path, text.span(place), self.card, message, **more)


class Rule(_Unit, ABC):
    """Looks at one Python source. The docstring of a rule is its documentation page.

    A rule keeps no state: one object checks every file, in any order, in any process.
    """

    of_python = True

    @abstractmethod
    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        """Every violation in this file. Ask the source for buckets; never walk the tree."""


class ConfigRule(_Unit, ABC):
    """Looks at one YAML, TOML or JSON file."""

    of_python = False

    @abstractmethod
    def check(self, config: Config, project: Facts) -> Iterator[Diagnostic]:
        """Every violation in this file. `config.entries` holds every key with its value and place."""
