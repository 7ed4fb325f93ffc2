"""The demo shows what it promises: one bug found, the healthy twin left in peace.

The README shows what the demo prints, so tests/docs runs it for real.
"""

import difflib
import json
import subprocess

import pytest

from premortem import cli, demo


@pytest.fixture
def played(monkeypatch):
    """Runs no script; hands out the findings in `verdicts` and keeps what was called."""
    calls, verdicts = [], {demo.BUGGY: ["error"], demo.FIXED: []}

    def run(command, *, cwd, check):
        calls.append(command[1:])
        script = command[-1]
        assert (cwd / script).exists()
        findings = [{"severity": severity} for severity in verdicts[script]]
        (cwd / command[-2]).write_text(json.dumps({"findings": findings}))

    monkeypatch.setattr(subprocess, "run", run)
    return calls, verdicts


def test_both_scripts_run_under_supervision(played, capsys):
    calls, _ = played
    assert demo.show() == 0
    assert calls == [
        ["-m", "premortem", "run", "--findings", f"{script}.json", script]
        for script in (demo.BUGGY, demo.FIXED)
    ]
    out = capsys.readouterr().out
    assert f"$ premortem run {demo.BUGGY}" in out
    assert out.endswith("\n$ premortem run train.py --your --options\n")


@pytest.mark.parametrize(
    ("buggy", "fixed", "words"),
    [([], [], "did not find the bug"), (["error"], ["warning"], "complained about a healthy run")],
)
def test_a_demo_that_fails_says_so(buggy, fixed, words, played, capsys):
    played[1].update({demo.BUGGY: buggy, demo.FIXED: fixed})
    assert demo.show() == 1
    assert words in " ".join(capsys.readouterr().out.split())


def test_a_remark_about_the_healthy_twin_is_no_alarm(played):
    played[1][demo.FIXED] = ["info"]
    assert demo.show() == 0


def test_ctrl_c_ends_the_demo_without_a_traceback(monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "run", interrupted)
    assert cli.main(["demo"]) == 130


def test_the_scripts_differ_only_in_the_order_of_two_lines():
    buggy, fixed = ((demo.SCRIPTS / name).read_text().splitlines() for name in (demo.BUGGY, demo.FIXED))
    changed = [line for line in difflib.ndiff(buggy, fixed) if line[0] in "+-"]
    assert len(changed) == 2
    assert changed[0][2:] == changed[1][2:]
    assert {line[0] for line in changed} == {"+", "-"}
