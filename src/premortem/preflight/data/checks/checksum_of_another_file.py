from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity


class ChecksumOfAnotherFile(Check):
    """A file does not have the checksum that a file beside it notes for it.

    ## Why it matters
    It is not the file that was meant: cut off, changed since, or another version.

    ## Usual causes
    A download that stopped; a file that was edited by hand; a list of checksums that was updated without the files.

    ## What to do
    Fetch the file again, or make the list anew if the file is right.

    ## When it stays silent
    Where no checksum is noted; beyond 256 MiB of files. In a list that is not called after its kind of checksum (as SHA256SUMS is), unless
    another of its files has the checksum that it notes: else it may be of another algorithm, or of another form of the file.
    """

    card = Card("PM723", "checksum-of-another-file", "data-empty", Severity.WARNING)

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        found = [each for each in root.announced if each.what != "rows" and facts.reads(each.file)]
        if found:
            first = found[0]
            more = f"; so do {len(found) - 1:,} more files" if len(found) > 1 else ""
            yield self.finding(
                f"`{first.file}` has another {first.what} ({first.found}...) than `{first.by}` notes for it "
                f"({first.said}...){more}",
                cause="It is not the file that was meant: cut off, changed since, or of another version.",
                remedy=f"Fetch `{first.file}` again.",
                file=first.file,
                files=len(found),
            )
