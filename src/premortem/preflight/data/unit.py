"""The kit that checks of data are written with: one import for what nearly all of them need."""

from dataclasses import replace

from premortem.amounts import count, minute, share
from premortem.preflight import unit
from premortem.preflight.data import compared
from premortem.preflight.data.data_facts import DataFacts, Group, Look, Root
from premortem.preflight.data.names import shown
from premortem.preflight.data.tables import Table
from premortem.preflight.data.wording import some
from premortem.preflight.unit import Card, Certainty, Finding, Findings, Severity

__all__ = [
    "Card", "Certainty", "Check", "DataFacts", "Finding", "Findings", "Group", "Look", "Root", "Severity", "Table", "called",
    "compared", "count", "looks_of", "minute", "share", "shown", "some", "whole_tables",
]  # fmt: skip


class Check(unit.Check):
    """Judges one dataset at a time; what it finds begins with the name of that dataset."""

    def look(self, facts: DataFacts) -> Findings:
        for root in facts.roots:
            for finding in self.judge(root, facts):
                yield replace(finding, message=f"`{shown(root.name)}`: {finding.message}")

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        raise NotImplementedError


def called(look: Look) -> str:
    """The file, and which array of it."""
    return shown(f"{look.path}[{look.part}]" if look.part else look.path)


def looks_of(root: Root) -> list[Look]:
    """Every file that was read, whatever group it is in."""
    return [look for group in root.groups for look in group.looks]


def whole_tables(root: Root) -> list[Table]:
    """Tables whose cells are known; not the parts into which a column divides one of them."""
    return [table for table in root.tables if table.cells and "=" not in table.part]
