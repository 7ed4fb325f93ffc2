"""The two kinds of rules: for Python sources, and for configuration files."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar

from premortem.cards import Card
from premortem.findings import Severity
from premortem.lint.configs import Config, Entry
from premortem.lint.diagnostics import Diagnostic, Fix
from premortem.lint.project_facts import Facts
from premortem.lint.source import Source


class _Unit:
    card: ClassVar[Card]
    # A file in which none of these byte strings occurs is not shown to the rule; () shows it every file.
    triggers: ClassVar[tuple[bytes, ...]] = ()
    # Raise it when the rule's answers change: stored results of older versions are then not used.
    version: ClassVar[int] = 1

    def wants(self, data: bytes) -> bool:
        """Whether a file can be of interest at all, from its bytes; must be very cheap."""
        return not self.triggers or any(trigger in data for trigger in self.triggers)


class Rule(_Unit, ABC):
    """Looks at one Python source. The docstring of a rule is its documentation page.

    A rule keeps no state: one object checks every file, in any order, in any process.
    """

    @abstractmethod
    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        """Every violation in this file. Ask the source for buckets; never walk the tree."""

    def report(
        self,
        source: Source,
        node: ast.AST,
        message: str,
        *,
        remedy: str = "",
        fix: Fix | None = None,
        severity: Severity | None = None,
    ) -> Diagnostic:
        """A diagnostic at this node. `severity` where it differs from the card's."""
        cell, line, column, end_line, end_column = source.span(node)
        return Diagnostic(
            path=source.path,
            cell=cell,
            line=line,
            column=column,
            end_line=end_line,
            end_column=end_column,
            card=self.card,
            message=message,
            remedy=remedy,
            fix=fix,
            severity=severity or self.card.severity,
        )


class ConfigRule(_Unit, ABC):
    """Looks at one YAML, TOML or JSON file."""

    @abstractmethod
    def check(self, config: Config, project: Facts) -> Iterator[Diagnostic]:
        """Every violation in this file. `config.entries` holds every key with its value and place."""

    def report(
        self,
        config: Config,
        entry: Entry,
        message: str,
        *,
        remedy: str = "",
        fix: Fix | None = None,
        severity: Severity | None = None,
    ) -> Diagnostic:
        """A diagnostic at the value of this entry."""
        return Diagnostic(
            path=config.path,
            line=entry.line,
            column=entry.column,
            end_line=entry.line,
            end_column=entry.column + len(entry.text),
            card=self.card,
            message=message,
            remedy=remedy,
            fix=fix,
            severity=severity or self.card.severity,
        )
