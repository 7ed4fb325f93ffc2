"""What the files of one folder say about versions: locks, requirements and metadata; Dockerfile and README.

Nothing is imported and nothing is run. What is written for tools binds more than what is written for people.
"""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import translate
from functools import cache
from pathlib import Path

from premortem.files import untrusted

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
METADATA = ("pyproject.toml", "setup.cfg", "setup.py", "pipfile", "*env*.y*ml", "*conda*.y*ml")
INSTRUCTIONS = tuple(
    "dockerfile* *.dockerfile *install*.sh setup*.sh install*.md install*.txt readme*".split()
)
# Folders whose files speak for the folder they are in, and what counts in them.
BELOW = {
    "requirements": ("*.txt",),
    **dict.fromkeys(("env", "envs", "conda", "environment", "environments"), (*LISTS, *METADATA)),
    **dict.fromkeys(("docker", "docs", "install"), INSTRUCTIONS),
}
# A version that no release has: the package comes from a commit, a branch or a folder.
ELSEWHERE = "elsewhere"
ENVIRONMENTS = (".venv", "venv")
MOST = 5_000_000  # bytes read of one file; a lock file of a large project has one or two million
SPEC = r"(?:[<>=!~^]=?=?\s*[\w.*+]+(?:\s*,\s*[<>=!~]=?=?\s*[\w.*+]+)*|)"

Requirement = tuple[str, str]  # a requirement and the name of the file it was read from


@dataclass(frozen=True, slots=True)
class Folder:
    """What one folder says, by distribution."""

    pins: dict[str, Requirement] = field(default_factory=dict)  # of files that tools read
    instructions: dict[str, Requirement] = field(default_factory=dict)  # of files that people follow
    environments: tuple[Path, ...] = ()


def read(folder: Path) -> Folder:
    names = _names(folder)
    pins = _required_by(_documents(folder, names, (*LOCKS, *LISTS, *METADATA)))
    instructions = _required_by(_documents(folder, names, INSTRUCTIONS))
    for below, wanted in BELOW.items():
        if below in names:
            found = _required_by(
                _documents(folder / below, _names(folder / below), wanted), prefix=f"{below}/"
            )
            kept = instructions if wanted is INSTRUCTIONS else pins
            kept.update({name: specs for name, specs in found.items() if name not in kept})
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


def _required_by(documents: Iterable[Path], prefix: str = "") -> dict[str, Requirement]:
    """For each distribution what the first file says that names a version of it."""
    found: dict[str, Requirement] = {}
    for path in dict.fromkeys(documents):
        try:
            with untrusted.opened(path) as file:
                text = file.read(MOST).decode("utf-8", errors="replace").replace("\r\n", "\n")
        except OSError:
            continue
        for distribution, names in NAMES.items():
            if distribution not in found:
                specs = [spec for name in names for spec in _requirements(path.name.lower(), name, text)]
                if specs:
                    found[distribution] = ("||".join(dict.fromkeys(specs)), prefix + path.name)
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
    # What `conda list` and `pip list` print: name, version and, of conda, the build and where it came from.
    listed = re.findall(
        rf"^{re.escape(name)}[ \t]{{2,}}(\d+(?:\.\d+)+)\S*(?:[ \t]+\S+){{0,2}}[ \t]*$", text, re.MULTILINE
    )
    yield from (f"=={version}" for version in listed)
    yield from _linked(name, text)


def _linked(name: str, text: str) -> Iterator[str]:
    """`torch @ https://…/torch-2.1.0+cu118-cp311.whl`, `transformers @ git+https://…@commit`, `{git = "…"}`."""
    word = re.escape(name)
    lines = [
        *re.findall(rf"^[ \t]*(?:- +)?[\"']?{word}(?:\[[\w, -]*\])?[ \t]*@[ \t]*(\S+)", text, re.MULTILINE),
        *re.findall(rf"[\"']{word}(?:\[[\w, -]*\])?[ \t]*@[ \t]*([^\"'\s]+)", text),
        *re.findall(
            rf"^{word}[ \t]*=[ \t]*\{{[^}}\n]*?(?:git|url|path)[ \t]*=[ \t]*[\"']([^\"']+)",
            text,
            re.MULTILINE,
        ),
        # Without the name before it: `git+https://github.com/huggingface/transformers.git@v4.30`, a wheel's address.
        *re.findall(
            rf"^[ \t]*(?:-e[ \t]+)?(git\+\S*/{word}(?:\.git)?(?:[@#]\S*)?)[ \t]*$", text, re.MULTILINE
        ),
        *re.findall(rf"^[ \t]*(https?://\S*/{word}-\d\S*\.whl)", text, re.MULTILINE),
    ]
    for link in lines:
        wheel = re.search(rf"/{word}-(\d+(?:\.\d+)+)[^/]*\.whl", link)
        tag = re.search(r"@v?(\d+(?:\.\d+)+)(?:[#\s]|$)", link)
        known = wheel or tag
        yield f"=={known[1]}" if known else ELSEWHERE


def _instructed(name: str, text: str) -> Iterator[str]:
    """`pip install torch==1.13.1+cu117`, `conda install pytorch=1.7`, `FROM pytorch/pytorch:1.13.1-cuda11.6`."""
    # After a dash it is an option or the end of another name; so it is before one.
    word = rf"(?<![\w./-]){re.escape(name)}(?:\[[\w, -]*\])?"
    bound = r"[<>=~]={0,2}\s?\d+(?:\.[\d*]+)*"
    specs = re.findall(rf"{word}[ \t]?({bound}(?:,\s?{bound})*)", text, re.IGNORECASE)
    if not specs and name == "pytorch":
        specs = [
            f"=={tag}"
            for tag in re.findall(r"^FROM +pytorch/pytorch:(\d+\.\d+(?:\.\d+)?)", text, re.MULTILINE)
        ]
    yield from specs or _mentioned(name, text)


def _mentioned(name: str, text: str) -> Iterator[str]:
    """`PyTorch 1.7.1`, `PyTorch (>= 1.4)`, `pytorch-1.0`, `torch version: 0.4`, `PyTorch v1.9 or later`."""
    # The version stands right behind the name, or behind a word that says it is one; a date or a size has no point.
    found = re.findall(
        rf"(?<![\w./-]){re.escape(name)}\*{{0,2}}`?\]?(?:\([^)\s]*://[^)\s]*\))?[ \t]*(?:versions?)?[ \t]*[:=(-]?[ \t]*"
        r"(>=|>|≥|<=|<|==|~)?[ \t]*v?(\d{1,2}\.\d{1,2}(?:\.\d{1,2})?)(?![\d.]*[%xkMG])[ \t]*"
        r"(\+|or (?:later|higher|newer|above|greater)|and (?:later|above|higher))?",
        text,
        re.IGNORECASE,
    )
    for how, version, later in found:
        sign = ">=" if later else {"≥": ">=", "": "==", "~": "=="}.get(how, how)
        yield f"{sign}{version}" if sign != "==" or version.count(".") > 1 else f"=={version}.*"
