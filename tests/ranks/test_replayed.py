"""A step that several ranks made together is run again by as many: to the bit, with the rank, the line and the sample."""

import json
import os
import shutil
import sys
import time
from pathlib import Path

import pytest

from premortem.replay.capsule import NotReplayable
from premortem.replay.rank_capsules import found, siblings
from tests import starting
from tests.ranks.launching import SCRIPT, SRC, faults_of_ours, together

PLANTED = SCRIPT.with_name("planted.py")
LINE = next(i for i, text in enumerate(PLANTED.read_text().splitlines(), 1) if "torch.log(wanted)" in text)
# SQLite takes its own files away when the last reader of a journal closes it.
LIVE = shutil.ignore_patterns("*.sqlite-wal", "*.sqlite-shm")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """One run for all tests: they replay it, and change only copies of its script."""
    folder = tmp_path_factory.mktemp("recorded")
    watched(folder)
    return folder


def watched(folder, *words):
    shutil.copy(PLANTED, folder)
    codes, record, printed = together(folder, *words, script=PLANTED.name)
    assert codes == [0, 0], printed
    assert faults_of_ours(folder) == []
    (finding,) = record["findings"]
    assert (finding["name"], finding["step"]) == ("update-refused", 4)
    assert "premortem replay run/rank-" in finding["remedy"]
    return record


