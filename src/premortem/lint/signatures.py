"""What released versions of torch and its neighbours accept: names, keywords, and since when.

The tables in `data/` are written by `tools/signatures.py`. One is read when a name of its package is first asked about,
in a few milliseconds; a line is taken apart only when it is asked for.
"""

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

Minor = tuple[int, int]

DATA = Path(__file__).parent / "data"
GZIP = 31  # what zlib calls gzip's format; the gzip module costs start-up time
OPEN = "**"  # takes any keyword
UNKNOWN = "?"  # its keywords could not be read
NATIVE = "~"  # parsed in C++: numpy's spellings are accepted too
RAISES = "!"  # still there, but all it does is to raise
MODULE = "/"  # not to be called
MARKERS = frozenset((OPEN, UNKNOWN, NATIVE, RAISES, MODULE))

# Top-level package → distribution, where the names differ.
PACKAGES = {"pytorch_lightning": "lightning"}
# The same thing under an older name.
RENAMED = {
    "pytorch_lightning.": "lightning.pytorch.",
    "torch.optim.lr_scheduler._LRScheduler": "torch.optim.lr_scheduler.LRScheduler",
}
# numpy's spelling → torch's, for functions parsed in C++.
NUMPY = {"axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input", "x1": "input", "x2": "other"}


@dataclass(frozen=True, slots=True)
class Life:
    """In which of the known releases something exists, as half-open spans of their numbers."""

    spans: tuple[tuple[int, int], ...]

    def __contains__(self, index: int) -> bool:
        return any(start <= index < end for start, end in self.spans)


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name with its life, and the keywords and markers it has had."""

    name: str
    minors: tuple[Minor, ...]
    life: Life
    items: dict[str, Life]

    def has(self, item: str, minor: Minor) -> bool:
        index = self._index(minor)
        return index is not None and item in self.items and index in self.items[item]

    def exists(self, minor: Minor) -> bool:
        """Whether it can be used in this release: it is there, and does more than raise."""
        index = self._index(minor)
        return index is not None and index in self.life and not self.has(RAISES, minor)

    def takes(self, keyword: str, minor: Minor) -> bool:
        """Whether it accepts a keyword, as far as is known; what is unknown is accepted."""
        if any(self.has(item, minor) for item in (keyword, OPEN, UNKNOWN, MODULE)):
            return True
        return self.has(NATIVE, minor) and self.has(NUMPY.get(keyword, ""), minor)

    def keywords(self, minor: Minor) -> tuple[str, ...]:
        return tuple(item for item in self.items if item not in MARKERS and self.has(item, minor))

    def is_understood(self, minor: Minor) -> bool:
        """Whether its definition was read, so that its absence elsewhere means something."""
        return self.exists(minor) and not self.has(UNKNOWN, minor)

    def _index(self, minor: Minor) -> int | None:
        minor = min(minor, self.minors[-1])  # a release that is not in the table counts as the newest one
        return self.minors.index(minor) if minor in self.minors else None


class Table:
    """The names of one distribution."""

    def __init__(self, text: str) -> None:
        head, _, body = text.partition("\n")
        name, *releases = head.split()
        self.distribution = name
        self.releases = tuple(releases)
        self.minors = tuple(minor_of(release) for release in releases)
        self._lines = dict(line.split("\t", 1) for line in body.splitlines())

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def find(self, name: str) -> Symbol | None:
        line = self._lines.get(name)
        if line is None:
            return None
        life, _, items = line.partition("\t")
        read = (item.partition(":") for item in items.split())
        return Symbol(name, self.minors, _life(life), {name: _life(span) for name, _, span in read})


def _life(text: str) -> Life:
    if not text:
        return Life(((0, 1_000),))
    pairs = (part.split("-") for part in text.split(","))
    return Life(tuple((int(start or 0), int(end or 1_000)) for start, end in pairs))


def minor_of(version: str) -> Minor:
    """`2.4.1+cu121` is a 2.4."""
    first, _, rest = version.partition(".")
    return int(first), int(rest.partition(".")[0] or 0)


@lru_cache(maxsize=8192)
def distribution_of(name: str) -> str:
    """`torch.optim.Adam` comes with torch; "" for what is in no table."""
    package = name.partition(".")[0]
    package = PACKAGES.get(package, package)
    return package if package in available() else ""


@lru_cache(maxsize=1)
def available() -> frozenset[str]:
    """The distributions there is a table for."""
    return frozenset(path.stem for path in DATA.glob("*.gz"))


@cache
def table(distribution: str) -> Table:
    packed = (DATA / f"{distribution}.gz").read_bytes()
    return Table(zlib.decompress(packed, GZIP).decode("ascii"))


@cache
def releases(distribution: str) -> tuple[Minor, ...]:
    """The minor releases of a distribution that are known, oldest first. Does not read the whole table."""
    with (DATA / f"{distribution}.gz").open("rb") as packed:
        head = zlib.decompressobj(GZIP).decompress(packed.read(4096)).partition(b"\n")[0]
    _name, *found = head.decode("ascii").split()
    return tuple(minor_of(release) for release in found)


@lru_cache(maxsize=4096)
def find(name: str) -> Symbol | None:
    """What is known about a dotted name; None for nothing."""
    distribution = distribution_of(name)
    if not distribution:
        return None
    for old, new in RENAMED.items():
        if name.startswith(old):
            name = new + name.removeprefix(old)
    return table(distribution).find(name)


def accepts(candidates: Iterable[str], keyword: str, minor: Minor) -> bool | None:
    """Whether a call with this keyword can work in a release, whichever of the candidates it reaches.

    True when one of them takes the keyword, False when every one of them is known and refuses it, None when one is
    unknown in that release.
    """
    symbols = [find(candidate) for candidate in candidates]
    if not symbols:
        return None
    refused = 0
    for symbol in symbols:
        if symbol is None or minor < symbol.minors[0] or not symbol.exists(minor):
            continue
        if symbol.takes(keyword, minor):
            return True
        if minor > symbol.minors[-1] and keyword not in symbol.items:
            continue  # it may be new there
        refused += 1
    return False if refused == len(symbols) else None


def since(symbol: Symbol, keyword: str | None = None) -> Minor | None:
    """The release that first has the name, or the keyword; None when the oldest known one has it already."""
    life = symbol.life if keyword is None else symbol.items.get(keyword)
    if life is None or life.spans[0][0] == 0:
        return None
    return symbol.minors[life.spans[0][0]]


def gone_since(symbol: Symbol, keyword: str | None = None) -> Minor | None:
    """The release that first lacks the name, or the keyword, for good; None when the newest one still has it."""
    if keyword is None:
        raising = symbol.items.get(RAISES)
        if raising is not None:
            return symbol.minors[raising.spans[-1][0]]
    life = symbol.life if keyword is None else symbol.items.get(keyword)
    if life is None or life.spans[-1][1] >= len(symbol.minors):
        return None
    return symbol.minors[life.spans[-1][1]]
