"""Real trials of small scripts, in processes of their own."""

import difflib
import json
import sys
from pathlib import Path

import pytest

from tests import starting

HERE = Path(__file__).parent
CLIPPING = HERE / "faulty" / "clipping.py"
HEALTHY = sorted((HERE / "healthy").glob("*.py"))
REPORT = {"premortem", "verdict", "causes", "trials", "patch"}


def why(folder, *words, code, seeds="2"):
    file = folder / "why.json"
    done = starting.run(
        [sys.executable, "-m", "premortem", "why", "--seeds", seeds, "--json", str(file), *map(str, words)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(file.read_text()) if file.exists() else None, done.stdout + done.stderr


def test_a_cause_is_proved_and_its_patch_verified(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(CLIPPING.read_text())
    before = script.read_bytes()
    told, printed = why(tmp_path, "--patch", tmp_path / "fix.diff", "train.py", code=1)
    assert set(told) >= REPORT
    assert told["verdict"] == "cause"
    cause = told["causes"][0]
    assert (cause["family"], cause["certainty"], cause["change"]) == ("clipping", "proved", "no-clipping")
    assert cause["where"]["line"] == 17
    assert cause["effect"]["changed"] < 0.5 * cause["effect"]["as_is"]
    assert told["patch"]["verified"]
    assert (
        "-        nn.utils.clip_grad_norm_(model.parameters(), 1e-3)" in (tmp_path / "fix.diff").read_text()
    )
    assert script.read_bytes() == before, "without --apply nothing of the user's is touched"
    assert "cause (proved)" in printed
    runs = list((tmp_path / ".premortem" / "runs").glob("*"))
    assert len(runs) == 1
    page = tmp_path / "page.html"
    done = starting.run(
        [sys.executable, "-m", "premortem", "report", str(runs[0]), "-o", str(page)],
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0
    assert "one thing changed at a time" in page.read_text()


def test_a_fix_that_cheats_is_called_that_and_a_right_one_helps(tmp_path):
    text = CLIPPING.read_text()
    (tmp_path / "train.py").write_text(text)
    good = text.replace("1e-3)", "1.0)")
    cheat = text.replace("model(x[rows])", "0 * model(x[rows])")
    for name, new in (("good", good), ("cheat", cheat)):
        lines = difflib.unified_diff(text.splitlines(True), new.splitlines(True), "a/train.py", "b/train.py")
        (tmp_path / f"{name}.diff").write_text("".join(lines))
    told, _ = why(tmp_path, "--try", "good.diff", "--try", "cheat.diff", "train.py", code=1)
    rows = {row["change"]: row for row in told["trials"]}
    assert rows["good.diff"]["verdict"] == "helps"
    assert rows["cheat.diff"]["verdict"] != "helps"
    assert "cheats" in rows["cheat.diff"]["why"]


def test_a_script_that_does_not_train_cannot_be_tried(tmp_path):
    (tmp_path / "train.py").write_text("print('no training here')\n")
    told, printed = why(tmp_path, "train.py", code=4)
    assert told["verdict"] == "cannot-run"
    assert "no training step" in printed


def test_what_cannot_be_meant_is_a_usage_error(tmp_path):
    (tmp_path / "train.py").write_text("import torch\n")
    for words in (
        (),
        ("--seeds", "1", "train.py"),
        ("--set", "nothing=1", "train.py"),
        ("--try", "none.diff", "train.py"),
    ):
        why(tmp_path, *words, code=2)


@pytest.mark.parametrize(
    "script", [each for each in HEALTHY if each.stem == "gan"], ids=lambda path: path.stem
)
def test_a_healthy_script_is_called_healthy(script, tmp_path):
    told, printed = why(tmp_path, script, code=0)
    assert told["verdict"] == "healthy", printed
    assert told["causes"] == []


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "script", [each for each in HEALTHY if each.stem != "gan"], ids=lambda path: path.stem
)
def test_other_healthy_scripts_are_called_healthy(script, tmp_path):
    told, printed = why(tmp_path, script, code=0, seeds="3")
    assert told["verdict"] == "healthy", printed
