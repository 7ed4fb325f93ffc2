"""What the files of one folder say about versions: locks, requirements and metadata; Dockerfile and README.

Nothing is imported and nothing is run. What is written for tools binds more than what is written for people.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import translate
from functools import cache
from pathlib import Path

from premortem import untrusted

# How a distribution is called elsewhere: on conda, and by its older name.
NAMES = {
    "torch": ("torch", "pytorch"),
    "torchvision": ("torchvision",),
    "torchaudio": ("torchaudio",),
    "lightning": ("lightning", "pytorch-lightning", "pytorch_lightning"),
    "accelerate": ("accelerate",),
    "transformers": ("transformers",),
}
LOCKS = ("uv.lock", "poetry.lock", "pdm.lock", "pipfile.lock")
LISTS = ("requirements.txt", "*require*.txt", "constraints*.txt")
METADATA = ("pyproject.toml", "setup.cfg", "setup.py", "pipfile", "environment*.y*ml", "conda*.y*ml")
INSTRUCTIONS = ("dockerfile*", "*.dockerfile", "readme*")
# Folders whose files speak for the folder they are in, and what counts in them.
BELOW = {"requirements": ("*.txt",), "docker": INSTRUCTIONS}
ENVIRONMENTS = (".venv", "venv")
MOST = 5_000_000  # bytes read of one file; a lock file of a large project has one or two million
SPEC = r"(?:[<>=!~^]=?=?\s*[\w.*+]+(?:\s*,\s*[<>=!~]=?=?\s*[\w.*+]+)*|)"

Said = tuple[str, str]  # a requirement and the name of the file it was read from


@dataclass(frozen=True, slots=True)
class Folder:
    """What one folder says, by distribution."""

    pins: dict[str, Said] = field(default_factory=dict)  # of files that tools read
    instructions: dict[str, Said] = field(default_factory=dict)  # of files that people follow
    environments: tuple[Path, ...] = ()


def read(folder: Path) -> Folder:
    names = _names(folder)
    pins = _said(_documents(folder, names, (*LOCKS, *LISTS, *METADATA)))
    instructions = _said(_documents(folder, names, INSTRUCTIONS))
    for below, wanted in BELOW.items():
        if below in names:
            found = _said(_documents(folder / below, _names(folder / below), wanted), prefix=f"{below}/")
            kept = instructions if wanted is INSTRUCTIONS else pins
            kept.update({name: said for name, said in found.items() if name not in kept})
    return Folder(pins, instructions, tuple(folder / name for name in ENVIRONMENTS if name in names))


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208 - once for every folder, and names are all it takes
    except OSError:
        return []


def _documents(folder: Path, names: Iterable[str], wanted: tuple[str, ...]) -> Iterator[Path]:
    """The files with such names, the most binding first."""
    spelled = [(name, name.lower()) for name in names if not name.endswith(".py") or name == "setup.py"]
    for pattern in wanted:
        fits = _pattern(pattern).match
        yield from (folder / name for name, lower in spelled if fits(lower))


@cache
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(translate(pattern))


def _said(documents: Iterable[Path], prefix: str = "") -> dict[str, Said]:
    """For each distribution what the first file says that names a version of it."""
    found: dict[str, Said] = {}
    for path in dict.fromkeys(documents):
        try:
            with untrusted.opened(path) as file:
                text = file.read(MOST).decode("utf-8", errors="replace").replace("\r\n", "\n")
        except OSError:
            continue
        for distribution, names in NAMES.items():
            if distribution not in found:
                said = [spec for name in names for spec in _requirements(path.name.lower(), name, text)]
                if said:
                    found[distribution] = ("||".join(dict.fromkeys(said)), prefix + path.name)
    return found


def _requirements(file: str, name: str, text: str) -> Iterator[str]:
    if any(_pattern(pattern).match(file) for pattern in INSTRUCTIONS):
        yield from _instructed(name, text)
    elif name in text:
        yield from _locked(name, text) if file in LOCKS else _listed(name, text)


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


def _instructed(name: str, text: str) -> Iterator[str]:
    """`pip install torch==1.13.1+cu117`, `conda install pytorch=1.7`, `FROM pytorch/pytorch:1.13.1-cuda11.6`."""
    # After a dash it is an option or the end of another name; so it is before one.
    word = rf"(?<![\w./-]){re.escape(name)}(?:\[[\w, -]*\])?"
    bound = r"[<>=~]=?\s?\d+(?:\.[\d*]+)*"
    specs = re.findall(rf"{word}[ \t]?({bound}(?:,\s?{bound})*)", text, re.IGNORECASE)
    if not specs and name == "pytorch":
        specs = [
            f"=={tag}"
            for tag in re.findall(r"^FROM +pytorch/pytorch:(\d+\.\d+(?:\.\d+)?)", text, re.MULTILINE)
        ]
    yield from specs
