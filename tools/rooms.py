"""The rooms of the house: what lives in each, and which other rooms it may import.

`tests/test_architecture.py` holds this list against every import in `src`, and `make docs` writes the table of
ARCHITECTURE.md from it. To add a room, add a line.
"""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).resolve().parent.parent / "src"


class Torch(Enum):
    NEVER = "never"
    LATE = "in functions"  # importing the room does not import torch
    YES = "yes"


class Room(NamedTuple):
    name: str
    what: str
    imports: str = ""  # other rooms, besides the vocabulary
    libraries: str = ""  # besides the standard library and torch
    torch: Torch = Torch.NEVER


# Every room may import these. They import nothing but each other and the standard library.
VOCABULARY = (
    Room(
        "events",
        "what happens in a run, as plain numbers and names; one file per part of a training",
        "",
        "typing_extensions",
    ),
    Room("findings", "what premortem says: a finding, its place, severity and certainty"),
    Room(
        "cards", "the identity of every unit that can report something: code, name, family, what it explains"
    ),
    Room("errors", "what premortem raises"),
    Room("amounts", "bytes in the unit in which a person reads them"),
    Room("metric_words", "what scripts call their metrics and counters"),
    Room("command_line", "how the words of a command line are taken apart"),
    Room("redaction", "what a secret is, decided once; whatever is written, shown or sent goes through it"),
    Room(
        "files",
        "files that premortem reads and writes: private, trusted only with a reason, read with limits; requests to a run",
    ),
    Room(
        "configs",
        "configuration files: where each value stands, and as a program's types",
        "",
        "ruamel tomli",
    ),
    Room(
        "profile",
        "what flows into a run, as a few kilobytes of numbers, and what two such profiles say together",
        "",
        "numpy",
    ),
    Room("settings", "what a project says in pyproject.toml and in comments; which findings it silences"),
    Room("derived", "pure: events to phases, windows and failures; findings to root causes (folding)"),
)

ROOMS = (
    Room("points", "the places where torch is watched or changed: one switch each", torch=Torch.YES),
    Room(
        "tensors",
        "whether tensors are finite, what a rank has of a sharded one, random generators put back",
        torch=Torch.YES,
    ),
    Room(
        "startup",
        "a call after an import; the processes that a run starts, watched once they train",
        "run",
        "sitecustomize",
    ),
    Room("program", "the user's script, run in this process as Python would run it", "points terminal"),
    Room(
        "probes",
        "torch to events; one file per part of torch",
        "points tensors ranks startup vault",
        torch=Torch.YES,
    ),
    Room("detectors", "events to findings; one file each. No torch, no files, no clocks"),
    Room(
        "convictions",
        "what lint suspects, judged by what the run does; one file per effect. As pure as detectors",
    ),
    Room("policy", "finding to decision"),
    Room(
        "actions",
        "the only effects on a run: the guard, saves and loads, smaller batches, stop",
        "points probes tensors ranks startup vault",
        "safetensors",
        Torch.YES,
    ),
    Room("journal", "what was seen, one SQLite file per run"),
    Room(
        "sinks", "findings to trackers and people, on a thread of their own", "", "mlflow wandb tensorboard"
    ),
    Room(
        "terminal", "what a person sees in the terminal: cards, the status line, progress; Ctrl-C", "", "rich"
    ),
    Room("notebook", "what a person sees of a run in IPython", "terminal sinks preflight", "IPython"),
    Room(
        "ranks",
        "runs of several processes: folders, attempts, merged findings, torchrun, the store",
        "startup detectors journal terminal",
        torch=Torch.LATE,
    ),
    Room(
        "vault",
        "checkpoints: written, read, verified, kept, mirrored, resumed from",
        "ranks tensors terminal proof",
        "xxhash fsspec rich numpy typing_extensions",
        Torch.YES,
    ),
    Room(
        "run",
        "`premortem run` and `premortem.watch`: the watcher, which joins everything",
        "actions catalog changes convictions detectors journal lint notebook parts policy probes program proof ranks replay "
        "shelf sinks startup terminal vault",
        "hydra omegaconf psutil ray",
    ),
    Room(
        "scriptrun",
        "the one way to start a script apart: sandbox, environment, results, time limit, ending all of it",
        "program startup",
        "typing_extensions",
    ),
    Room(
        "changes",
        "what can be different in a run: one file for each thing that is changed, and how it reaches into the script",
        "lint points probes tensors",
        torch=Torch.YES,
    ),
    Room(
        "replay",
        "a bad step as a capsule, and what proves its cause",
        "changes journal points probes ranks scriptrun startup tensors terminal vault",
        "rich safetensors numpy",
        Torch.YES,
    ),
    Room(
        "proof",
        "whether a resumed run is the run that was saved",
        "points probes program scriptrun startup terminal vault",
        "rich safetensors",
        Torch.YES,
    ),
    Room(
        "fit",
        "what a step needs on a card that is not there; what makes it faster",
        "changes points program scriptrun tensors terminal",
        "rich typing_extensions",
        Torch.YES,
    ),
    Room(
        "drill",
        "mistakes made in the user's script at run time, and the score of what is caught",
        "changes points program run scriptrun terminal",
        "rich numpy",
        Torch.YES,
    ),
    Room(
        "why",
        "the user's script with one thing changed at a time, until a cause is proved",
        "catalog changes journal lint points probes program run scriptrun terminal",
        "rich numpy",
        Torch.YES,
    ),
    Room(
        "rehearsal",
        "the user's script for a few steps: in its own process, and who starts it",
        "fit points probes program proof run scriptrun startup tensors terminal",
        torch=Torch.YES,
    ),
    Room(
        "lint",
        "reads code and configs before they run; one file per rule",
        "terminal",
        "rich ruamel pygls lsprotocol",
    ),
    Room(
        "preflight",
        "`premortem check`: what can be known before the first epoch; one file per check",
        "catalog convictions lint program proof rehearsal startup terminal vault",
        "rich numpy PIL h5py pyarrow",
    ),
    Room(
        "report",
        "a journal as a page for people; two journals compared",
        "catalog changes journal lint shelf terminal vault",
        "bokeh jinja2 markupsafe numpy",
    ),
    Room(
        "sweep",
        "the trials of a sweep, compared: root causes, and the settings that go with them",
        "detectors journal ranks report shelf terminal",
    ),
    Room(
        "shelf",
        "runs of many machines in one place: a journal published while it is written, and read again",
        "journal report vault",
    ),
    Room(
        "ui",
        "all runs of a folder or a shelf on a local page",
        "journal report shelf",
        "starlette uvicorn bokeh",
    ),
    Room(
        "parts",
        "safe pieces for the user's own loop; one file each",
        "tensors",
        "torchmetrics rich",
        Torch.YES,
    ),
    Room("catalog", "everything premortem can say, by code or by name", "detectors lint preflight why"),
    Room("demo", "a script with a bug, and premortem in front of it", "journal", "rich", Torch.YES),
    Room(
        "integrations",
        "doors for frameworks: translate to `premortem.watch`",
        "journal notebook ranks run startup terminal testing",
        "hydra lightning optuna pytorch_lightning ray transformers pytest",
    ),
    Room("agents", "for coding agents: an MCP server over the verbs", "journal report ui", "mcp"),
    Room("testing", "the door for tests", "run"),
    Room(
        "cli",
        "the command; each verb is imported from its room when it is called",
        "catalog journal lint report terminal vault",
        "rich shtab",
    ),
)

