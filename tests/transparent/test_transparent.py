"""`premortem run --quiet script.py` beside `python script.py`: what is printed, returned and written, byte for byte.

Each script of `scripts/` is run both ways in an empty folder of the same name, each folder of `projects/` likewise.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import starting

HERE = Path(__file__).parent
SCRIPTS = sorted((HERE / "scripts").glob("*.py"))
PROJECTS = sorted(path for path in (HERE / "projects").iterdir() if path.is_dir())
# About the process itself: crashes, start-up, children that are started anew.
REAL = {
    "environment", "flags_and_paths", "killed_by_abort", "lazy_torch", "loader_start_methods", "main_names", "module_that_fails",
    "multiprocessing_start_methods", "no_torch", "segfault", "shadowed_many", "shadowed_statistics",
}  # fmt: skip
# Seconds of compiling, or a dozen real processes for what another script shows too.
SLOW = {
    "compile_inductor",
    "loader_start_methods",
    "multiprocessing_start_methods",
    "segfault",
    "killed_by_abort",
    "signal_handler",
    "shadowed_statistics",
}
WATCHED = ["-m", "premortem", "run", "--quiet"]


def outcome(words: list[str], source: Path, folder: Path, *, real: bool) -> tuple[object, ...]:
    shutil.rmtree(folder, ignore_errors=True)
    if source.is_dir():
        shutil.copytree(source, folder)
    else:
        folder.mkdir()
        shutil.copy(source, folder)
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "PYTHONUNBUFFERED": "1",
        "PYTHONHASHSEED": "0",
        "KINETO_LOG_LEVEL": "99",
        "TORCHINDUCTOR_CACHE_DIR": str(folder.parent / "inductor"),
    }
    command = [sys.executable, *words]
    if real or starting.real():
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            capture_output=True,
            input="some words\n",
            text=True,
            timeout=300,
            check=False,
        )
    else:
        done = starting.run(command, cwd=folder, env=environment, input="some words\n", timeout=300)
    return done.returncode, done.stdout, done.stderr, written(folder)


def written(folder: Path) -> list[tuple[str, int]]:
    """Names and sizes of the script's files."""
    ours = {".premortem", "__pycache__"}
    found = [path for path in folder.rglob("*") if not ours & set(path.relative_to(folder).parts)]
    return sorted((str(path.relative_to(folder)), path.lstat().st_mode) for path in found)


def compared(source: Path, words: list[str], tmp_path: Path, *, real: bool) -> None:
    plain = outcome(words, source, tmp_path / "place", real=real)
    watched = outcome([*WATCHED, *words], source, tmp_path / "place", real=real)
    assert watched == plain


def tried(paths: list[Path]) -> list[object]:
    return [
        pytest.param(path, id=path.stem, marks=[pytest.mark.exhaustive] if path.stem in SLOW else [])
        for path in paths
    ]


@pytest.mark.parametrize("script", tried(SCRIPTS))
def test_a_script_is_the_same(script, tmp_path):
    compared(script, [script.name, "first", "--second"], tmp_path, real=script.stem in REAL)


@pytest.mark.parametrize("project", tried(PROJECTS))
def test_a_project_is_the_same(project, tmp_path):
    words = (project / "command").read_text().split()
    compared(project, words, tmp_path, real=project.name in REAL)


def test_there_are_enough_of_them():
    assert len(SCRIPTS) + len(PROJECTS) >= 80
