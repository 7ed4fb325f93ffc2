"""The dependency direction of the design, held by walking every import (`tools/rooms.py` has the list)."""

import ast

import pytest
import rooms
from rooms import DOORS, ROOMS, VOCABULARY, Torch

PACKAGE = rooms.package()
EVERY_FILE = sorted(PACKAGE.rglob("*.py"))
EVERY_ROOM = {room.name: room for room in (*VOCABULARY, *ROOMS)}
# The package itself and `python -m premortem`; everything else is in a room.
NOT_ROOMS = {"__init__.py", "__main__.py", "py.typed", "__pycache__"}


def test_every_file_is_in_a_room():
    there = {path.name for path in PACKAGE.iterdir()} - NOT_ROOMS
    assert {name.removesuffix(".py") for name in there} == set(EVERY_ROOM)


def test_few_files_stand_outside_of_folders():
    assert len(list(PACKAGE.glob("*.py"))) <= 15


@pytest.mark.parametrize("room", EVERY_ROOM)
def test_a_room_imports_what_it_may(room):
    reached = rooms.reached(room)
    assert {
        name: files for name, files in reached.items() if name not in rooms.allowed(EVERY_ROOM[room])
    } == {}


@pytest.mark.parametrize("room", [room.name for room in ROOMS])
def test_no_permission_is_left_over(room):
    named = {*EVERY_ROOM[room].imports.split(), *EVERY_ROOM[room].libraries.split()}
    assert named - set(rooms.reached(room)) == set()


def test_the_vocabulary_imports_only_itself():
    assert {room.name: room.imports for room in VOCABULARY if room.imports} == {}


@pytest.mark.parametrize("room", [room.name for room in ROOMS if room.torch is Torch.LATE])
def test_importing_such_a_room_does_not_import_torch(room):
    early = {
        str(path.relative_to(PACKAGE))
        for path in rooms.files(room)
        for name, late in rooms.imports(path)
        if rooms.room_of(name) == "torch" and not late
    }
    assert early == set()


def test_nothing_imports_the_doors():
    crossed = {
        room: sorted(set(rooms.reached(room)) & DOORS)
        for room in EVERY_ROOM
        if room not in DOORS and set(rooms.reached(room)) & DOORS
    }
    assert crossed == {}


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
        ("from ..journal import Run", {"journal"}),
        ("from . import base", set()),
        ("import math\nfrom premortem import Finding\nfrom premortem.events import Event", {"events"}),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch", {"torch"}),
        ("import sys\nprobes = sys.modules['premortem.probes.session']", {"probes"}),
    ],
)
def test_a_planted_import_in_a_detector_is_caught(code, caught, tmp_path):
    for room in ("detectors", "journal", "policy", "cli", "probes", "events"):
        (tmp_path / "premortem" / room).mkdir(parents=True)
    (tmp_path / "premortem" / "detectors" / "planted.py").write_text(code)
    assert set(rooms.reached("detectors", tmp_path)) == caught


# --- one layer touches torch -----------------------------------------------------------------------

# Attributes that are not torch's, or that belong to one object: none of them replaces what scripts call.
_OWN = {"self", "cls", "config"}  # the last one holds torch's settings


def replaced_in_torch(path):
    """Assignments to attributes of torch's modules and classes, by any name the file knows them by."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text if "torch" in text else "")
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


# What the call of an object goes through, and what torch shows by these names, whatever a file calls torch.
_CALLED_THROUGH = {"_compiled_call_impl", "_call_impl", "forward", "backward", "load"}
# Each has its reason in ARCHITECTURE.md, under "Exceptions".
EXCEPTIONS = {
    "startup/children.py",
    "fit/speed/timed_turns.py",
    "changes/compiling.py",
    "fit/session.py",
    "changes/autocast.py",
    "changes/channels_last.py",
    "probes/shape_trail.py",
    "fit/decisions.py",
    "changes/loss_terms.py",
    "scriptrun/sandbox/libraries.py",
    "parts/",
}


def reaches_into_torch(code):
    """Ways around the points: what an object is called through, torch's own hooks, kernels in its dispatcher."""
    for node in ast.walk(ast.parse(code)):
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Store)
            and node.attr in _CALLED_THROUGH
        ):
            if not ast.unparse(node).startswith("self."):
                yield node.lineno
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if (name.startswith("register_") and name.endswith("hook")) or name == "Library":
                yield node.lineno


def test_what_goes_past_the_points_is_on_the_page():
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in EVERY_FILE
        if path.relative_to(PACKAGE).parts[0] != "points"
        and list(reaches_into_torch(path.read_text(encoding="utf-8")))
    }
    assert {file if not file.startswith("parts/") else "parts/" for file in found} == EXCEPTIONS
    page = (PACKAGE.parent.parent / "ARCHITECTURE.md").read_text(encoding="utf-8")
    said = page.partition("### Exceptions")[2].partition("\n## ")[0]
    assert [file for file in sorted(EXCEPTIONS) if f"`{file}`" not in said] == []


@pytest.mark.parametrize(
    "line",
    [
        "model._compiled_call_impl = mine",
        "layer.forward = mine",
        "register_module_forward_hook(look)",
        "layer.register_forward_pre_hook(look)",
        "torch.library.Library('aten', 'IMPL')",
    ],
)
def test_a_way_past_the_points_is_seen(line):
    assert list(reaches_into_torch(line)) == [1]
