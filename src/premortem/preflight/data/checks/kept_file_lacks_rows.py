from premortem.events import FileFacts
from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity

_PART = 0.5  # of what it is made from; code that leaves out broken rows leaves out fewer
_FEWEST = 20  # rows or files of the source


class KeptFileLacksRows(Check):
    """A file that the script keeps for its next run has far fewer rows than what it is made from.

    ## Why it matters
    `if cache.exists()` asks for a name, not for a content. A cache that a trial with a few samples has left is taken for the whole data
    set in every run that follows.

    ## Usual causes
    A smoke test with a limit that wrote the same file; a job that was killed while it wrote; sources that were added since.

    ## What to do
    Remove the kept file. Put the number of samples, or a checksum of the source, into the name of the cache.

    ## When it stays silent
    Unless the script's own code saves and asks for the file, and the file holds several arrays of that length, or the same cache of
    another split is whole: a mean over a data set has one row too.
    """

    card = Card("PM697", "kept-file-lacks-rows", "data-empty", Severity.WARNING).explaining(
        "sizes-out-of-proportion", "evaluation-dwarfs-training"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        counted = [(cache, *found) for cache in root.described if (found := rows(root, cache)) is not None]
        for cache, has, of, several, sources in counted:
            name = cache.path.rpartition("/")[2]
            whole = any(
                other.path.rpartition("/")[2] == name and other is not cache and here == there
                for other, here, there, *_ in counted
            )
            if of >= _FEWEST and 1 < has < _PART * of and (several or whole):
                yield self.finding(
                    f"`{cache.path}` has {has:,} rows, and what it is made from has {of:,} "
                    f"(`{sources[0]}`{' and others' if len(sources) > 1 else ''})",
                    cause="The script computes it only when it is not there, so it would train on this part.",
                    remedy=f"Remove `{cache.path}` before the run.",
                    file=cache.path,
                    rows=has,
                    source_rows=of,
                )


def rows(root: Root, cache: FileFacts) -> tuple[int, int, bool, list[str]] | None:
    """Rows of a cache, rows or files of its sources, whether it holds several arrays of that length, and the sources."""
    lengths = [table.rows for table in root.tables if table.path == cache.path]
    folder = cache.path.rpartition("/")[0]
    sources = [path for path in cache.sources if path.startswith(f"{folder}/")] or list(cache.sources)
    if not lengths or not sources:
        return None
    has = max(lengths)
    if len(sources) > 1:
        return has, len(sources), lengths.count(has) > 1, sources
    of = max((table.rows for table in root.tables if table.path == sources[0] and not table.split), default=0)
    of = of or max((table.rows for table in root.tables if table.path == sources[0]), default=0)
    return has, of, lengths.count(has) > 1, sources
