from premortem.preflight.data.unit import Card, Check, DataFacts, Findings, Root, Severity, minute

_LATER = 600.0  # seconds: files that were copied together are that far apart at most


class KeptFileIsStale(Check):
    """A file that the script keeps for its next run is older than the file that it is made from.

    ## Why it matters
    `if cache.exists()` asks for a name, not for a content: what was computed from yesterday's table is used together with
    today's labels.

    ## Usual causes
    An export that was made again; a fix of the labels; a pull that changed the table and left the cache.

    ## What to do
    Remove the kept file. Put a checksum of the source into the name of the cache.

    ## When it stays silent
    Unless the script's own code saves the file, asks for it or loads it, and computes what it saves from the other one, and
    the source is at least ten minutes newer.
    """

    card = Card("PM641", "kept-file-is-stale", "persistence", Severity.WARNING).explaining(
        "cache-older-than-its-source", "uninformative-labels"
    )

    def judge(self, root: Root, facts: DataFacts) -> Findings:
        known = {file.path: file for file in root.described}
        for cache in root.described:
            newer = [known[path] for path in cache.sources if path in known]
            newer = [file for file in newer if file.written > cache.written + _LATER]
            if newer:
                source = max(newer, key=lambda file: file.written)
                yield self.finding(
                    f"`{cache.path}` was kept on {minute(cache.written)} UTC, and `{source.path}`, "
                    f"from which it is made, was written on {minute(source.written)} UTC",
                    cause="The script computes it only when it is not there, so it would train on that of the older file.",
                    remedy=f"Remove `{cache.path}` before the run.",
                    file=cache.path,
                    source=source.path,
                )
