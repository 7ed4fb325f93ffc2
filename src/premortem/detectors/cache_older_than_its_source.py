from collections.abc import Iterator

from premortem.amounts import minute
from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.events import FileFacts, FilesRead
from premortem.findings import Finding, Severity

_LATER = 600.0  # seconds: files that were copied together are that far apart at most


class CacheOlderThanItsSource(Detector):
    """A file that the script keeps for its next run is older than the file that it is made from.

    ## Why it matters
    `if cache.exists()` asks for a name, not for a content. What was computed from yesterday's table is used together with
    today's labels; when rows were added, removed or sorted, each sample has the label of another.

    ## Usual causes
    An export that was made again; a fix of the labels; a pull that changed the table and left the cache.

    ## What to do
    Remove the kept file. Put the source's size and time, or a checksum of it, into the name of the cache.

    ## When it stays silent
    Unless the script's own code saves the file, asks for it or loads it, and computes what it saves from the other one. A
    few minutes do not count: copying a dataset gives its files new times.
    """

    card = Card(
        "PM351",
        "cache-older-than-its-source",
        "persistence",
        Severity.WARNING,
        explains=("uninformative-labels", "labels-numbered-differently"),
    )
    listens = (FilesRead,)

    def observe(self, event: FilesRead) -> Iterator[Finding]:
        known = {file.path: file for file in event.files}
        for cache in event.files:
            newer = [known[path] for path in cache.sources if path in known and is_newer(known[path], cache)]
            if newer and self.once(cache.path):
                yield self._say(event, cache, max(newer, key=lambda file: file.written))

    def _say(self, event: FilesRead, cache: FileFacts, source: FileFacts) -> Finding:
        rows = f" ({cache.rows} and {source.rows} rows)" if cache.rows and source.rows else ""
        return self.finding(
            event,
            f"`{name(cache)}` was kept on {when(cache)}, and `{name(source)}`, from which it is made, was written on "
            f"{when(source)}{rows}",
            cause=f"The script computes `{name(cache)}` from `{name(source)}` only when it is not there ({cache.kept}), so what it "
            "trains on is that of the older table.",
            remedy=f"Remove `{cache.path}` and start again; put a checksum of the source into the name of the cache.",
            at=cache.kept,
            file=cache.path,
            source=source.path,
            days=round((source.written - cache.written) / 86400, 2),
        )


def is_newer(source: FileFacts, cache: FileFacts) -> bool:
    return source.written > cache.written + _LATER


def name(file: FileFacts) -> str:
    return file.path.rpartition("/")[2]


def when(file: FileFacts) -> str:
    return f"{minute(file.written)} UTC"
