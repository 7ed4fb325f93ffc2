"""`train.py --fault ID`: a copy of the case with one real bug in it, run in the place of the case.

    casebook/ris/            copied to OUT/project, without this mechanism
    faults/I1/bug.patch      applied to the copy; it fails loudly when it does not fit
    faults/I1/prepare.py     run in the copy: makes the wrong situation (a torn file, a wrong folder)
    faults/I1/story.json     what the team saw, what they believed, what is true; arguments of the run

The copy does not know that it is one: no file in it names the fault or where it came from.
"""

from __future__ import annotations

import json
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

from common.patches import PatchError, apply

# What stands in every train.py, before anything else is imported, and is taken out of the copy.
HOOK = """\
if "--fault" in sys.argv:
    sys.path.append(str(Path(__file__).resolve().parents[1]))
    from common.faults import run_with_fault

    run_with_fault(Path(__file__).resolve().parent)

"""
LEFT_OUT = ("faults", "data", "runs", "__pycache__", "README.md", ".premortem", "mlruns")


def story(case: Path, fault: str) -> dict[str, Any]:
    path = case / "faults" / fault / "story.json"
    if not path.is_file():
        known = ", ".join(ids(case))
        raise SystemExit(f"{case.name} has no fault {fault}; there are {known}")
    told: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return told


def ids(case: Path) -> list[str]:
    return sorted(path.parent.name for path in case.glob("faults/*/story.json"))


def stage(case: Path, fault: str, out: Path) -> Path:
    """A copy of the case in `out`/project with the bug in it; returns the copy's train.py."""
    project = out.resolve() / "project"
    shutil.rmtree(project, ignore_errors=True)
    shutil.copytree(case, project, ignore=shutil.ignore_patterns(*LEFT_OUT))
    data = case / "data"
    data.mkdir(exist_ok=True)
    (project / "data").symlink_to(data.resolve(), target_is_directory=True)
    train = project / "train.py"
    text = train.read_text(encoding="utf-8")
    if text.count(HOOK) != 1:
        raise PatchError(f"{train}: the lines that lead here are not as they should be")
    train.write_text(text.replace(HOOK, ""), encoding="utf-8")
    recipe = case / "faults" / fault
    patches = sorted(recipe.glob("*.patch"))
    for patch in patches:
        apply(patch, project)
    prepare = recipe / "prepare.py"
    if prepare.is_file():
        subprocess.run([sys.executable, str(prepare)], cwd=project, check=True, stdin=subprocess.DEVNULL)
    elif not patches:
        raise PatchError(f"{recipe} changes nothing")
    return train


def run_with_fault(case: Path) -> NoReturn:
    """Called by a case's train.py. Runs the copy in this process, so that what is said points into the copy."""
    at = sys.argv.index("--fault")
    if at + 1 == len(sys.argv):
        raise SystemExit(f"--fault wants one of {', '.join(ids(case))}")
    fault = sys.argv[at + 1]
    told = story(case, fault)
    arguments = sys.argv[1:at] + sys.argv[at + 2 :]
    if "--out" in arguments:
        out = Path(arguments[arguments.index("--out") + 1])
    else:
        out = case / "runs" / fault
        arguments += ["--out", str(out)]
    train = stage(case, fault, out)
    sys.argv = [str(train), *told.get("arguments", []), *arguments]
    sys.path[0] = str(train.parent)
    runpy.run_path(str(train), run_name="__main__")
    raise SystemExit(0)
