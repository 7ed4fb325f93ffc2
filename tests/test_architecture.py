"""The dependency direction of the design, held by walking every import.

Rooms meet in the vocabulary and nowhere else.
"""

import ast
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src"
PACKAGE = SOURCE / "premortem"
VOCABULARY = {
    "premortem",
    "amounts",
    "events",
    "findings",
    "cards",
    "errors",
    "metric_words",
    "plain",
    "windows",
    "failures",
    "configs",
    "asked",
    "trust",
    "untrusted",
    "redaction",
    "private",
}

# What a room may import besides the standard library, the vocabulary and itself.
# These rooms are pure: a recorded run can be replayed through them on a machine without torch.
PURE = {
    "detectors": set(),
    "policy": set(),
    "journal": set(),
    "configs": {"ruamel", "tomli"},
    "bystanders": set(),
    "statusline": {"bystanders", "logs"},
    "console": {"rich", "logs"},  # what it writes is not read as the script's
    # It reads what others wrote; the plotting library and the templates are an extra.
    "report": {
        "journal",
        "vault",
        "catalog",
        "folding",
        "lint",
        "logs",
        "bokeh",
        "numpy",
        "jinja2",
        "markupsafe",
    },
    # The same for all runs of a folder, and what a browser is told.
    "ui": {"journal", "report", "starlette", "uvicorn", "bokeh"},
    "catalog": {"detectors", "lint", "preflight"},
    # tomli is the standard library's tomllib for Python 3.10; the server is for editors, and an extra.
    "lint": {"rich", "ruamel", "tomli", "pygls", "lsprotocol"},
}
# What a room must not import.
NEVER = {
    "points": {
        "detectors",
        "policy",
        "journal",
        "actions",
        "probes",
        "watcher",
        "launch",
        "replay",
        "vault",
        "fit",
    },
    "probes": {"detectors", "policy", "journal", "actions", "watcher", "launch", "replay"},
    "replay": {"detectors", "policy", "journal", "actions", "launch"},
    "proof": {"detectors", "policy", "journal", "actions", "launch", "watcher", "vault"},
    "actions": {"detectors", "probes", "watcher", "launch"},
    "vault": {"detectors", "policy", "journal", "actions", "probes", "watcher", "launch", "replay"},
    "fit": {"detectors", "policy", "journal", "actions", "launch"},
    "watcher": {"launch", "report"},
    "preflight": {"detectors", "policy", "actions", "probes", "watcher"},
    "drill": {"detectors", "policy", "actions", "journal", "watcher"},
    # The script's process is premortem run's; the side that starts it knows nothing of torch.
    "rehearsal": {"detectors", "policy", "journal", "actions", "watcher", "preflight", "vault"},
    "cutting": {"torch"},
    # Started by every verb that runs a script, and knows none of them.
    "scriptrun": {
        *("torch", "detectors", "policy", "journal", "actions", "probes", "watcher", "launch", "vault"),
        *("fit", "replay", "proof", "drill", "rehearsal", "preflight", "console"),
    },
    "parts": {"detectors", "policy", "journal", "actions", "probes", "watcher", "launch"},
    "logs": {"torch", "detectors"},
    # Told of a run, never part of it.
    "sinks": {"torch", "detectors", "policy", "journal", "actions", "probes", "watcher", "launch", "console"},
    # What the status line says was put down by others.
    "vitals": {"torch", "probes", "detectors", "actions", "launch"},
    # Every Python that a watched script starts reads it first: it costs a millisecond, and brings nothing along.
    "startup": {
        "torch",
        "probes",
        "detectors",
        "journal",
        "watcher",
        "launch",
        "console",
        "findings",
        "events",
    },
    "descendants": {"torch", "probes", "watcher", "launch", "journal"},
    "child_run": {"torch", "probes", "detectors", "actions"},
    "looked_at": {"torch", "probes", "detectors", "actions", "launch"},
    "gauges": {"torch", "probes", "detectors", "journal", "watcher", "launch"},
}
# Doors: nobody walks in through them but the interpreter and each other.
DOORS = {"cli", "integrations"}
MAY_OPEN_A_DOOR = {"__main__", *DOORS}


def imports(path, package="premortem"):
    """Everything a file imports, also inside functions; what is only for types does not count."""
    found = set()
    here = path.relative_to(SOURCE).with_suffix("").parts if path.is_relative_to(SOURCE) else (package,)
    pending = [ast.parse(path.read_text(encoding="utf-8"))]
    while pending:
        node = pending.pop()
        match node:
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                pending += node.orelse
                continue
            case ast.Import(names=names):
                found |= {alias.name for alias in names}
            case ast.ImportFrom(module=module, names=names, level=level):
                start = ".".join(here[: len(here) - level]) if level else ""
                base = ".".join(part for part in (start, module) if part)
                found |= {f"{base}.{alias.name}" for alias in names}
            case ast.Call(func=func, args=[ast.Constant(value=str(name)), *_]) if _imports_by_name(func):
                found.add(name)
        pending += ast.iter_child_nodes(node)
    return found


