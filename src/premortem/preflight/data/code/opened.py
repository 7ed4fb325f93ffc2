"""From what the code mentions to what lies on the disk."""

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from premortem.preflight.data import names
from premortem.preflight.data.code import mentions
from premortem.preflight.data.code.binding import Bindings
from premortem.preflight.data.code.mentions import Mention, Spoken
from premortem.preflight.data.code.settings import Places, settings
from premortem.preflight.data.code.syntax import texts
from premortem.preflight.data.data_facts import ClipLength, Miss, Pattern
from premortem.preflight.data.walk import walk
from premortem.preflight.project import Project

_TOO_HIGH = {Path("/"), Path("/home"), Path("/tmp"), Path("/root"), Path("/mnt"), Path("/data")}  # noqa: S108
_NOT_DATA = {"pt", "pth", "safetensors", "ckpt", "txt", "json", "yaml", "yml"}
_SURE = re.compile(r"data|train|valid|^val$", re.IGNORECASE)
_CODE = {"py", "ipynb", "toml", "cfg"}


@dataclass
class Opened:
    """What the script will open, as far as its source says."""

    roots: dict[Path, set[str] | None] = field(default_factory=dict)  # folder -> names below it; None: all
    misses: list[Miss] = field(default_factory=list)
    spoken: Spoken = field(default_factory=Spoken)
    clips: list[ClipLength] = field(default_factory=list)
    read: int = 0  # modules
    texts: frozenset[str] = frozenset()  # every text that stands in the code


def opened(project: Project) -> Opened:
    """Read the script; nothing of it runs."""
    sources = project.reading.sources
    if not sources:
        return Opened()
    starts = list(dict.fromkeys((project.folder, Path(sources[0].path).parent)))
    given, places = settings(project)
    spoken = mentions.spoken(Bindings(sources, given), project)
    made = {_plain(text) for text in spoken.made}
    # A setting of the command line or of a config is used under a name that speaks of data, or it is not ours.
    there: set[Path] = set()
    every = _with_settings(spoken.mentions, given, places)
    for mention in every:
        path = _existing(mention, starts)
        if (
            path is not None
            and mention.data
            and not any(each == _plain(mention.text) or _below(each, mention.text) for each in made)
            and fits(path, project.folder)
        ):
            there.add(path)
    mentioned = {p for m in spoken.mentions if (p := _existing(m, starts)) is not None}
    misses = [] if spoken.fetches else list(_misses(every, starts, made, mentioned))
    said = frozenset(word for source in sources for word in texts(source.within(source.tree)))
    return Opened(tops(there), misses, spoken, _clips(spoken, given), len(sources), said)


def _with_settings(found: list[Mention], given: dict[str, set[str]], places: Places) -> list[Mention]:
    """Settings first: where one of them is wrong, it is the place to put it right."""
    every: list[Mention] = []
    for name, values in given.items():
        for value in values:
            speaks = mentions.speaks_of_data(name, value)
            file, line = places.get((name, value), ("", 0))
            pathlike = "/" in value or mentions.is_pathlike(name)
            if file or speaks:
                every.append(Mention(value, True, file, line, speaks, pathlike))
    # Without a place of its own, what the code says comes first.
    return sorted([*every, *found], key=lambda mention: not mention.file)


def _below(made: str, text: str) -> bool:
    """What is written directly into a folder makes it a folder of results."""
    return os.path.dirname(made) == _plain(text)  # noqa: PTH120


def is_surely_data(path: Path) -> bool:
    """By its own name or the one above, not only by what stands around it."""
    return any(_SURE.search(part) for part in path.parts[-2:])


def _plain(text: str) -> str:
    return os.path.normpath(text) if text else text


def _existing(mention: Mention, starts: list[Path]) -> Path | None:
    text = _before_wildcard(mention.text)
    if not text or len(text) > 1000 or "\0" in text or text in {".", "..", "/"} or not mention.pathlike:
        return None
    for start in starts:
        path = start / os.path.expanduser(text)  # noqa: PTH111
        try:
            if path.exists():
                return path.resolve()
        except (OSError, RuntimeError, ValueError):
            return None
    return None


def _before_wildcard(text: str) -> str:
    parts = []
    for part in text.split("/"):
        if set(part) & set("*?[{"):
            break
        parts.append(part)
    return "/".join(parts)


def fits(path: Path, folder: Path) -> bool:
    """A dataset, not the project itself or half of the disk."""
    home = folder.resolve()
    if path in _TOO_HIGH or path == Path.home() or path == home or path in home.parents:
        return False
    if "site-packages" in path.parts or names.is_work(path.name) or path.suffix == ".py":
        return False
    if path.is_file():
        return bool(names.kind(path.name)) and names.suffix(path.name) not in _NOT_DATA
    return not _is_source(path)


def _is_source(folder: Path) -> bool:
    """A folder of modules is called `data` as often as one of samples."""
    try:
        with os.scandir(folder) as entries:
            endings = Counter(names.suffix(entry.name) for entry in entries if entry.is_file())
    except OSError:
        return False
    code = sum(endings[suffix] for suffix in _CODE)
    return code > 0 and code >= sum(number for suffix, number in endings.items() if names.KINDS.get(suffix))


