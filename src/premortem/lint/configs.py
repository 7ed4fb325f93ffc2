"""Configuration files with the place of every value: YAML, JSON and TOML.

Values are kept as text. How a text becomes a number is exactly what differs between loaders, so it is a rule's
business; `Entry.plain` says whether the loader is free to choose.
"""

from dataclasses import dataclass
from functools import cached_property

from premortem.configs.places import key_name
from premortem.lint.diagnostics import Span
from premortem.lint.parsing import Unreadable
from premortem.lint.text import Lines

SUFFIXES = (".yaml", ".yml", ".toml", ".json")
YAML_SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class Entry:
    """A scalar value: `optimizer: {lr: 1e-4}` is `Entry(("optimizer", "lr"), "1e-4", ...)`.

    Items of a sequence have their number as the last part of the key, as text.
    `plain`: written without quotes, so that its type depends on how it looks. `start`, `end`: bytes in the file.
    """

    key: tuple[str, ...]
    text: str
    plain: bool
    line: int
    column: int
    start: int
    end: int

    @property
    def name(self) -> str:
        return key_name(self.key)


class Config(Lines):
    """One configuration file; raises `Unreadable` when `entries` is first asked for and the file is broken."""

    def __init__(self, path: str, data: bytes) -> None:
        super().__init__(data)
        self.path = path
        self.suffix = "." + path.rpartition(".")[2].lower()

    @property
    def yaml(self) -> bool:
        return self.suffix in YAML_SUFFIXES

    @cached_property
    def text(self) -> str:
        try:
            return self.data.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise Unreadable("this file is not UTF-8 text") from None

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """Every scalar in the file, in order."""
        from premortem.lint import config_readers

        return tuple(config_readers.BY_SUFFIX[self.suffix](self))

    @cached_property
    def mappings(self) -> dict[tuple[str, ...], dict[str, Entry]]:
        """The scalars of each mapping by its key: `mappings[()]` is the top level."""
        found: dict[tuple[str, ...], dict[str, Entry]] = {}
        for entry in self.entries:
            found.setdefault(entry.key[:-1], {})[entry.key[-1]] = entry
        return found

    def span(self, entry: Entry) -> Span:
        """The place of a value, for people."""
        return None, entry.line, entry.column, entry.line, entry.column + len(entry.text)

    def entry(self, key: tuple[str, ...], text: str, *, plain: bool, start: int, end: int) -> Entry:
        line, column = self.place(start)
        return Entry(key, text, plain, line, column, start, end)
