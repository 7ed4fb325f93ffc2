"""`%load_ext premortem` and `%%premortem` in a real IPython; and its card."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from premortem.findings import Certainty, Finding, Severity, Where
from premortem.integrations.card import MOST, card

SESSION = Path(__file__).with_name("notebook_session.py")


@pytest.mark.skipif(importlib.util.find_spec("IPython") is None, reason="ipython is not installed")
def test_a_cell_that_trains_gets_a_card(tmp_path: Path) -> None:
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
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["load"]["ok"], said["load"]
    (healthy,) = said["healthy"]["html"]
    assert "premortem watched 30 steps: nothing to report" in healthy
    assert "torch.Size([32, 4])" in said["healthy"]["stdout"], "the last value of the cell is shown as ever"
    (broken,) = said["broken"]["html"]
    assert "PM103 parameter-without-optimizer" in broken
    assert "this cell, line" in broken
    (crash,) = said["crash"]["html"]
    assert "premortem watched 30 steps, then KeyError" in crash
    first, _last = said["stale"]["html"]
    assert "before this cell ran" in first
    assert "helper" in first
    (typo,) = said["typo"]["html"]
    assert "--polcy" in typo
    assert "torch" in said["after"]["stdout"], "torch is as it was"


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
    assert "&lt;script&gt;alert(1)&lt;/script&gt;` &amp; co" in page


def test_a_million_findings_are_a_short_card() -> None:
    page = card([finding()] * (MOST + 1000), "many")
    assert page.count("PM103") == MOST
    assert "and 1000 more" in page