def tops(there: Iterable[Path]) -> dict[Path, set[str] | None]:
    """The uppermost folders; where deeper ones are mentioned as well, only those of their branches."""
    paths = set(there)
    folders = {path if path.is_dir() else path.parent for path in paths}
    tops = {folder for folder in folders if folders.isdisjoint(folder.parents)}
    # Siblings such as data/train and data/val are one dataset.
    parents = Counter(top.parent for top in tops if names.split_of(top.name) or names.role_of(top.name))
    tops = {top.parent if parents[top.parent] > 1 else top for top in tops}
    below: dict[Path, set[str]] = defaultdict(set)
    for folder, inside in _by_folder(paths).items():  # of ten thousand samples there are few folders
        for top in tops & {folder, *folder.parents}:
            below[top] |= inside if top == folder else {folder.relative_to(top).parts[0]}
    return {
        top: _branches(top, below[top]) if below[top] else None
        for top in sorted(tops)
        if tops.isdisjoint(top.parents)
    }


def _by_folder(paths: Iterable[Path]) -> dict[Path, set[str]]:
    found: dict[Path, set[str]] = defaultdict(set)
    for path in paths:
        found[path.parent].add(path.name)
    return found


def _branches(top: Path, below: set[str]) -> set[str] | None:
    """Siblings of a mentioned split belong to it as well as those that are mentioned."""
    if any(names.split_of(name) or names.role_of(name) for name in below):
        try:
            beside = {entry.name for entry in os.scandir(top)}
        except OSError:
            return below
        return below | {name for name in beside if names.split_of(name) or names.role_of(name)}
    return below


def _misses(
    found: Iterable[Mention], starts: list[Path], made: set[str], mentioned: set[Path]
) -> Iterator[Miss]:
    said: set[tuple[str, str]] = set()
    for mention in found:
        text = _before_wildcard(mention.text)
        if (
            not (mention.data and mention.pathlike and text)
            or _plain(text) in made
            or len(text) > 1000
            or "\n" in text
        ):
            continue
        for start in starts:
            pair = _nearly(start, text)
            if pair is None:
                continue
            wanted, there = pair
            used = any(there == path or there in path.parents for path in mentioned)
            key = (str(wanted), str(there))
            relative = os.path.relpath(wanted, start) if not os.path.isabs(text) else str(wanted)  # noqa: PTH117
            if used or key in said or any(_plain(each) == relative for each in made):
                continue
            samples = _samples(there)
            if samples:
                said.add(key)
                shown = os.path.relpath(there, start) if not os.path.isabs(text) else str(there)  # noqa: PTH117
                yield Miss(
                    wanted=relative,
                    there=shown,
                    file=mention.file,
                    line=mention.line or None,
                    samples=samples,
                )
            break


def _nearly(start: Path, text: str) -> tuple[Path, Path] | None:
    """The first part of a path that is not there, and the one sibling that nearly has its name."""
    current = Path("/") if text.startswith("/") else start
    for part in [part for part in text.split("/") if part not in {"", "."}]:
        following = current / part
        try:
            if following.exists():
                current = following
                continue
            if not current.is_dir():
                return None
            beside = [entry.name for entry in os.scandir(current) if not entry.name.startswith(".")]
        except (OSError, ValueError):
            return None
        near = [
            name for name in beside if names.nearly(part, name) and names.suffix(name) == names.suffix(part)
        ]
        near = [
            name for name in near if (current / name).is_dir() or names.kind(name) in names.SAMPLES
        ] or near
        return (following, current / near[0]) if len(near) == 1 else None
    return None


def _samples(path: Path) -> int:
    if path.is_file():
        return int(names.kind(path.name) in names.SAMPLES and bool(path.stat().st_size))
    return sum(file.kind in names.SAMPLES or file.kind == "text" for file in walk(path).files)


def _clips(spoken: Spoken, given: dict[str, set[str]]) -> list[ClipLength]:
    """The shortest that the code speaks of: which of several is in force is not known."""
    clips = [ClipLength(name=n, frames=f, file=file, line=line or None) for n, f, file, line in spoken.clips]
    for name, values in given.items():
        if mentions.is_clip(name):
            set_here = [ClipLength(name=name, frames=int(v)) for v in values if v.isdigit() and int(v) > 1]
            if set_here:
                clips = set_here
    return [min(clips, key=lambda clip: clip.frames)] if clips else []


def patterns(spoken: Spoken, there: Counter[str], roots: Iterable[Path], folder: Path) -> list[Pattern]:
    """`there`: suffixes of the data, as they are spelled. Only when nothing that the code names is there."""
    surveyed = set(roots)
    asked = [each for each in spoken.globs if _is_asked(each[0], surveyed, folder, spoken.lists)]
    wanted = {"." + glob.rpartition(".")[2] for glob, _, _ in asked if "." in glob.rpartition("/")[2]}
    if not wanted or any(suffix in there for suffix in wanted | spoken.suffixes):
        return []
    found = []
    for glob, file, line in asked:
        suffix = "." + glob.rpartition(".")[2]
        kind = names.KINDS.get(suffix[1:].lower())
        near = [s for s in there if kind and names.KINDS.get(s[1:].lower()) == kind and kind in names.SAMPLES]
        if near and not (spoken.folds_case and all(s.lower() == suffix.lower() for s in near)):
            most = max(near, key=lambda s: there[s])
            shown = glob.removeprefix("?/")
            found.append(Pattern(pattern=shown, nearly=most, count=there[most], file=file, line=line))
    return found[:3]


def _is_asked(glob: str, surveyed: set[Path], folder: Path, lists: bool) -> bool:
    """Whether a pattern is put to the data: its folder is in it, or is not known and there is no other way."""
    known = _before_wildcard(glob.removeprefix("?/"))
    if not known:
        return not lists
    path = (folder / known).resolve()
    return any(path == root or root in path.parents or path in root.parents for root in surveyed)
