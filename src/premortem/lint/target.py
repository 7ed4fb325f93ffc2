"""Which versions of torch and its neighbours a project runs with, read from files only.

In this order: what was asked for (`--torch 2.4`), what is installed in the project's or the active environment, lock
files, requirements, the project's own metadata, else the newest known release. An installed version that the project's
own files rule out belongs to another project and does not count.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from premortem.errors import UsageError
from premortem.lint import signatures, versions
from premortem.lint.signatures import Minor

# How a distribution is called elsewhere: on conda, and by its older name.
NAMES = {
    "torch": ("torch", "pytorch"),
    "torchvision": ("torchvision",),
    "torchaudio": ("torchaudio",),
    "lightning": ("lightning", "pytorch-lightning", "pytorch_lightning"),
    "accelerate": ("accelerate",),
    "transformers": ("transformers",),
}
LOCKS = ("uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock")
LISTS = ("requirements.txt", "requirements*.txt", "requirements/*.txt", "constraints*.txt")
METADATA = ("pyproject.toml", "setup.cfg", "setup.py", "Pipfile", "environment*.y*ml", "conda*.y*ml")
SPEC = r"(?:[<>=!~^]=?=?\s*[\w.*+]+(?:\s*,\s*[<>=!~]=?=?\s*[\w.*+]+)*|)"


@dataclass(frozen=True, slots=True)
class Pin:
    """The releases of one distribution that the code must run with, and who says so."""

    distribution: str
    requirement: str  # "2.4.1", ">=2.0,<2.5"; "" when nothing is said
    said_by: str

    @property
    def minors(self) -> tuple[Minor, ...]:
        """The known releases this allows, oldest first; empty when all of them are too new or too old for it."""
        return _minors(self.distribution, self.requirement)

    @property
    def allows_older(self) -> bool:
        """Whether it also allows releases before the oldest known one."""
        return bool(self.requirement) and bool(_minors_before(self.distribution, self.requirement))

    @property
    def newest(self) -> Minor | None:
        return self.minors[-1] if self.minors else None

    def __str__(self) -> str:
        """For messages: `torch 2.4 (requirements.txt)`."""
        if self.newest is None:
            return f"{self.distribution} {self.requirement} ({self.said_by})"
        if len(self.minors) == 1 or not self.requirement:
            return f"{self.distribution} {'.'.join(map(str, self.newest))} ({self.said_by})"
        return f"{self.distribution} {self.requirement} ({self.said_by})"


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
    """What a project runs with. Plain values: it travels between processes and its repr is part of cache keys."""

    pins: tuple[Pin, ...]

    def pin(self, distribution: str) -> Pin:
        for pin in self.pins:
            if pin.distribution == distribution:
                return pin
        return Pin(distribution, "", "the newest known, as none is pinned")

    @property
    def version(self) -> Minor:
        """The newest release of torch that is allowed; one older than all that are known as it is written."""
        pin = self.pin("torch")
        return pin.newest or signatures.minor_of(pin.requirement.lstrip("=<>~^! "))

    @property
    def said_by(self) -> str:
        return self.pin("torch").said_by


UNKNOWN = Target(())


def find(root: Path, asked: str | None = None) -> Target:
    """The target for the project around `root`."""
    folders = list(_folders(root))
    documents = list(_documents(folders))
    installed = _installed(folders)
    pins: list[Pin] = []
    for distribution in NAMES:
        if distribution == "torch" and asked:
            pins.append(Pin("torch", _asked(asked), "as asked"))
            continue
        written = _written(distribution, documents)
        here = installed.get(distribution)
        if here and written and written.minors and here.newest not in written.minors:
            here = None
        if chosen := here or written:
            pins.append(chosen)
    return Target(tuple(pins))


def _asked(text: str) -> str:
    if not re.fullmatch(r"v?\d+\.\d+(\.\d+)*(\+\w+)?", text.strip()):
        raise UsageError(f"`{text}` is not a version of torch; write it like 2.4 or 2.4.1")
    return "==" + ".".join(text.strip().lstrip("v").partition("+")[0].split(".")[:2]) + ".*"


def _folders(root: Path) -> Iterator[Path]:
    """The folder itself, and those above it up to the repository's own."""
    root = root.resolve()
    above = [root, *root.parents]
    for count, folder in enumerate(above):
        if (folder / ".git").exists():
            yield from above[: count + 1]
            return
    yield root


