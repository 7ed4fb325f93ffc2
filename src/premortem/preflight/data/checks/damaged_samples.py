"""PM655 damaged-samples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from premortem.amounts import count
from premortem.cards import Card
from premortem.findings import Finding, Severity
from premortem.preflight.data.data_facts import DataFacts
from premortem.preflight.data.names import shown
from premortem.preflight.unit import Check


class DamagedSamples(Check):
    """Files that cannot be read: empty, cut off, not what their suffix says, links to nothing, without permission.

    ## Why it matters
    One such file ends an epoch with an exception from a worker process, hours after the start. Code that catches the
    exception trains on fewer samples than it says.

    ## Usual causes
    A copy or a download that was interrupted; a disk that was full; an error page saved under the name of an image;
    pointers of git-lfs; links that were made on another machine.

    ## What to do
    Fetch the named files again, or remove them together with their partners and labels. `--data DIR` looks at a folder
    before it is used.
    """

    card: ClassVar[Card] = Card(
        code="PM655", name="damaged-samples", family="data-empty", severity=Severity.WARNING
    )

    def look(self, facts: DataFacts) -> Iterator[Finding]:
        for root in facts.roots:
            if not root.trouble or not root.samples:
                continue
            listed = "; ".join(f"`{shown(each.path)}`: {each.why}" for each in root.trouble[:3])
            more = f"; and {len(root.trouble) - 3:,} more" if len(root.trouble) > 3 else ""
            number = len({each.path for each in root.trouble})
            yield self.finding(
                f"{count(number, 'entry', 'entries')} in `{shown(root.name)}` cannot be read: {listed}{more}",
                cause="What should be a sample is not whole on the disk.",
                remedy="Fetch these files again, or take them out together with what belongs to them.",
                severity=Severity.ERROR if 2 * number > root.samples else Severity.WARNING,
                files=[[shown(each.path), each.why] for each in root.trouble[:50]],
                count=number,
            )
