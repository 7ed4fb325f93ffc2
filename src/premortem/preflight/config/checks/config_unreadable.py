"""PM630 config-unreadable."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from premortem.cards import Card
from premortem.findings import Finding, Severity
from premortem.preflight.config.settings_facts import Facts
from premortem.preflight.unit import Check


class ConfigUnreadable(Check):
    """A config that the script uses cannot be read.

    ## Why it matters
    The script ends where it loads the file; with several configs that can be late.

    ## Usual causes
    A tab in the indentation of YAML; a bracket or quote that is not closed; marks of an unfinished merge; permissions.

    ## What to do
    Fix the line that is named. In YAML indent with spaces.
    """

    card: ClassVar[Card] = Card(
        code="PM630",
        name="config-unreadable",
        family="config",
        severity=Severity.ERROR,
        explains=("script-crashes",),
    )

    def look(self, facts: Facts) -> Iterator[Finding]:
        for file in facts.files:
            if file.problem:
                yield self.finding(
                    f"{file.path.name} cannot be read: {file.problem}",
                    remedy="Indent with spaces." if "tab" in file.problem else "Fix the line that is named.",
                    where=file.where,
                )
