"""Modules that were edited after they were imported."""

import importlib
import sys

import pytest

import premortem
from premortem.preflight.environment.modules import stale_modules

TEXT = """\
LIMIT = 3

def step(x):
    return x + 1

class Net:
    def forward(self, x):
        return x * 2

if LIMIT > 2:
    def chosen():
        return "large"
else:
    def chosen():
        return "small"
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "planted_for_test.py").write_text(TEXT)
    importlib.invalidate_caches()
    yield importlib.import_module("planted_for_test")
    del sys.modules["planted_for_test"]


def changed(tmp_path, text):
    (tmp_path / "planted_for_test.py").write_text(text)
    return {stale.name: stale.changed for stale in stale_modules(folder=tmp_path)}


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ("", "", None),
        ("def step(x):", "# a comment\n\ndef step(x):", None),
        ("x + 1", "x + 2", ("step",)),
        ("x * 2", "x * 3", ("Net.forward",)),
        ("def step(x):\n    return x + 1\n", "", ("step",)),
        ("LIMIT = 3\n", "LIMIT = 3\n\ndef fresh():\n    pass\n", ("fresh",)),
        ('"large"', '"huge"', ("chosen",)),
        ("def step(x):", "def step(x:", None),  # half written: nothing can be said
    ],
)
def test_what_has_changed_is_named(old, new, names, module, tmp_path):
    text = TEXT.replace(old, new) if old else TEXT
    assert changed(tmp_path, text).get("planted_for_test") == names


def test_a_reload_makes_it_right(module, tmp_path):
    assert changed(tmp_path, TEXT.replace("x + 1", "x + 2"))
    importlib.reload(module)
    assert stale_modules(folder=tmp_path) == []


def test_a_file_that_is_gone(module, tmp_path):
    (tmp_path / "planted_for_test.py").unlink()
    assert [stale.changed for stale in stale_modules(folder=tmp_path)] == [("",)]


def test_other_folders_are_not_looked_at(module, tmp_path):
    (tmp_path / "planted_for_test.py").write_text(TEXT.replace("x + 1", "x + 2"))
    (tmp_path / "below").mkdir()
    assert stale_modules(folder=tmp_path / "below") == []


def test_the_notebook_is_told(module, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert premortem.check_modules() == []
    (tmp_path / "planted_for_test.py").write_text(TEXT.replace("x + 1", "x + 2"))
    (finding,) = premortem.check_modules()
    assert (finding.code, finding.severity.value) == ("PM612", "warning")
    assert (
        "`planted_for_test` in memory is not what is on the disk: `step` changed" in capsys.readouterr().err
    )


CONFIG = """\
LR = 1e-3
NAMES = ("a", "b")
DEVICE = "cpu" if LR else "cuda"

class Config:
    depth: int = 4
"""


@pytest.fixture
def config(tmp_path, monkeypatch):
    """Imported as it always is: with a cache beside it."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", None)
    (tmp_path / "planted_config.py").write_text(CONFIG)
    importlib.invalidate_caches()
    yield importlib.import_module("planted_config")
    del sys.modules["planted_config"]


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ("", "# a comment\n", None),
        ("1e-3", "3e-4", ("LR",)),
        ('("a", "b")', '("a", "c")', ("NAMES",)),
        ("depth: int = 4", "depth: int = 8", ("Config.depth",)),
    ],
)
def test_an_edited_constant_is_named(old, new, names, config, tmp_path):
    (tmp_path / "planted_config.py").write_text(CONFIG.replace(old, new, 1))
    assert {stale.name: stale.changed for stale in stale_modules(folder=tmp_path)}.get(
        "planted_config"
    ) == names


def test_a_constant_that_was_set_by_hand_is_nobodys_business(config, tmp_path):
    config.LR = 0.5
    (tmp_path / "planted_config.py").write_text(CONFIG.replace("1e-3", "3e-4"))
    assert stale_modules(folder=tmp_path) == []


def test_without_a_cache_nothing_is_said_about_constants(config, tmp_path):
    next((tmp_path / "__pycache__").glob("planted_config*")).unlink()
    (tmp_path / "planted_config.py").write_text(CONFIG.replace("1e-3", "3e-4"))
    assert stale_modules(folder=tmp_path) == []
