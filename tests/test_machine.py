"""What premortem asks on threads of its own leaves Python's memory of shown warnings alone: else a script shows its own twice."""

import platform
import sys
import warnings

import pytest
import torch  # noqa: F401 - before it is counted what is changed: the script has imported it

from premortem.configs.places import compose_yaml
from premortem.files.machine import _FORGETTING, operating_system
from premortem.lint.parsing import parse
from premortem.replay import how_started
from premortem.run import environment


def commit(folder):
    assert (
        how_started.git_revision(str(folder)) is None
    )  # there is no repository, and git is asked all the same


ASKED = {
    "the environment": lambda _: environment.environment(),
    "versions": lambda _: how_started.versions(),
    "git": commit,
    "yaml": lambda _: compose_yaml("a: &x 1\nb: &x 2\nc: *x\n"),
    "code": lambda _: parse("train.py", b'text = "\\d"\n', notebook=False),
}


@pytest.mark.parametrize("what", ASKED)
def test_warnings_that_were_shown_stay_known(what, tmp_path, monkeypatch):
    monkeypatch.setattr(platform, "_uname_cache", None)
    monkeypatch.setattr(platform, "_platform_cache", {})
    changed = []
    for name in _FORGETTING:
        if hasattr(warnings, name):
            monkeypatch.setattr(warnings, name, lambda *_words: changed.append(1))
    for name in [name for name in sys.modules if name.partition(".")[0] == "ruamel"]:
        monkeypatch.delitem(sys.modules, name)  # as in a process that has read no YAML yet
    ASKED[what](tmp_path)
    assert changed == []


def test_the_operating_system_has_a_name():
    assert operating_system().startswith(f"{platform.system()}-")
