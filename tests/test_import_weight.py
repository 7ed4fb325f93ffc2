"""The base package works where torch is absent, and does not load it where it is present."""

import subprocess
import sys

import pytest

ROOMS = [
    "premortem",
    "premortem.cli",
    "premortem.catalog",
    "premortem.terminal.console",
    "premortem.detectors",
]
ROOMS += [
    "premortem.journal",
    "premortem.events",
    "premortem.demo",
    "premortem.fit.verb",
    "premortem.replay.page",
    "premortem.changes",
    "premortem.lint.verb",
    "premortem.report.verb",
    "premortem.ui.verb",
]
# What `import torch` finds where torch is not installed.
NO_TORCH = "import sys; sys.modules['torch'] = None; "


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("room", ROOMS)
def test_works_without_torch(room):
    result = python(f"{NO_TORCH}import {room}")
    assert result.returncode == 0, result.stderr


def test_the_catalog_can_be_read_without_torch():
    result = python(f"{NO_TORCH}from premortem.cli import main; sys.exit(main(['explain', '--all']))")
    assert result.returncode == 0, result.stderr


def test_this_test_would_notice():
    result = python(f"{NO_TORCH}import torch")
    assert result.returncode != 0
    assert "ModuleNotFoundError: import of torch halted" in result.stderr


def test_the_demo_says_what_to_install_where_torch_is_absent():
    # find_spec looks for a spec, so the stand-in for "absent" is a finder that knows no torch.
    hide = (
        "import sys, importlib.util as util; find = util.find_spec; "
        "util.find_spec = lambda name, *rest: None if name == 'torch' else find(name, *rest); "
    )
    result = python(f"{hide}from premortem.cli import main; sys.exit(main(['demo']))")
    assert result.returncode == 1
    assert result.stderr == (
        "premortem: the demo needs more than the base package: pip install 'premortem[torch]'\n"
    )


@pytest.mark.parametrize("room", ROOMS)
def test_does_not_load_torch_where_it_is_present(room):
    result = python(f"import sys, {room}; sys.exit('torch' in sys.modules)")
    assert result.returncode == 0, f"{room} loads torch"


def test_the_door_opens_at_once():
    """`premortem --version` loads neither torch nor rich: each verb imports its room when it is called."""
    result = python("import sys, premortem.cli; sys.exit('torch' in sys.modules or 'rich' in sys.modules)")
    assert result.returncode == 0


def test_what_does_not_exist_is_an_attribute_error():
    import premortem

    with pytest.raises(AttributeError, match="module 'premortem' has no attribute 'wacth'"):
        _ = premortem.wacth
    assert "watch" in dir(premortem)


# Each would be a large part of the time that linting one file takes.
HEAVY = {"torch", "rich", "ruamel.yaml", "pygls", "lsprotocol", "multiprocessing", "asyncio", "shtab"}


def test_linting_a_file_into_a_pipe_loads_nothing_heavy(tmp_path):
    (tmp_path / "train.py").write_text("import torch\ntorch.load('x')\n")
    code = "import sys; from premortem.cli import main; main(['lint', '--no-cache', 'train.py']); "
    code += f"print(sorted({HEAVY!r} & set(sys.modules)))"
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert result.stdout.splitlines()[-1] == "[]"
