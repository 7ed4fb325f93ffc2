"""What the script reads from the disk: files with their links, times and encodings, what it keeps for its next run, and settings
that are a text where it asks for true or false."""

import ast
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from premortem.configs.places import Broken
from premortem.configs.reading import Read, read, values
from premortem.configs.switches import off_texts, taken_for_true
from premortem.events import FileFacts, FilesRead, Site, Switch, Variable
from premortem.files import opened
from premortem.files.described import describe
from premortem.files.kept import kept
from premortem.files.opened import Openings
from premortem.points.disguise import passes_on
from premortem.probes.session import Session, is_user_code

_MOST = 96  # files that are described,
_ALIKE = 8  # of one folder and one ending: a folder of images says nothing more
_CONFIG_BYTES = 1 << 18
_CONFIGS = {".json", ".yaml", ".yml", ".toml"}
_SETTINGS = (".toml", ".yaml", ".yml", ".ini", ".cfg", ".env")  # hold no rows
_MOST_FILES = 1000  # of the user's code,
_MOST_PARSED = 24  # of which so many are taken apart
_ENCODINGS = re.compile(
    rb"latin[-_]?1|iso[-_]?8859|cp\d{3,4}|windows-12|utf[-_]?16|chardet|charset_normalizer", re.IGNORECASE
)
_asked: dict[str, bool] = {}  # files of modules: whether they are the user's own
_KEEPS = re.compile(rb"(exists|is_?file)\(")  # a file that is kept for the next run is asked for first


class FileReading:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.openings = Openings()
        self._told = 0
        self._modules = 0
        self._code: dict[str, bytes] = {}

    def install(self) -> None:
        passes_on(
            opened.hook
        )  # a file may be opened inside of compiled code: the compiler passes over frames of that name
        self.openings.install()

    def files(self) -> list[str]:
        """Of the user's, in the order in which they were first read."""
        return [
            path for path in self.openings.files if self.openings.is_data(path) and "/.premortem/" not in path
        ]

    def with_rows(self) -> list[str]:
        """All of them, where one may hold samples: settings alone do not."""
        every = self.files()
        return every if any(not path.lower().endswith((*_SETTINGS, ".json")) for path in every) else []

    def sources(self) -> dict[str, bytes]:
        """The user's own modules, each as it was when this was first asked: it may be edited while it runs."""
        if self._modules != len(sys.modules):  # else nothing was imported since
            self._modules = len(sys.modules)
            for path in user_files():
                with suppress(OSError):  # it was imported, and was removed since
                    self._code[path] = self._code.get(path) or Path(path).read_bytes()
        return self._code

    def since(self) -> list[str]:
        """Opened since this was asked last, and no settings: premortem reads some of these itself."""
        return [
            path
            for path in self.openings.recent()
            if self.openings.is_data(path) and not path.endswith(_SETTINGS)
        ]

    def tell(self) -> None:
        every = self.files()
        if len(every) <= self._told:
            return
        self._told = len(every)
        self.openings.paused = True
        try:
            code = self.sources()
            keeps = [text for text in code.items() if _KEEPS.search(text[1])]
            files = list(
                with_sources([facts for path in few(every) if (facts := describe(path))], trees(keeps))
            )
            named = {
                match[0].decode().lower() for text in code.values() for match in _ENCODINGS.finditer(text)
            }
            settled = list(configs(files))
            self.session.emit(
                FilesRead(
                    step=self.session.step,
                    files=tuple(files),
                    switches=tuple(switches(settled, code)),
                    settings=tuple(settings(settled, code)),
                    encodings=tuple(sorted(named)),
                )
            )
        finally:
            self.openings.paused = False


def user_files() -> list[str]:
    """The files of the user's own modules."""
    modules: list[Any] = list(sys.modules.values())
    files = {file for module in modules if isinstance(file := getattr(module, "__file__", None), str)}
    for file in files - _asked.keys():  # torch has thousands, and they stay what they are
        _asked[file] = file.endswith(".py") and is_user_code(file)
    return sorted(file for file in files if _asked[file])[:_MOST_FILES]


def trees(code: Iterable[tuple[str, bytes]]) -> list[tuple[str, ast.AST]]:
    found: list[tuple[str, ast.AST]] = []
    for path, text in list(code)[:_MOST_PARSED]:
        try:
            found.append((path, ast.parse(text)))
        except (SyntaxError, ValueError):
            continue  # it was edited since
    return found


def few(files: list[str]) -> list[str]:
    """Some of each folder and ending."""
    counts: Counter[tuple[str, str]] = Counter()
    chosen = []
    for path in files:
        group = os.path.dirname(path), Path(path).suffix
        counts[group] += 1
        if counts[group] <= _ALIKE:
            chosen.append(path)
        if len(chosen) >= _MOST:
            break
    return chosen


def with_sources(files: list[FileFacts], code: list[tuple[str, ast.AST]]) -> Iterator[FileFacts]:
    """Each file, and for one that the script keeps, what it is made from."""
    written = [(path, each) for path, tree in code for each in kept(tree)]
    for file in files:
        made = file
        for path, each in written:
            sources = tuple(f.path for f in files if f.path != file.path and each.comes_from(f.path))
            if each.is_it(file.path) and sources:
                made = file._replace(kept=Site(path, each.line), sources=sources)
        yield made


def configs(files: list[FileFacts]) -> Iterator[tuple[FileFacts, Read]]:
    for file in files:
        if Path(file.path).suffix.lower() in _CONFIGS and file.size <= _CONFIG_BYTES:
            try:
                config = read(Path(file.path))
            except (Broken, RecursionError):
                continue
            yield file, config


def settings(settled: list[tuple[FileFacts, Read]], code: dict[str, bytes]) -> Iterator[Variable]:
    """Whole numbers whose key the code names."""
    for file, config in settled:
        for key, value in values(config.data):
            name = key.rpartition(".")[2].encode()
            if type(value) is int and any(name in text for text in code.values()):
                yield Variable(key, str(value), file.path, config.line(tuple(key.split("."))))


def switches(settled: list[tuple[FileFacts, Read]], code: dict[str, bytes]) -> Iterator[Switch]:
    for file, config in settled:
        found = {key[-1]: (key, text) for key, text in off_texts(config.data)}
        words = [name.encode() for name in found]
        for path, tree in trees(pair for pair in code.items() if any(word in pair[1] for word in words)):
            for name, line in taken_for_true(tree, found):
                key, text = found[name]
                at = config.line(key)
                if _may_be_read_as_false(Path(file.path), text, at):
                    continue
                yield Switch(".".join(key), text, file.path, at, Site(path, line))


def _may_be_read_as_false(path: Path, text: str, line: int) -> bool:
    """`no` and `off` without quotes: a text in YAML 1.2, and false in YAML 1.1, which most readers of Python's are for."""
    if path.suffix.lower() not in {".yaml", ".yml"} or text.lower() not in {"no", "off"}:
        return False
    written = path.read_text(encoding="utf-8-sig").splitlines()[line - 1]
    return not {"'", '"'} & {*written}
