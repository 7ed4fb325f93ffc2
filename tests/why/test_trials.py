"""Real trials of small scripts, in processes of their own."""

import difflib
import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CLIPPING = HERE / "faulty" / "clipping.py"
EVALUATED = HERE / "faulty" / "clipped_with_evaluation.py"
HEALTHY = sorted((HERE / "healthy").glob("*.py"))
REPORT = {"premortem", "verdict", "causes", "trials", "patch"}


def why(folder, *words, code, seeds="2"):
    file = folder / "why.json"
    done = subprocess.run(
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
    done = subprocess.run(
        [sys.executable, "-m", "premortem", "report", str(runs[0]), "-o", str(page)],
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0
    assert "one thing changed at a time" in page.read_text()


# Proposals for the script with an evaluation: what each replaces, and what is said about it.
PROPOSALS = {
    "good.diff": ("options.clip)", "1.0)", "helps", ""),
    "leak.diff": ("x[384:], y[384:]", "x[:384], y[:384]", "nothing", "cheats: it evaluates on samples"),
    "constant.diff": ("model(train_x[rows])", "0 * model(train_x[rows])", "nothing", "cheats"),
    "skipped.diff": ("loss.backward()", "(0 * loss).backward()", "nothing", "cheats: its gradients are zero"),
    "printed.diff": ("{accuracy:", "{accuracy + 0.4:", "nothing", "only what is printed"),
}


def test_a_fix_that_cheats_is_called_that_and_a_right_one_helps(tmp_path):
    text = EVALUATED.read_text()
    (tmp_path / "train.py").write_text(text)
    words = []
    for name, (old, new, _, _) in PROPOSALS.items():
        assert old in text
        lines = text.splitlines(True), text.replace(old, new).splitlines(True)
        (tmp_path / name).write_text("".join(difflib.unified_diff(*lines, "a/train.py", "b/train.py")))
        words += ["--try", name]
    told, _ = why(tmp_path, *words, "--set", "clip=1", "--set", "LR=0.01", "train.py", code=1)
    rows = {row["change"]: row for row in told["trials"]}
    for name, (_, _, verdict, said) in PROPOSALS.items():
        assert (rows[name]["verdict"], said in rows[name]["why"]) == (verdict, True), rows[name]
    assert rows["clip=1"]["verdict"] == "helps", "an option of the script's own"
    assert rows["LR=0.01"]["verdict"] != "helps", "a constant of the script's own"
    assert (tmp_path / "train.py").read_text() == text


@pytest.mark.exhaustive
def test_an_earlier_run_is_asked_about_and_its_fix_applied(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(CLIPPING.read_text())
    done = subprocess.run(
        [sys.executable, "-m", "premortem", "run", "--quiet", "train.py"],
        cwd=tmp_path,
        check=False,
        timeout=300,
    )
    assert done.returncode in {0, 1, 3}
    (run,) = (tmp_path / ".premortem" / "runs").glob("*")
    told, printed = why(tmp_path, "--apply", run, code=1)
    tried = [row["change"] for row in told["trials"] if row["verdict"] != "skipped"]
    assert tried[0] == "no-clipping", "what the run has found comes first"
    assert told["patch"]["verified"]
    assert "clip_grad_norm_(model.parameters(), 1.0)" in script.read_text()
    assert printed.index("the run said") < printed.index("as it is")


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