# What only the interpreter, the user and each other may import.
DOORS = {"cli", "integrations", "testing", "__main__"}


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def package(source: Path = SOURCE) -> Path:
    return source / "premortem"


def files(room: str, source: Path = SOURCE) -> list[Path]:
    single = package(source) / f"{room}.py"
    return [single] if single.exists() else sorted((package(source) / room).rglob("*.py"))


@functools.cache
def imports(path: Path, source: Path = SOURCE) -> tuple[tuple[str, bool], ...]:
    """Every module or name that a file imports, and whether that is done only when a function is called.

    Imports for types count, and so do modules that are named in a text (`import_module`, `sys.modules`).
    """
    return tuple(_imports(path, source))


def _imports(path: Path, source: Path) -> Iterator[tuple[str, bool]]:
    here = path.relative_to(source).with_suffix("").parts
    waiting: list[tuple[ast.AST, bool]] = [(ast.parse(path.read_text(encoding="utf-8")), False)]
    while waiting:
        node, late = waiting.pop()
        inside = late or isinstance(node, _FUNCTIONS) or _for_types(node)
        waiting += [(each, inside) for each in ast.iter_child_nodes(node)]
        names: list[str] = []
        match node:
            case ast.Import(names=aliases):
                names = [alias.name for alias in aliases]
            case ast.ImportFrom(module=module, names=aliases, level=level):
                start = ".".join(here[: len(here) - level]) if level else ""
                base = ".".join(part for part in (start, module) if part)
                names = [f"{base}.{alias.name}" for alias in aliases]
            case ast.Call(func=func, args=[ast.Constant(value=str(name)), *_]) if _by_name(func):
                names = [name]
            case ast.Constant(value=str(text)) if (
                text.startswith("premortem.") and text.replace(".", "").replace("_", "").isalnum()
            ):
                names = [text]
        for name in names:
            yield name, late


def _for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"


def _by_name(func: ast.expr) -> bool:
    return getattr(func, "attr", getattr(func, "id", "")) in {"import_module", "__import__"}


def room_of(name: str, source: Path = SOURCE) -> str:
    """`premortem.detectors.base.Detector` is in the room `detectors`, `torch.nn` is `torch`'s."""
    first, _dot, rest = name.partition(".")
    if first != "premortem":
        return first
    second = rest.partition(".")[0]
    there = (package(source) / second).is_dir() or (package(source) / f"{second}.py").exists()
    return second if second and there else "premortem"


def reached(room: str, source: Path = SOURCE) -> dict[str, set[str]]:
    """What a room imports of other rooms and libraries, each with the files that do."""
    found: dict[str, set[str]] = {}
    for path in files(room, source):
        for name, _late in imports(path, source):
            other = room_of(name, source)
            if other not in sys.stdlib_module_names and other not in {room, "premortem"}:
                found.setdefault(other, set()).add(str(path.relative_to(package(source))))
    return found


def allowed(room: Room) -> set[str]:
    words = {each.name for each in VOCABULARY}
    torch = set() if room.torch is Torch.NEVER else {"torch"}
    return words | {*room.imports.split(), *room.libraries.split()} | torch


def table() -> str:
    """The rooms for ARCHITECTURE.md."""
    head = "| room | what lives there | imports, besides the vocabulary | libraries | torch |\n|---|---|---|---|---|\n"
    words = "".join(
        f"| `{room.name}` | vocabulary: {room.what} | {'nothing' if not room.imports else room.imports} "
        f"| {_listed(room.libraries)} | never |\n"
        for room in VOCABULARY
    )
    return (
        head
        + words
        + "".join(
            f"| `{room.name}` | {room.what} | {_listed(room.imports)} | {_listed(room.libraries)} | {room.torch.value} |\n"
            for room in ROOMS
        )
    )


def _listed(names: str) -> str:
    return ", ".join(sorted(names.split(), key=str.lower))