def replayed(folder, *words, **variables):
    """What a new user does with it; the page, and the same as JSON."""
    file = folder / "r.json"
    file.unlink(missing_ok=True)
    done = starting.run(
        [sys.executable, "-m", "premortem", "replay", "--json", str(file), *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": SRC, "OMP_NUM_THREADS": "1", "COLUMNS": "200", **variables},
        timeout=120,
    )
    return done, json.loads(file.read_text()) if file.exists() else None


def check(done, record):
    assert done.returncode == 0, done.stdout + done.stderr
    assert (record["bitwise"], record["gradients_bitwise"], record["ranks"]) == (True, True, 2)
    certificate = record["certificate"]
    assert (certificate["op"], certificate["line"], certificate["ranks"]) == ("log", LINE, [1])
    assert record["smallest"]["title"] == "without sample 3 of rank 1"
    assert record["smallest"]["evidence"] == {"samples": [3], "of": 8, "rank": 1}
    assert f"NaN was born on rank 1 in `log` at planted.py:{LINE}" in done.stdout
    assert "nan on rank 1, the same to the last bit, and so are all gradients of every rank" in done.stdout
    assert (record["problem"], record["warnings"]) == ("", [])


@pytest.mark.slow
def test_a_step_of_sharded_parameters_is_reproduced_and_its_rank_named(recorded):
    done, record = replayed(recorded, "run")
    check(done, record)
    tried = {each["title"]: each["gone"] for each in record["interventions"]}
    assert tried == {
        "without sample 3 of rank 1": True,
        "without the loss term `extra`": True,
        "float64": None,
    }


@pytest.mark.slow
def test_what_is_not_the_same_step_is_not_called_so(recorded, tmp_path):
    """On the rank that fails the loss is NaN in any case: only the healthy rank's bits can tell."""
    shutil.copytree(recorded, tmp_path, dirs_exist_ok=True, ignore=LIVE)
    script = tmp_path / "planted.py"
    words = ["--quick", "--cwd", str(tmp_path), "--trust", "run/rank-1/capsules/step-4"]
    changed = 'SCALE = 1.0001 if os.environ["RANK"] == "0" else 1.0'
    script.write_text(PLANTED.read_text().replace("SCALE = 1.0", changed))
    done, record = replayed(tmp_path, *words)
    assert (record["reproduced"], record["bitwise"], record["gradients_bitwise"]) == (True, False, False)
    assert "it fails here too, but not bit for bit" in done.stdout


@pytest.mark.exhaustive
def test_a_step_that_is_finite_here_is_not_called_reproduced(recorded, tmp_path):
    shutil.copytree(recorded, tmp_path, dirs_exist_ok=True, ignore=LIVE)
    script = tmp_path / "planted.py"
    script.write_text(PLANTED.read_text().replace("torch.log(wanted)", "torch.log(wanted.abs())"))
    done, record = replayed(tmp_path, "--cwd", str(tmp_path), "--trust", "run")
    assert (done.returncode, record["reproduced"]) == (1, False)
    assert "Not reproduced: the same step is finite here" in done.stdout


@pytest.mark.slow
def test_a_rank_that_dies_ends_the_replay_of_all(recorded):
    began = time.monotonic()
    done, _ = replayed(recorded, "run/rank-0/capsules/step-4", AGAIN="dies")
    assert done.returncode == 1
    assert "the process of rank 1 died (exit code -9), which ends the replay on all ranks" in done.stdout
    assert time.monotonic() - began < 90, "the other one waits in a collective, and nobody waits for it"
    assert scripts_that_run(recorded) == []


@pytest.mark.exhaustive
def test_an_error_of_one_rank_is_told_as_what_it_was(recorded):
    done, _ = replayed(recorded, "run", AGAIN="raises")
    assert done.returncode == 1
    assert (
        "Not reproduced: rank 1: the script did not reach the recorded step (ValueError: only here)"
        in done.stdout
    )
    assert (
        '    raise ValueError("only here")' in done.stdout
    )  # its own last lines, not those of the rank it left alone
    assert scripts_that_run(recorded) == []


@pytest.mark.exhaustive
def test_a_gradient_that_one_rank_has_broken_is_not_blamed_on_those_who_were_sent_it(tmp_path):
    watched(tmp_path, "flat")
    done, record = replayed(tmp_path, "run")
    assert record["gradients_bitwise"], done.stdout
    certificate = record["certificate"]
    assert (certificate["stage"], certificate["op"], certificate["ranks"]) == ("backward", "sqrt", [1])
    tried = {each["title"]: each["gone"] for each in record["interventions"]}
    assert tried["without sample 3 of rank 1"]
    assert tried["without the loss term `extra`"], (
        "the gradient of one term cannot be asked for: each is left out"
    )


@pytest.mark.exhaustive
def test_a_policy_of_16_bits_is_lifted_in_a_process_of_its_own(tmp_path):
    watched(tmp_path, "half")
    done, record = replayed(tmp_path, "run")
    assert record["gradients_bitwise"], done.stdout
    assert (record["certificate"]["dtype"], record["certificate"]["ranks"]) == ("float16", [1])
    tried = {each["title"]: each["gone"] for each in record["interventions"]}
    assert tried["float32, autocast off"] is True
    assert tried["float64"] is None


@pytest.mark.exhaustive
def test_an_update_that_one_rank_s_piece_breaks(tmp_path):
    codes, _, printed = together(tmp_path, "eps", script=SCRIPT.with_name("sharded.py"))
    assert codes == [0, 0], printed
    done, record = replayed(tmp_path, "run")
    assert (record["failure"], record["bitwise"], record["gradients_bitwise"]) == ("update", True, True), done
    certificate = record["certificate"]
    assert (certificate["stage"], certificate["op"], certificate["ranks"]) == ("update", "addcdiv", [1])
    assert certificate["parameter"] == "model.words.weight"
    assert record["smallest"]["title"] == "the optimizer's eps at 1e-08"


@pytest.mark.exhaustive
def test_a_rank_that_hangs_is_named_when_the_time_is_over(recorded):
    done, _ = replayed(recorded, "--seconds", "20", "run", AGAIN="hangs")
    assert done.returncode == 1
    assert "took longer than 20 s (see --seconds); rank 1 did not come as far as the others" in done.stdout
    assert scripts_that_run(recorded) == []


@pytest.mark.slow
def test_copies_of_a_model_are_replayed_in_the_same_way(tmp_path):
    watched(tmp_path, "copies")
    check(*replayed(tmp_path, "run"))


@pytest.mark.slow
def test_a_capsule_whose_siblings_are_missing_says_whose(recorded, tmp_path):
    shutil.copytree(recorded / "run", tmp_path / "run", ignore=LIVE)
    capsule = tmp_path / "run" / "rank-1" / "capsules" / "step-4"
    assert [paper.folder.parts[-3] for paper in siblings(capsule)] == ["rank-0", "rank-1"]
    assert found(tmp_path / "run").parts[-3:] == ("rank-0", "capsules", "step-4")
    shutil.rmtree(tmp_path / "run" / "rank-0")
    assert found(tmp_path / "run") == capsule
    with pytest.raises(
        NotReplayable, match=r"2 ranks made this step together, and there is no capsule of rank 0"
    ):
        siblings(capsule)
    shutil.copytree(tmp_path / "run" / "rank-1", tmp_path / "run" / "rank-0")
    with pytest.raises(NotReplayable, match="the folder of rank 0 is of another rank"):
        siblings(capsule)
    manifest = capsule / "capsule.json"
    manifest.write_text(manifest.read_text().replace('"told": true', '"told": false'))
    with pytest.raises(NotReplayable, match="the script has started its ranks by itself"):
        siblings(capsule)


def scripts_that_run(folder):
    """Processes of the replay, by the folder they are in."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cwd"):
        try:
            found += [place] if place.resolve() == folder.resolve() else []
        except OSError:
            continue
    return found
