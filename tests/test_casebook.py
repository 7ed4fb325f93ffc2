"""The casebook: each case at its quick scale, healthy and with a few of its faults, through premortem itself."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CASEBOOK = ROOT / "casebook"
sys.path.insert(0, str(CASEBOOK))

from common import faults, patches  # noqa: E402 - from the casebook
from verbs import Question, ask  # noqa: E402

CASES = sorted(path.parent for path in CASEBOOK.glob("*/train.py"))
FAULTS = [(case, fault) for case in CASES for fault in faults.ids(case)]
# What is tried here; `make casebook` tries them all.
TRIED = {
    "ris": ("I1", "I6"),
    "deblur": ("D1", "D2"),
    "radiodiff": ("R1", "R3", "R7"),
    "spike_deblur": ("S2", "S3"),
}
SOME = [(case, fault) for case, fault in FAULTS if fault in TRIED.get(case.name, ())]


def quick(case):
    return (case / "quick.txt").read_text().split()


def test_a_patch_that_does_not_fit_is_an_error(tmp_path):
    (tmp_path / "train.py").write_text("loss = loss / 2\nloss = loss / 2\n")
    patch = tmp_path / "bug.patch"
    patch.write_text("--- a/train.py\n+++ b/train.py\n@@ -1 +1 @@\n-loss = loss / 2\n+loss = loss\n")
    with pytest.raises(patches.PatchError, match="2 times, not once"):
        patches.apply(patch, tmp_path)
    patch.write_text("--- a/train.py\n+++ b/train.py\n@@ -1 +1 @@\n-loss = loss / 3\n+loss = loss\n")
    with pytest.raises(patches.PatchError, match="0 times, not once"):
        patches.apply(patch, tmp_path)


@pytest.mark.parametrize(("case", "fault"), FAULTS, ids=lambda value: getattr(value, "name", value))
def test_every_patch_fits_and_the_copy_does_not_know_of_it(case, fault, tmp_path, monkeypatch):
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: None)  # a situation takes long to prepare
    project = faults.stage(case, fault, tmp_path).parent
    for path in project.glob("*.*"):
        text = path.read_text()
        assert "--fault" not in text
        assert "premortem" not in text
        assert fault not in text
    told = faults.story(case, fault)
    assert told["id"] == fault
    assert all(told[key] for key in ("saw", "believed", "true", "verb", "moment"))
    assert told["expect"]["families"]


@pytest.mark.exhaustive
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_nothing_is_said_about_a_healthy_case(case, tmp_path):
    answer = ask("run", Question(case, None, tmp_path, quick(case)))
    assert answer.findings == []
    assert answer.exit_code == 0
    assert answer.result["quality"] == pytest.approx(answer.result["quality"])
    assert ask("lint", Question(case, None, tmp_path, [])).findings == []


@pytest.mark.exhaustive
@pytest.mark.parametrize(("case", "fault"), SOME, ids=lambda value: getattr(value, "name", value))
def test_the_fault_is_named_first(case, fault, tmp_path):
    told = faults.story(case, fault)
    answer = ask(
        "run" if told["verb"] == "replay" else told["verb"], Question(case, fault, tmp_path, quick(case))
    )
    assert answer.findings, answer.output
    assert answer.findings[0]["family"] in told["expect"]["families"]
