"""The kit that checks of data are written with: one import for what nearly all of them need."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from premortem.amounts import count, minute, share, some
from premortem.preflight import unit
from premortem.preflight.data import compared
from premortem.preflight.data.data_facts import DataFacts, Group, Look, Root
from premortem.preflight.data.names import shown
from premortem.preflight.data.tables import Table
from premortem.preflight.unit import Card, Certainty, Finding, Findings, Severity, Where

__all__ = [
    "Card", "Certainty", "Check", "DataFacts", "Finding", "Findings", "Group", "Look", "Root", "Severity", "Table", "Where",
    "called", "compared", "count", "looks_of", "minute", "share", "some", "whole_tables",
]  # fmt: skip


class Check(unit.Check):
    """Judges one dataset at a time; what it finds begins with the name of that dataset.

    Names of files and columns are put into its sentences as they are: whatever they hold, they are printable in the finding.
    """

    def look(self, facts: DataFacts) -> Findings:
        for root in facts.roots:
            for finding in self.judge(root, facts):
                yield replace(finding, message=f"`{shown(root.name)}`: {finding.message}")

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        raise NotImplementedError

    def finding(self, message: str, **said: Any) -> Finding:
        made = super().finding(message, **said)
        return replace(
            made,
            message=shown(made.message),
            cause=shown(made.cause),
            remedy=shown(made.remedy),
            evidence=_shown(made.evidence),
        )


def called(look: Look) -> str:
    """The file, and which array of it."""
    return f"{look.path}[{look.part}]" if look.part else look.path


def looks_of(root: Root) -> list[Look]:
    """Every file that was read, whatever group it is in."""
    return [look for group in root.groups for look in group.looks]


def whole_tables(root: Root) -> list[Table]:
    """Tables whose cells are known; not the parts into which a column divides one of them."""
    return [table for table in root.tables if table.cells and "=" not in table.part]


def _shown(value: Any) -> Any:
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, Mapping):
        return {_shown(name): _shown(each) for name, each in value.items()}
    return [_shown(each) for each in value] if isinstance(value, list) else value
