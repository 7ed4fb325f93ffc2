"""The benchmark of the vault in its short form: what it measures must hold, also in a few tries."""

import importlib.util
import json
import shutil
import sys
from pathlib import Path

import pytest

from tests import starting

BENCH = Path(__file__).parents[3] / "bench" / "checkpoints.py"


@pytest.fixture
def measured(tmp_path):
    def measured(part):
        result = tmp_path / "found.json"
        command = [sys.executable, str(BENCH), "--quick", "--only", part, "--json", str(result)]
        done = starting.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode == 0, done.stderr[-2000:]
        return json.loads(result.read_text())[part]

    return measured


@pytest.mark.exhaustive
def test_a_run_that_saves_under_premortem_is_the_same_run(measured):
    found = measured("identity")
    assert found["same bits"]
    assert found["same files"]


def test_nothing_is_torn_or_lost_by_a_kill(measured):
    ways = {each["way"]: each for each in measured("kills")}
    plain = ways.pop("torch.save")
    assert plain["kills"] > 0
    assert len(ways) == 4
    for each in ways.values():
        assert (each["torn"], each["lost"]) == (0, 0), each
        assert each["kills"] > 0


def test_every_flipped_bit_is_caught(measured):
    found = measured("flips")
    assert found["caught"] == found["flips"] > 0
    assert found["files"]["torch.load silent"] > 0, "a flip that torch.load sees by itself proves nothing"


@pytest.mark.exhaustive
@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs mount namespaces")
def test_the_last_good_checkpoint_survives_its_disk(measured):
    found = measured("disks")
    if "problem" in found:
        pytest.skip(found["problem"])
    for kind in ("ENOSPC", "EIO", "read-only"):
        assert found[kind]["survived"] == found[kind]["saves"] > 0, found


@pytest.mark.exhaustive
@pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("moto", "flask", "s3fs")), reason="needs a server"
)
def test_a_mirror_that_fails_loses_nothing(measured):
    found = measured("mirrors")
    assert found["newest there"]
    assert found["times that nothing was there"] == 0
    assert found["manifests of files that are not whole"] == 0
    assert sum(count for fate, count in found["connections"].items() if fate != "pass") > 0, "nothing failed"


def test_the_clock_runs(measured):
    found = measured("speed")
    assert found["stall"]["stall_s"] > 0
    assert found["load"]["verified_s"] > 0