def _imports_by_name(func):
    return getattr(func, "attr", getattr(func, "id", "")) in {"import_module", "__import__"}


def rooms(names):
    """`premortem.detectors.base.Detector` is the room `detectors`, `torch.nn` is `torch`."""
    inside = {tuple(name.split(".")) for name in names}
    return {_room(parts) for parts in inside}


def _room(parts):
    if parts[0] != "premortem":
        return parts[0]
    # `from premortem import Finding` names no room: it is the vocabulary.
    return parts[1] if len(parts) > 1 and _is_room(parts[1]) else "premortem"


def _is_room(name):
    return (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").exists() or name in PURE | NEVER


def files(room):
    if (PACKAGE / f"{room}.py").exists():
        return [PACKAGE / f"{room}.py"]
    return sorted((PACKAGE / room).rglob("*.py"))


def outsiders(room, path):
    """What a file of a pure room imports and may not."""
    allowed = VOCABULARY | PURE[room] | {room} | set(sys.stdlib_module_names)
    return rooms(imports(path)) - allowed


EVERY_FILE = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("room", PURE)
def test_a_pure_room_imports_only_the_vocabulary(room):
    strangers = {str(path.relative_to(SOURCE)): outsiders(room, path) for path in files(room)}
    assert {path: names for path, names in strangers.items() if names} == {}


@pytest.mark.parametrize("room", NEVER)
def test_a_room_keeps_to_its_side(room):
    crossed = {str(path.relative_to(SOURCE)): rooms(imports(path)) & NEVER[room] for path in files(room)}
    assert {path: names for path, names in crossed.items() if names} == {}


def test_nothing_imports_the_doors():
    crossed = {
        str(path.relative_to(SOURCE)): rooms(imports(path)) & DOORS
        for path in EVERY_FILE
        if path.relative_to(PACKAGE).parts[0].removesuffix(".py") not in MAY_OPEN_A_DOOR
    }
    assert {path: names for path, names in crossed.items() if names} == {}


@pytest.mark.parametrize(
    ("code", "caught"),
    [
        ("import torch", {"torch"}),
        ("def observe():\n    from torch import nn", {"torch"}),
        ("import torch.nn.functional as F", {"torch"}),
        ("import importlib\nimportlib.import_module('torch')", {"torch"}),
        ("__import__('torch')", {"torch"}),
        ("from premortem.probes.session import Session", {"probes"}),
        ("from premortem import journal", {"journal"}),
        ("from premortem import policy, cli", {"policy", "cli"}),
        ("from ..watcher import watch", {"watcher"}),
        ("from . import base", set()),
        ("import math\nfrom premortem import Finding\nfrom premortem.events import Event", set()),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch", set()),
    ],
)
def test_a_planted_import_in_a_detector_is_caught(code, caught, tmp_path, monkeypatch):
    planted = tmp_path / "premortem" / "detectors" / "planted.py"
    planted.parent.mkdir(parents=True)
    planted.write_text(code)
    monkeypatch.setattr(sys.modules[__name__], "SOURCE", tmp_path)
    assert outsiders("detectors", planted) == caught


# --- one layer touches torch -----------------------------------------------------------------------

# Attributes that are not torch's, or that belong to one object: none of them replaces what scripts call.
_OWN = {"self", "cls", "config"}  # the last one holds torch's settings


def replaced_in_torch(path):
    """Assignments to attributes of torch's modules and classes, by any name the file knows them by."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    known = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            known |= {
                alias.asname or alias.name.partition(".")[0]
                for alias in node.names
                if alias.name.startswith("torch")
            }
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("torch"):
            known |= {alias.asname or alias.name for alias in node.names}
    found = []
    for node in ast.walk(tree):
        targets = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
            targets = [node.target]
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in {"setattr", "delattr"}:
            targets = [ast.Attribute(node.args[0], "?", ast.Store())]
        for target in targets:
            for each in ast.walk(target):
                if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store):
                    base = each.value
                    while isinstance(base, ast.Attribute):
                        base = base.value
                    if isinstance(base, ast.Name) and base.id in known - _OWN:
                        found.append(f"{path.relative_to(PACKAGE)}:{node.lineno}")
    return found


def test_only_the_points_replace_anything_of_torch():
    written = [
        place
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.relative_to(PACKAGE).parts[0] != "points"
        for place in replaced_in_torch(path)
    ]
    assert written == []


@pytest.mark.parametrize(
    "line",
    [
        "torch.save = mine",
        "nn.Module.__call__ = mine",
        "setattr(functional, 'dropout', mine)",
        "a, torch.load = 1, 2",
    ],
)
def test_a_replacement_is_seen(line, tmp_path):
    file = PACKAGE / "x.py"
    code = f"import torch\nfrom torch import nn\nimport torch.nn.functional as functional\n{line}\n"
    found = replaced_in_torch(
        type("File", (), {"read_text": lambda _s, **_: code, "relative_to": file.relative_to})()
    )
    assert len(found) == 1
