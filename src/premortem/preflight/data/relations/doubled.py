"""Keys that stand twice in a configuration file: one of the values is never read."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from premortem.configs.doubled_keys import in_json, in_yaml
from premortem.configs.places import Broken
from premortem.preflight.data import names
from premortem.preflight.data.walk import File

_SMALL = 1 << 16
_MOST_FILES = 32


def keys(root: Path, files: Iterable[File]) -> Iterator[tuple[str, str, str, str]]:
    """The file, the key, the value that is lost and the one that counts."""
    small = [f for f in files if f.size <= _SMALL and names.suffix(f.name) in {"json", "yaml", "yml"}]
    for file in small[:_MOST_FILES]:
        try:
            text = (root / file.path).read_text(encoding="utf-8", errors="replace")
            found = in_json(text) if names.suffix(file.name) == "json" else in_yaml(text)
        except (OSError, Broken, ValueError, RecursionError):  # other checks say that it cannot be read
            continue
        yield from ((file.path, *doubled) for doubled in found)
