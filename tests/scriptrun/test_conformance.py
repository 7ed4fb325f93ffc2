"""Every file operation of a script, in every sandbox that this machine allows: the same answer, and the tree untouched."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.scriptrun.operations import load

ROOT = Path(__file__).parents[2]
NAMESPACES, COPIED, REDIRECTED, AUDITED = (1, 2), 3, 4, 5

# A read map that was opened before the first write keeps what it saw.
STALE = {"map_sees_write"}
# What is redirected has another place: a file that was open before its first write, or a folder that is watched.
APART = {
    "change_mode_of_descriptor",
    "import_written_module",
    "named_pipe",
    "reader_sees_append",
    "watch_folder",
}
# Programs see the user's files as they are, and the kernel refuses what they write; C code likewise.
OF_PROGRAMS = {
    "c_code_writes",
    "python_child_writes",
    "python_sees_shell",
    "shell_edits_in_place",
    "shell_locks",
    "shell_moves_folder",
    "shell_removes_tree",
    "shell_sees_python",
    "shell_writes",
}
# Two names of one file have two numbers, in a user namespace.
TWO_NAMES = {"hard_link"}
# Where there is only a copy of the working folder.
ELSEWHERE = {
    "cache_in_home",
    "move_file",
    "move_old_folder",
    "open_absolute",
    "open_home",
    "open_parent",
    "open_through_link",
    "rename_across",
    "work_in_data",
    "write_through_new_link",
}
# One operation for each way that 0.1.0 went wrong, and a few more: what `make test` tries.
NAMED = [
    "read_parent",
    "copy_into_run_folder",
    "touch_new",
    "descriptor_new",
    "sqlite_old",
    "rename_old_folder",
    "remove_tree_and_make_again",
    "torch_save_and_load",
    "loader_with_workers",
    "socket_in_temporary_folder",
    "cache_in_home",
]


def bench(level, only=()):
    words = [sys.executable, "-m", "tests.scriptrun.bench", str(level)]
    words += ["--only", *only] if only else []
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, env=_environment())
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    if "not entered" in found:
        pytest.skip(f"level {level} cannot be had here: {found['not entered']}")
    return found


def _environment():
    variables = {name: value for name, value in os.environ.items() if name != "PREMORTEM_SANDBOX"}
    return variables | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}


@pytest.mark.parametrize(
    "level", [2, 4, *(pytest.param(level, marks=pytest.mark.exhaustive) for level in (1, 3, 5))]
)
def test_what_scripts_do_most_works_and_nothing_leaks(level):
    found = bench(level, NAMED)
    assert found["leak"] == {}
    assert set(found["differ"]) <= _may_differ(level)
    assert found["operations"] == len(NAMED)


@pytest.mark.exhaustive
@pytest.mark.parametrize("level", [1, 2, 3, 4, 5])
def test_every_operation(level):
    found = bench(level)
    assert found["operations"] == len(load()) >= 124
    assert set(found["differ"]) <= _may_differ(level)
    assert set(found["leak"]) <= _may_leak(level)


def _may_differ(level):
    if level in NAMESPACES:
        return STALE | TWO_NAMES
    if level == COPIED:
        return ELSEWHERE
    return STALE | APART | OF_PROGRAMS


def _may_leak(level):
    """Landlock does not cover chmod and utime; without it programs and C code write where they like."""
    if level < REDIRECTED:
        return set()
    return {"shell_changes_mode", "c_code_changes_mode"} | (
        OF_PROGRAMS | {"named_pipe"} if level == AUDITED else set()
    )
