"""`premortem.watch` and `%%premortem` in a real kernel; and their card."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from premortem.findings import Certainty, Finding, Severity, Where
from premortem.notebook.html_card import MOST, card

SESSION = Path(__file__).with_name("notebook_session.py")


@pytest.mark.skipif(importlib.util.find_spec("ipykernel") is None, reason="ipykernel is not installed")
def test_a_notebook(tmp_path: Path) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "IPYTHONDIR": str(tmp_path / "ipython")}
    done = subprocess.run(
        [sys.executable, str(SESSION)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout.splitlines()[-1])
    assert not seen["load"]["failed"], seen["load"]

    (card,) = seen["healthy"]["cards"]
    assert "premortem watched 30 steps: nothing to report" in card["text/html"]
    assert "torch.Size([32, 4])" in seen["healthy"]["said"], "the last value of the cell is shown as ever"

    for name in ("broken", "watch"):
        (card,) = seen[name]["cards"]
        assert seen[name]["changes"] == 2, "as soon as it is found, and in the same place at the end"
        assert "premortem watched 30 steps: 1 warning" in card["text/html"]
        assert "PM103 parameter-without-optimizer" in card["text/html"]
        assert "warning PM103 parameter-without-optimizer" in card["text/plain"]
        assert "PM103" not in seen[name]["said"], "said once"

    assert "this cell, line 1" in seen["broken"]["cards"][0]["text/html"]

    (card,) = seen["crash"]["cards"]
    assert "premortem watched 30 steps, then KeyError" in card["text/html"]

    for name in ("stale", "watch stale"):
        before, _after = seen[name]["cards"]
        assert "before this cell ran" in before["text/html"]
        assert "`helper` in memory is not what is on the disk: `value` changed" in before["text/plain"]
        assert "<code>helper</code> in memory" in before["text/html"]
        assert "helper.py" in before["text/html"]
        assert "Restart the kernel" in before["text/html"]

    (typo,) = seen["typo"]["cards"]
    assert "--polcy" in typo["text/html"]
    assert "torch" in seen["after"]["said"], "torch is as it was"


@pytest.mark.skipif(importlib.util.find_spec("IPython") is None, reason="ipython is not installed")
def test_ipython_in_a_terminal_shows_lines(tmp_path: Path) -> None:
    """A card would be no more there than the name of its class."""
    script = (
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "shell = InteractiveShell.instance()\n"
        "shell.run_cell('%load_ext premortem')\n"
        "shell.run_cell('%%premortem\\nx = 1')\n"
        "shell.run_cell('%%premortem --polcy strict\\nx = 1')\n"
    )
    environment = {**os.environ, "IPYTHONDIR": str(tmp_path / "ipython")}
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == ""
    assert "warning: premortem saw no training step: no optimizer made a step" in done.stderr
    assert "--polcy" in done.stderr


def finding(**changes: object) -> Finding:
    values = {
        "code": "PM103",
        "name": "parameter-without-optimizer",
        "family": "optimizer-ownership",
        "severity": Severity.ERROR,
        "certainty": Certainty.MEASURED,
        "step": 17,
        "message": "`<script>alert(1)</script>` & co",
        "where": Where(module="<b>head</b>"),
    }
    return Finding(**{**values, **changes})


def test_names_and_messages_are_escaped() -> None:
    page = card([finding()], "<i>headline</i>")
    assert "<script>" not in page
    assert "<b>head</b>" not in page
    assert "<i>" not in page
    assert "<code>&lt;script&gt;alert(1)&lt;/script&gt;</code> &amp; co" in page


def test_a_million_findings_are_a_short_card() -> None:
    page = card([finding()] * (MOST + 1000), "many")
    assert page.count("parameter-without-optimizer") == MOST
    assert "and 1000 more" in page
