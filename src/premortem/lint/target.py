"""Which versions of torch and its neighbours a file runs with, read from files only.

In this order: what was asked for (`--torch 2.4`), what is installed in the project's own environment, what is written
in lock files, requirements and metadata, in the file's own folder or above it, what a Dockerfile or README there
installs, what the activated environment has, else the newest known release. An environment that the project's own
files rule out belongs to another project and does not count.
"""

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from premortem.errors import UsageError
from premortem.lint import pinned, signatures, versions
from premortem.lint.patterns import pattern
from premortem.lint.pinned import NAMES, Folder, Requirement
from premortem.lint.signatures import Minor


@dataclass(frozen=True, slots=True)
class Pin:
    """The releases of one distribution that the code must run with, and what requires them."""

    distribution: str
    requirement: str  # "2.4.1", ">=2.0,<2.5"; "" when none is written anywhere
    source: str  # the file, or the option, that requires it
    advice: bool = False  # from a README, which can be older than the code beside it
    unknown: bool = False  # it comes from a commit, or a pin of torch rules out what would be assumed

    @property
    def binds(self) -> bool:
        """Whether code that needs a later release is surely wrong."""
        return bool(self.requirement) and not self.advice

    @property
    def assumed(self) -> bool:
        """Whether nothing says which release it is, and the newest known one is taken."""
        return not self.requirement and not self.unknown

    @property
    def here(self) -> str:
        """The end of a sentence about what the version here lacks."""
        if self.assumed and self.newest is not None:
            newest = ".".join(map(str, self.newest))
            return f"no version is pinned, so {self.distribution} {newest}, the newest known, is assumed"
        return f"the version here is {self}"

    @property
    def minors(self) -> tuple[Minor, ...]:
        """The known releases this allows, oldest first; empty when all of them are too new or too old for it."""
        return () if self.unknown else _minors(self.distribution, self.requirement)

    @property
    def allows_older(self) -> bool:
        """Whether it also allows releases before the oldest known one."""
        return bool(self.requirement) and bool(_minors_before(self.distribution, self.requirement))

    def allows_before(self, minor: Minor) -> bool:
        """Whether it allows some release before this one, known or not."""
        if self.minors and self.minors[0] < minor:
            return True
        older = _minors_before(self.distribution, self.requirement) if self.requirement else ()
        return any(one < minor for one in older)

    @property
    def newest(self) -> Minor | None:
        return self.minors[-1] if self.minors else None

    def __str__(self) -> str:
        """For messages: `torch 2.4 (requirements.txt)`."""
        one = self.newest is not None and (len(self.minors) == 1 or not self.requirement)
        version = ".".join(map(str, self.newest or ())) if one else self.requirement
        return f"{self.distribution} {version} ({self.source})"


@lru_cache(maxsize=64)
def _minors(distribution: str, requirement: str) -> tuple[Minor, ...]:
    known = signatures.releases(distribution)
    if not requirement:
        return known[-1:]
    # A release newer than this premortem is better taken for itself than for nothing.
    major, minor = known[-1]
    later = [(major, minor + more) for more in range(1, 100)] + [(major + 1, more) for more in range(20)]
    return versions.allowed(requirement, known) or versions.allowed(requirement, later)[:1]


def _minors_before(distribution: str, requirement: str) -> tuple[Minor, ...]:
    oldest = signatures.releases(distribution)[0]
    before = [(major, minor) for major in range(oldest[0] + 1) for minor in range(100)]
    return versions.allowed(requirement, [minor for minor in before if minor < oldest])


@dataclass(frozen=True, slots=True)
class Target:
    """What a file runs with. Plain values: its repr is part of what cached answers depend on."""

    pins: tuple[Pin, ...]

    def pin(self, distribution: str) -> Pin:
        for pin in self.pins:
            if pin.distribution == distribution:
                return pin
        return Pin(distribution, "", "the newest known release, as none is pinned")

    @property
    def version(self) -> Minor:
        """The newest release of torch that is allowed; one older than all that are known as it is written."""
        pin = self.pin("torch")
        if pin.unknown:
            return signatures.releases("torch")[-1]
        return pin.newest or signatures.minor_of(pin.requirement.lstrip("=<>~^! "))


UNKNOWN = Target(())


