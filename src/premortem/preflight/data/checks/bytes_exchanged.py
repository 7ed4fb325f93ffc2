from premortem.preflight.data.data_facts import DataFacts
from premortem.preflight.data.names import shown
from premortem.preflight.unit import Card, Check, Findings, Severity


class BytesExchanged(Check):
    """A signal in numbers of two bytes is noise as it is read, and smooth once the bytes of each number are exchanged.

    ## Why it matters
    Every number is there and every number is wrong. The spread is that of full-scale noise, and nothing can be learnt.

    ## Usual causes
    A recorder or a network format that is big-endian, read as little-endian; a header that says otherwise.

    ## What to do
    Read it with the right byte order (`dtype=">i2"`).

    ## When it stays silent
    For what is noise either way, and for what is smooth as it stands.
    """

    card = Card(
        "PM737",
        "bytes-exchanged",
        "data-scale",
        Severity.WARNING,
        explains=("columns-differ-between-phases", "columns-differ-between-files", "uninformative-labels"),
    )

    def look(self, facts: DataFacts) -> Findings:
        for root in facts.roots:
            found = [
                look
                for group in root.groups
                for look in group.looks
                if look.swapped and facts.reads(look.path)
            ]
            if found:
                name = f"{found[0].path}[{found[0].part}]" if found[0].part else found[0].path
                more = f", and so are {len(found) - 1:,} more" if len(found) > 1 else ""
                yield self.finding(
                    f"`{shown(root.name)}`: `{shown(name)}` is noise as it is read, and smooth signals once the two bytes of each number are exchanged{more}",
                    cause="It is stored in the other byte order (big-endian and little-endian).",
                    remedy='Read it with the right byte order, such as `dtype=">i2"`.',
                    file=shown(found[0].path),
                )
