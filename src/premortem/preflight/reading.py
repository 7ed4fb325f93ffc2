"""The script and the files of the project that it imports, read and never run.

Which file an import means is asked of a fresh interpreter that starts as the script would (`find_spec`, which imports
nothing for a top-level name); what lies inside a package is then a matter of paths.
"""

import ast
import json
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from premortem.files import untrusted
from premortem.files.machine import answer_of
from premortem.lint import files, settings
from premortem.lint.parsing import Unreadable
from premortem.lint.source import Source
from premortem.lint.tree import dotted
from premortem.preflight.project import Project

MOST = 300  # files of a project that are read
_PATIENCE = 30.0  # seconds for an interpreter to start, on a slow network disk
_LIBRARIES = frozenset(("site-packages", "dist-packages"))
# The project's folder comes in only when all is imported: a `json.py` of its own must not be run.
_ASK = """
import sys
safe, loaded = getattr(sys.flags, "safe_path", False), dict(sys.modules)
if not safe:
    del sys.path[0]
import json
first, *names = sys.argv[1:]
if not safe:
    sys.path.insert(0, first)
found = {}
for name in names:
    try:
        if name in loaded:
            spec = loaded[name].__spec__
        else:
            specs = (finder.find_spec(name, None) for finder in sys.meta_path)
            spec = next((spec for spec in specs if spec is not None), None)
    except Exception:  # whatever an import hook of this environment raises: the name is not found through it
        spec = None
    if spec is not None:
        found[name] = [spec.origin, [str(p) for p in spec.submodule_search_locations or ()]]
print(json.dumps(found))
"""


@dataclass(frozen=True)
class Found:
    """Where an interpreter finds a top-level name."""

    origin: str  # the file; "" for a namespace
    folders: tuple[str, ...]  # of a package

    @property
    def place(self) -> str:
        """The file, or the folder of a package."""
        return self.folders[0] if self.folders else self.origin


@dataclass
class Reading:
    """What a project says, read from its files."""

    root: Path  # the top of the project
    folder: Path  # the working folder
    start: Path  # the first entry of the script's sys.path
    entry: Path | None = None
    sources: list[Source] = field(default_factory=list)  # the entry first
    found: dict[str, Found] = field(default_factory=dict)  # every top-level name that is imported and there
    imports: dict[str, tuple[str, int]] = field(default_factory=dict)  # where each is first imported
    problems: list[tuple[str, Unreadable]] = field(default_factory=list)

    @property
    def moves_path(self) -> bool:
        """Some file changes sys.path itself, so that what an import finds is known only while it runs."""
        return any(b"sys.path" in source.data for source in self.sources)

    @property
    def paths(self) -> list[Path]:
        """Every file of the project that importing the script executes, also those that cannot be read."""
        return [
            *(Path(source.path) for source in self.sources),
            *(Path(path) for path, _why in self.problems),
        ]

    def inside(self, path: str) -> bool:
        """Of the project itself, and no library that happens to lie in its folder."""
        real = Path(os.path.realpath(path))
        return real.is_relative_to(self.root) and not _LIBRARIES.intersection(real.parts)

    @property
    def packages(self) -> set[str]:
        """The first part of every name that is imported."""
        return set(self.imports)


def read(project: Project) -> Reading:
    folder = Path(os.path.realpath(project.folder))
    target = folder / project.target
    start = folder if project.module or not project.target else Path(os.path.realpath(target)).parent
    top = settings.project_root(folder)
    root = top if top is not None and start.is_relative_to(top) else folder
    root = root if start.is_relative_to(root) else start
    reading = Reading(root=root, folder=folder, start=start)
    if project.target:
        reading.entry = _entry(project, reading) if project.module else Path(os.path.realpath(target))
    if reading.entry is not None:
        _follow(reading)
    return reading


def ask(start: Path, folder: Path, names: Iterable[str]) -> dict[str, Found]:
    """Where `python script.py` would find these top-level names. Nothing of the user's is imported."""
    wanted = sorted(set(names))
    if not wanted:
        return {}
    try:
        answer = json.loads(answer_of([sys.executable, "-c", _ASK, str(start), *wanted], _PATIENCE, folder))
    except ValueError:
        return {}
    return {name: Found(origin or "", tuple(folders)) for name, (origin, folders) in answer.items()}


