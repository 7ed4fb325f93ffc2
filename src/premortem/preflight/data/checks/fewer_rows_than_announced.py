from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity


class FewerRowsThanAnnounced(Check):
    """A file has fewer rows than a file beside it says.

    ## Why it matters
    The rest was not downloaded or not written. Whatever is there is read without a complaint: a graph without most of its edges, a
    training set without its last classes.

    ## Usual causes
    A download that stopped; a job that was killed while it wrote; an older file beside newer metadata.

    ## What to do
    Fetch the file again, and compare the number of rows.

    ## When it stays silent
    Unless the file that announces is one that describes data (meta, manifest, info, index) and the name of the number says that it counts
    rows (`rows`, `num_examples`); unless it is right about another file; where a side of the array is as long as that, where a header makes
    the difference, and for tables of which rows were left out when they were read.
    """

    card = Card("PM722", "fewer-rows-than-announced", "data-empty", Severity.WARNING).explaining(
        "rows-without-a-partner"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        short = {f.file: f for f in reversed(root.announced) if f.what == "rows" and facts.reads(f.file)}
        if not short:
            return
        found = next(f for f in root.announced if f.file in short)
        more = f", and {len(short) - 1:,} more files have fewer than it says" if len(short) > 1 else ""
        yield self.finding(
            f"`{found.file}` has {found.found} rows, and `{found.key}` in `{found.by}` announces {found.said}{more}",
            cause="The file is incomplete: a download or an export that was cut off (truncated), or an older version of it.",
            remedy=f"Fetch `{found.file}` again, and count its rows.",
            file=found.file,
            rows=found.found,
            announced=found.said,
        )
