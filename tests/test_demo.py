"""The demo shows what it promises: one bug found, the healthy twin left in peace.

The README shows what the demo prints, so tests/docs runs it for real.
"""

import contextlib
import difflib
import json
import shlex
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from premortem import cli, demo
from premortem.journal import Journal
from premortem.journal.folders import HOME


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.fixture
def played(monkeypatch):
    """Runs no script; hands out the findings in `verdicts` and keeps what was called."""
    calls, verdicts = [], {demo.BUGGY: ["error"], demo.FIXED: []}

    @contextlib.contextmanager
    def run(command, *, cwd):
        calls.append(command[1:])
        script = command[-1]
        assert (cwd / script).exists()
        findings = [{"severity": severity} for severity in verdicts[script]]
        (cwd / command[-2]).write_text(json.dumps({"findings": findings}))
        yield SimpleNamespace(wait=lambda: 0)

    monkeypatch.setattr(subprocess, "Popen", run)
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


def test_the_report_that_is_named_can_be_made(monkeypatch, played, capsys, tmp_path):
    """Its path is whole, so that it can be copied anywhere, and the folder is still there."""
    run = demo._run

    def made(script, folder):
        Journal.open(
            folder / HOME / "runs" / f"20260101-{Path(script).stem}-1",
            meta={"argv": [script], "reason": "finished", "steps": 0},
            on_problem=pytest.fail,
        ).close()
        return run(script, folder)

    monkeypatch.setattr(demo, "_run", made)
    assert demo.show() == 0
    out = capsys.readouterr().out
    (command,) = [line for line in out.splitlines() if line.startswith("$ premortem report ")]
    monkeypatch.chdir(tmp_path.parent)
    assert cli.main([*shlex.split(command)[2:], "-o", str(tmp_path / "report.md")]) == 0
    assert "finetune.py" in (tmp_path / "report.md").read_text()


def test_ctrl_c_ends_the_demo_without_a_traceback(monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "Popen", interrupted)
    assert cli.main(["demo"]) == 130


def test_the_scripts_differ_only_in_the_order_of_two_lines():
    buggy, fixed = ((demo.SCRIPTS / name).read_text().splitlines() for name in (demo.BUGGY, demo.FIXED))
    changed = [line for line in difflib.ndiff(buggy, fixed) if line[0] in "+-"]
    assert len(changed) == 2
    assert changed[0][2:] == changed[1][2:]
    assert {line[0] for line in changed} == {"+", "-"}


def test_an_interrupted_demo_waits_for_the_last_words_of_its_run(monkeypatch, tmp_path):
    (tmp_path / "slow.py").write_text("import time\ntry:\n    print('up', flush=True)\n    time.sleep(60)\n"
        "except KeyboardInterrupt:\n    time.sleep(1)\n    open('ended', 'w').close()\n")  # fmt: skip
    monkeypatch.setattr(demo, "SCRIPTS", tmp_path)
    folder = tmp_path / "demo"
    folder.mkdir()
    popen = subprocess.Popen

    def started(command, cwd):
        process = popen([sys.executable, "slow.py"], cwd=cwd, stdout=subprocess.PIPE)
        process.stdout.readline()
        wait = process.wait

        def interrupted(timeout=None):
            process.wait = wait
            process.send_signal(signal.SIGINT)
            raise KeyboardInterrupt

        process.wait = interrupted
        return process

    monkeypatch.setattr(subprocess, "Popen", started)
    with pytest.raises(KeyboardInterrupt):
        demo._run("slow.py", folder)
    assert (folder / "ended").exists()