def _entry(project: Project, reading: Reading) -> Path | None:
    """The file that `python -m` would run."""
    top, *rest = project.target.split(".")
    reading.found.update(ask(reading.start, reading.folder, [top]))
    found = reading.found.get(top)
    if found is None:
        return None
    if not found.folders:
        return Path(found.origin)
    for place in _inside(found, rest):
        if place.name == "__init__.py":
            main = place.with_name("__main__.py")
            return main if main.is_file() else None
        return place
    return None


def _follow(reading: Reading) -> None:
    pending: list[Path | None] = [reading.entry]
    seen: set[Path] = set()
    while pending and len(seen) < MOST:
        new_ones = dict.fromkeys(path for path in pending if path is not None and path not in seen)
        batch = list(new_ones)[: MOST - len(seen)]
        seen.update(batch)
        pending = []
        named: list[str] = []
        for path in batch:
            source = _source(path, reading)
            if source is not None:
                reading.sources.append(source)
                named += _named(source, reading)
        new = {name.partition(".")[0] for name in named} - reading.found.keys()
        reading.found.update(ask(reading.start, reading.folder, new - sys.stdlib_module_names))
        for name in named:
            top, *rest = name.split(".")
            found = reading.found.get(top) or _beside(top, reading)
            if found is not None and reading.inside(found.place):
                pending += [path for path in _inside(found, rest) if path not in seen]


def _beside(name: str, reading: Reading) -> Found | None:
    """What a script that changes sys.path finds in its working folder."""
    if name in sys.stdlib_module_names or not reading.moves_path:
        return None
    file, folder = reading.folder / f"{name}.py", reading.folder / name
    if file.is_file():
        return Found(str(file), ())
    return Found("", (str(folder),)) if folder.is_dir() else None


def _source(path: Path, reading: Reading) -> Source | None:
    try:
        return Source.read(str(path), untrusted.read(path), module=files.module_name(str(path)))
    except Unreadable as problem:
        reading.problems.append((str(path), problem))
    except OSError as error:
        reading.problems.append(
            (str(path), Unreadable(f"this file cannot be opened ({untrusted.why(error)})"))
        )
    return None


def _named(source: Source, reading: Reading) -> Iterator[str]:
    """Every dotted name that this file imports; names taken from a module may be modules too."""
    for plain in source.nodes(ast.Import):
        for alias in plain.names:
            _note(reading, alias.name, source, plain)
            yield alias.name
    for chosen in source.nodes(ast.ImportFrom):
        base = source.names.absolute(chosen)
        if base:
            _note(reading, base, source, chosen)
            yield base
            yield from (f"{base}.{alias.name}" for alias in chosen.names if alias.name != "*")


def _note(reading: Reading, name: str, source: Source, node: ast.stmt) -> None:
    reading.imports.setdefault(name.partition(".")[0], (source.path, node.lineno))


def _inside(found: Found, rest: list[str]) -> list[Path]:
    """The files that importing this name executes, as far as they exist: the packages above, and itself last."""
    if not found.folders:
        return [Path(found.origin)] if found.origin else []
    here = Path(found.folders[0])
    executed = [here / "__init__.py"]
    for part in rest:
        if (here / part).is_dir():
            here = here / part
            executed.append(here / "__init__.py")
        elif (here / f"{part}.py").is_file():
            executed.append(here / f"{part}.py")
            break
        else:
            break
    return (
        [path for path in executed if path.is_file()][::-1] if rest else [p for p in executed if p.is_file()]
    )


def mentions(reading: Reading, *names: str) -> bool:
    """Whether some file calls, or takes an attribute of, one of these last names."""
    wanted = set(names)
    return any(
        wanted & source.calls.keys() or any(node.attr in wanted for node in source.nodes(ast.Attribute))
        for source in reading.sources
    )


def strings(source: Source) -> Iterator[ast.Constant]:
    """Every string of a file that is no documentation."""
    documents = {
        id(statement.value) for statement in source.expressions if isinstance(statement.value, ast.Constant)
    }
    for node in source.within(source.tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents:
            yield node


def called(source: Source, node: ast.AST) -> str:
    """`yaml.safe_load` of the call that a node is an argument of; "" where it is none."""
    above = source.parent(node)
    if isinstance(above, ast.keyword):
        above = source.parent(above)
    return dotted(above.func) if isinstance(above, ast.Call) and above.func is not node else ""