# --- installed -----------------------------------------------------------------------------------


def _installed(folders: list[Path]) -> dict[str, Pin]:
    """From the first environment that has torch: the project's own, then the active one."""
    own = [folder / name for folder in folders for name in (".venv", "venv")]
    active = [Path(os.environ[name]) for name in ("VIRTUAL_ENV", "CONDA_PREFIX") if os.environ.get(name)]
    for environment in dict.fromkeys([*own, *active, Path(sys.prefix)]):
        found = dict(_distributions(environment))
        if "torch" in found:
            said_by = f"installed in {environment.name}" if environment in own else "installed"
            return {name: Pin(name, f"=={version}", said_by) for name, version in found.items()}
    return {}


DIST_INFO = re.compile(r"([A-Za-z0-9_]+)-(\d[^-]*)\.dist-info")


def _distributions(environment: Path) -> Iterator[tuple[str, str]]:
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
                yield spelled[match[1].lower()], match[2]


# --- written down --------------------------------------------------------------------------------


def _documents(folders: list[Path]) -> Iterator[tuple[Path, str]]:
    """The files that can pin a version, each with its text, the most binding first."""
    seen: set[Path] = set()
    for folder in folders:
        for pattern in (*LOCKS, *LISTS, *METADATA):
            for path in sorted(folder.glob(pattern)):
                if path not in seen and path.is_file():
                    seen.add(path)
                    yield path, path.read_text(encoding="utf-8", errors="replace")


def _written(distribution: str, documents: list[tuple[Path, str]]) -> Pin | None:
    for path, text in documents:
        said: list[str] = []
        for name in NAMES[distribution]:
            if name in text:
                said += _locked(name, text) if path.name in LOCKS else _listed(name, text)
        if said:
            return Pin(distribution, "||".join(dict.fromkeys(said)), path.name)
    return None


def _locked(name: str, text: str) -> Iterator[str]:
    quoted = re.escape(name)
    if f'name = "{name}"' in text:
        # uv, Poetry, PDM: name and version are neighbours.
        for version in re.findall(rf'^name = "{quoted}"\s*\nversion = "([^"]+)"', text, re.MULTILINE):
            yield f"=={version}"
    # Pipfile.lock: an object under the name.
    yield from re.findall(rf'^ +"{quoted}": {{[^{{}}]*?"version": "(==[^"]+)"', text, re.MULTILINE)


def _listed(name: str, text: str) -> Iterator[str]:
    word = rf"{re.escape(name)}(?:\[[\w, -]*\])?[ \t]*"
    patterns = (
        # A line of requirements or of a conda environment: `torch>=2.0 ; marker`, `- pytorch::pytorch=2.1=py3*`.
        rf"^[ \t]*(?:- +)?[\"']?(?:[\w.-]+::)?{word}({SPEC})[ \t]*(?:[;#=\"'-].*)?$",
        # A string in a list of dependencies, with others on its line.
        rf"[\"']{word}({SPEC})[ \t]*(?:;[^\"']*)?[\"']",
        # Poetry and Pipfile: `torch = "^2.1"`, `torch = {{version = ">=2.1", source = "cu"}}`.
        rf"^{re.escape(name)}[ \t]*=[ \t]*(?:\{{[^}}\n]*?version[ \t]*=[ \t]*)?[\"']([^\"'*]+)[\"']",
    )
    for pattern in patterns:
        yield from (spec for spec in re.findall(pattern, text, re.MULTILINE) if spec.strip())