class Targets:
    """The target of every file of a project. Each folder is read once; travels between processes."""

    def __init__(self, root: Path, asked: str | None = None) -> None:
        """Raises `UsageError` when the version asked for is none, or none that is known."""
        self._asked = _asked(asked) if asked else None
        self._top = _top(root.resolve())
        self._folders: dict[Path, Folder] = {}
        self._environments: dict[Path, tuple[Pin, ...]] = {}
        self._known: dict[str, tuple[Target, str]] = {}

    def of(self, path: str) -> Target:
        return self._look_up(path)[0]

    def stamp(self, path: str) -> str:
        """Changes whenever the target of this file does."""
        return self._look_up(path)[1]

    def forget(self) -> None:
        """A file that names versions may have changed."""
        self._folders.clear()
        self._environments.clear()
        self._known.clear()

    def _look_up(self, path: str) -> tuple[Target, str]:
        here = os.path.dirname(path)  # noqa: PTH120 - several times for every file
        if here not in self._known:
            target = self._target(Path(here).resolve())
            self._known[here] = target, repr(target)
        return self._known[here]

    def _target(self, here: Path) -> Target:
        above = self._above(here)
        folders = [self._folder(folder) for folder in above]
        pins = self._written(above, [folder.pins for folder in folders])
        advised = self._written(above, [folder.instructions for folder in folders], advice=True)
        own = [place for folder in folders for place in folder.environments]
        active = _active()
        own += [place for place in (*active, Path(sys.prefix)) if place.parent in above]
        installed = self._installed(own, pins)
        elsewhere = self._installed(active, {**advised, **pins})
        asked = {"torch": Pin("torch", self._asked, "as set")} if self._asked else {}
        chosen = {**elsewhere, **advised, **pins, **installed, **asked}
        chosen = {**_companions(chosen.get("torch")), **chosen}
        return Target(tuple(chosen[name] for name in NAMES if name in chosen))

    def _above(self, here: Path) -> list[Path]:
        """The folder and those above it, up to the project's own."""
        if here != self._top and self._top not in here.parents:
            return [here]
        chain = [here, *here.parents]
        return chain[: chain.index(self._top) + 1]

    def _folder(self, folder: Path) -> Folder:
        if folder not in self._folders:
            self._folders[folder] = pinned.read(folder)
        return self._folders[folder]

    def _written(
        self, above: list[Path], written: list[dict[str, Requirement]], *, advice: bool = False
    ) -> dict[str, Pin]:
        """For each distribution what the nearest folder says."""
        found: dict[str, Pin] = {}
        for folder, pins in zip(above, written, strict=True):
            for name, (requirement, file) in pins.items():
                if name not in found:
                    unknown = pinned.ELSEWHERE in requirement
                    source = self._within(folder) + file
                    found[name] = Pin(name, "" if unknown else requirement, source, advice, unknown)
        return found

    def _within(self, folder: Path) -> str:
        inside = self._top in folder.parents
        return f"{folder.relative_to(self._top).as_posix()}/" if inside else ""

    def _installed(self, environments: list[Path], written: dict[str, Pin]) -> dict[str, Pin]:
        """From the first environment that has torch, unless the project's files rule out what it has."""
        for environment in environments:
            if environment not in self._environments:
                self._environments[environment] = tuple(_distributions(environment))
            found = {pin.distribution: pin for pin in self._environments[environment]}
            if "torch" in found:
                return {} if any(_rules_out(written.get(name), pin) for name, pin in found.items()) else found
        return {}


def _companions(torch: Pin | None) -> dict[str, Pin]:
    """The versions of torchvision and others that belong to a pinned torch, where they are not pinned themselves."""
    if torch is None or not (torch.requirement or torch.unknown):
        return {}
    newest = signatures.releases("torch")[-1]
    if not torch.unknown and torch.newest == newest:
        return {}
    found = {}
    for name in NAMES:
        # torchvision 0.15 and torchaudio 2.0 belong to torch 2.0, and so on.
        first = {"torchvision": (0, 15), "torchaudio": (2, 0)}.get(name)
        if first is not None and torch.minors and all(minor[0] == 2 for minor in torch.minors):
            allowed = [f"=={first[0]}.{first[1] + minor[1]}.*" for minor in torch.minors]
            found[name] = Pin(name, "||".join(allowed), f"with {torch}", torch.advice)
        elif name != "torch":
            found[name] = Pin(name, "", f"with {torch}", torch.advice, unknown=True)
    return found


def _asked(text: str) -> str:
    if not re.fullmatch(r"v?\d+\.\d+(\.\d+)*(\+\w+)?", text.strip()):
        raise UsageError(f"`{text}` is not a version of torch; write it like 2.4 or 2.4.1")
    minor = signatures.minor_of(text.strip().lstrip("v"))
    known = signatures.releases("torch")
    if minor not in known:
        first, last = (".".join(map(str, one)) for one in (known[0], known[-1]))
        raise UsageError(f"torch {text} is not known to this premortem, which knows torch {first} to {last}")
    return f"=={minor[0]}.{minor[1]}.*"


def _top(root: Path) -> Path:
    """The folder of the repository around `root`, else `root` itself."""
    return next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), root)


# --- installed -----------------------------------------------------------------------------------


def _active() -> list[Path]:
    """The activated environment. The one that lint itself is installed in need not be the project's."""
    return [Path(os.environ[name]) for name in ("VIRTUAL_ENV", "CONDA_PREFIX") if os.environ.get(name)]


def _rules_out(written: Pin | None, installed: Pin) -> bool:
    return written is not None and installed.newest not in written.minors


DIST_INFO = pattern(r"([A-Za-z0-9_]+)-(\d[^-]*)\.dist-info")


def _distributions(environment: Path) -> Iterator[Pin]:
    """Names and versions as the folders of installed metadata spell them."""
    spelled = {name.replace("-", "_"): known for known, names in NAMES.items() for name in names}
    for packages in (*environment.glob("lib/python*/site-packages"), environment / "Lib" / "site-packages"):
        try:
            entries = [entry.name for entry in packages.iterdir()]
        except OSError:
            continue
        for entry in entries:
            match = DIST_INFO.fullmatch(entry)
            if match and match[1].lower() in spelled and (packages / entry / "METADATA").exists():
                source = f"installed in {environment.name}"
                yield Pin(spelled[match[1].lower()], f"=={match[2]}", source)
