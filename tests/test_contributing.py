"""The example of CONTRIBUTING.md is a detector that works."""

import re
import textwrap
from pathlib import Path

import install
import pytest

from premortem.events import OptimizerStep

ROOT = Path(__file__).parent.parent


def example():
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)
    names = {"__name__": "example"}
    exec(textwrap.dedent(block), names)
    return names["StepWithoutGradient"]


def test_the_example_finds_its_fault_once():
    detector = example()()
    step = OptimizerStep(step=1, optimizer=1, kind="SGD", lrs=(0.1,), parameters=4, with_grad=0)
    (finding,) = [*detector.observe(step), *detector.observe(step)]
    assert finding.message == "the optimizer stepped and none of its 4 parameters has a gradient"
    assert (finding.code, finding.step, finding.evidence) == ("U901", 1, {"parameters": 4})


def test_the_example_is_silent_on_a_healthy_step():
    step = OptimizerStep(step=1, optimizer=1, kind="SGD", lrs=(0.1,), parameters=4, with_grad=4)
    assert list(example()().observe(step)) == []


def test_every_make_target_is_in_the_help_and_every_named_one_exists():
    makefile = (ROOT / "Makefile").read_text()
    documented = set(re.findall(r"^([a-z]+):.*##", makefile, re.MULTILINE))
    (phony,) = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert documented == set(phony.split())
    named = set(re.findall(r"\bmake ([a-z]+)", (ROOT / "CONTRIBUTING.md").read_text()))
    assert named <= documented


def test_the_installer_hands_the_settings_of_pip_to_uv():
    listed = """:env:.find-links='/wheels'
global.cert='/etc/root.crt'
global.extra-index-url='\\nfile:///one/simple\\nhttps://two/simple'
global.find-links='/others /more'
install.no-binary='numpy'"""
    assert install.settings_for_uv(listed) == {
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_FIND_LINKS": "/wheels",
        "SSL_CERT_FILE": "/etc/root.crt",
        "UV_INDEX": "file:///one/simple https://two/simple",
    }


@pytest.mark.parametrize(("fails", "last"), [("", "uv"), ("uv pip", "pip"), ("-q", "pip")])
def test_the_installer_falls_back_to_pip(monkeypatch, fails, last):
    called = []

    def call(words, **_):
        called.append(" ".join(words))
        return int(bool(fails) and fails in called[-1])

    monkeypatch.setattr(install.subprocess, "call", call)
    monkeypatch.setattr(install.sys, "argv", ["install.py", "torch,dev"])
    assert install.main() == 0
    assert called[-1].endswith("-c constraints.txt -e .[torch,dev]")
    assert ("/uv pip install" in called[-1]) == (last == "uv")
