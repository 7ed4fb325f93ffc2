"""The failed step again: bit for bit, with the line to blame, and the smallest change that removes the failure."""

import json
import shutil
from typing import NamedTuple

import pytest

from tests.numerics.manifest import entries, plain


class Case(NamedTuple):
    script: str
    step: int  # at which it fails
    op: str
    line: str  # part of the line to blame
    smallest: str  # the change that is named
    samples: list[int] | None = None


CASES = [
    Case("shuffled_loader.py", 15, "sqrt", "torch.sqrt(", "without sample 1", [1]),
    Case("plain_slices.py", 5, "log", "torch.log(y)", "without sample 13", [13]),
    Case("drawn_indices.py", 11, "exp", "torch.exp(", "without samples 19, 21", [19, 21]),
    Case("batch_norm.py", 5, "div", "image.amin(", "without sample 2", [2]),
    Case("accumulation.py", 2, "div", "x.norm(", "without sample 30", [30]),
    Case("two_models.py", 4, "pow", "torch.pow(", "without the loss term `spread`"),
    Case("autocast.py", 3, "exp", "torch.exp(", "without sample 8", [8]),
    Case("trainer_class.py", 5, "log1p", "torch.log1p(", "without sample 1", [1]),
    Case("grows_with_the_step.py", 11, "mul", "penalty =", "without the loss term `penalty`"),
    Case("compiled.py", 4, "div", "x.sum(", "without sample 6", [6]),
    Case("half_precision.py", 8, "", "", "float32, autocast off"),
]


OFTEN = {"shuffled_loader.py", "batch_norm.py", "two_models.py"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case.script, marks=[] if case.script in OFTEN else pytest.mark.exhaustive)
        for case in CASES
    ],
)
def test_a_failed_step_is_reproduced_and_its_cause_proved(case, scene):
    place = scene(case.script)
    ran = place.watch()
    assert place.capsules, ran.stderr
    assert place.capsules[0].name == f"step-{case.step}"

    done, found = place.replay()
    assert done.returncode == 0, done.stdout + done.stderr
    assert found["reproduced"]
    assert found["bitwise"]
    assert found["gradients_bitwise"]
    assert found["certainty"] == "proved"
    certificate = found["certificate"]
    if case.op:
        assert certificate["op"] == case.op
        assert case.line in place.line(certificate["line"])
    assert found["smallest"]["title"] == case.smallest
    assert found["smallest"]["gone"]
    if case.samples is not None:
        assert found["smallest"]["evidence"]["samples"] == case.samples
    assert case.smallest in done.stdout


# What else may break, of the planted set: a loss whose gradients are finite, statistics, a step that a scaler leaves
# out, data that the loop itself prepares, a table from before the loop, a group added on the way, torch.func.
KINDS = (
    "fisher_z",
    "scanner_calibration",
    "scaler_never_steps",
    "ticker_gru_clip",
    "pretrained_vectors",
    "adam_eps_zero",
    "functional_springs",
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [*KINDS[:1], *(pytest.param(k, marks=pytest.mark.exhaustive) for k in KINDS[1:])]
)
def test_every_kind_of_failure_leaves_a_capsule_that_names_its_origin(name, scene):
    (planted,) = entries(f"faults/{name}.py")
    place = scene(planted["path"])
    ran = place.watch()
    assert place.capsules, ran.stderr
    assert place.capsules[0].name == f"step-{planted['step']}"
    done, found = place.replay("--quick")
    assert done.returncode == 0, done.stdout + done.stderr
    assert found["bitwise"]
    # One change only is tried: the step without the samples that the microscope saw, where that are a few.
    assert [each["title"].partition(" sample")[0] for each in found["interventions"]] in ([], ["without"])
    certificate = found["certificate"]
    assert plain(certificate["op"]) in {plain(op) for op in planted["op"]}
    assert certificate["line"] in {planted["line"], *planted.get("also_lines", ())}


def test_an_update_that_is_not_finite_is_made_and_undone(scene):
    pytest.importorskip("premortem.actions.guard", reason="only the guard knows what an update would be")
    place = scene("eps_zero.py")
    place.watch()
    done, found = place.replay()
    assert done.returncode == 0, done.stdout
    assert found["failure"] == "update"
    assert found["certificate"]["stage"] == "update"
    assert "optimizer.step()" in place.line(found["certificate"]["line"])
    assert found["smallest"]["title"] == "the optimizer's eps at 1e-08"


@pytest.mark.exhaustive
def test_a_failure_in_the_very_first_step(scene):
    place = scene("first_step.py")
    place.watch()
    assert place.capsules[0].name == "step-1"
    done, found = place.replay()
    assert done.returncode == 0, done.stdout
    assert found["bitwise"]
    assert "torch.inf" in place.line(found["certificate"]["line"])


def test_the_script_is_shown_only_when_asked_and_its_files_stay(watched):
    out = watched.folder / "out"
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in out.iterdir()}
    assert {path.name for path in before} == {"log.json", "last.pt"}
    done, found = watched.replay()
    assert found["reproduced"]
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in out.iterdir()} == before
    assert sorted(path.name for path in watched.folder.iterdir()) == [
        ".premortem",
        "f.json",
        "out",
        "r.json",
        "trainer_class.py",
    ]
    assert "Reproduced: loss nan, the same to the last bit" in done.stdout


def test_the_finding_points_to_the_capsule(watched):
    pointing = [f for f in watched.findings if "capsule" in f["evidence"]]
    assert pointing
    assert pointing[0]["evidence"]["capsule"] == str(watched.capsules[0])
    assert "premortem replay .premortem/runs/" in pointing[0]["remedy"]


def test_a_capsule_of_a_gpu_on_a_machine_without_one_says_what_may_differ(watched, tmp_path):
    copy = tmp_path / "step-5"
    shutil.copytree(watched.capsules[0], copy)
    path = copy / "capsule.json"
    manifest = json.loads(path.read_text())
    manifest["device"] = "cuda:0"
    manifest["versions"] |= {"device": "NVIDIA H200", "cuda": "13.0", "torch": "2.11.0"}
    path.write_text(json.dumps(manifest))
    done = watched.premortem("replay", "--trust", "--device", "cpu", "--json", "gpu.json", copy)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((watched.folder / "gpu.json").read_text())
    assert any("replayed on the CPU" in sentence for sentence in found["differences"])
    assert any("torch 2.11.0 then" in sentence for sentence in found["differences"])
    assert "sums are rounded differently" in done.stdout
    (watched.folder / "gpu.json").unlink()


def test_a_step_that_is_finite_elsewhere_is_not_called_reproduced(scene):
    place = scene("trainer_class.py")
    place.watch()
    script = place.folder / place.script
    script.write_text(script.read_text().replace("torch.log1p(series)", "torch.log1p(series.clamp(min=0))"))
    done, found = place.replay()
    assert done.returncode == 1
    assert not found["reproduced"]
    assert "Not reproduced: the same step is finite here" in done.stdout
