from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity, called, looks_of


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

    card = Card("PM737", "bytes-exchanged", "data-scale", Severity.WARNING).explaining(
        "columns-differ-between-phases", "columns-differ-between-files", "uninformative-labels"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        found = [look for look in looks_of(root) if look.swapped and facts.reads(look.path)]
        if found:
            more = f", and so are {len(found) - 1:,} more" if len(found) > 1 else ""
            yield self.finding(
                f"`{called(found[0])}` is noise as it is read, and smooth signals once the two bytes of each number are exchanged{more}",
                cause="It is stored in the other byte order (big-endian and little-endian).",
                remedy='Read it with the right byte order, such as `dtype=">i2"`.',
                file=found[0].path,
            )
