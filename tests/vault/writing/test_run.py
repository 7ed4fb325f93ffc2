"""`premortem run` and the saves of scripts that know nothing of it."""

import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
import torch

import premortem
from premortem.vault.manifest import Manifest
from tests import starting
from tests.vault.writing import scripts

PREMORTEM = [sys.executable, "-m", "premortem", "run", "--findings", "f.json", "--folder", "run"]


class Place:
    def __init__(self, folder):
        self.folder = folder
        (folder / "out").mkdir()

    def start(self, code, *options, real=False, **settings):
        """A process of its own, for those that send it a signal; `real` where its children get the signal too."""
        (self.folder / "train.py").write_text(code)
        return (subprocess.Popen if real else starting.Popen)(
            [*PREMORTEM, *options, "train.py"],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            **settings,
        )

    def run(self, code, *options, plain=False, env=None):
        (self.folder / "train.py").write_text(code)
        command = [sys.executable] if plain else [*PREMORTEM, *options]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", **(env or {})}
        done = starting.run([*command, "train.py"], cwd=self.folder, env=environment, timeout=120)
        self.err = done.stderr
        return done.returncode, done.stdout

    def command(self, *words):
        done = starting.run([sys.executable, "-m", "premortem", *words], cwd=self.folder)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def findings(self):
        found = json.loads((self.folder / "f.json").read_text())["findings"]
        return [(each["code"], each["severity"]) for each in found]

    def faults(self):
        import sqlite3

        with sqlite3.connect(self.folder / "run" / "journal.sqlite") as journal:
            return journal.execute("select unit, error from faults").fetchall()

    def bytes(self, pattern):
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in self.folder.glob(pattern)}


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


def loaded(path):
    return str(bool(torch.load(path)["0.weight"].isfinite().all()))


def test_a_healthy_script_writes_the_same_bytes_and_hears_nothing(place):
    alone = place.run(scripts.SAVES, plain=True)
    before = place.bytes("*.pt") | place.bytes("out/*.pt")
    for name in before:
        (place.folder / name).unlink()
    code, out = place.run(scripts.SAVES, "--quiet")
    assert (code, out.replace("'f.json', ", "").replace("'run', ", "")) == alone
    assert place.bytes("*.pt") | place.bytes("out/*.pt") == before
    assert place.findings() == []
    assert place.faults() == []
    assert list(place.folder.glob("**/*partial*")) == []


def test_earlier_versions_of_an_overwritten_path_are_kept(place):
    place.run(scripts.SAVES)
    versions = sorted(place.folder.glob("run/kept/last.pt-*/*.pt"))
    assert [path.name.partition("-")[2] for path in versions] == ["step-10.pt", "step-15.pt"]
    manifest = Manifest.read(versions[1].with_name(versions[1].name + ".manifest.json"))
    assert (manifest.step, manifest.kind, Path(manifest.source)) == (15, "kept", place.folder / "last.pt")


def test_a_poisoned_save_never_replaces_a_good_file_and_the_script_does_not_notice(place):
    code, out = place.run(scripts.POISONED)
    assert code == 0
    assert out.splitlines() == [
        "loaded right afterwards: False True",
        "the first of its name: False",
        "after a rename: False False",
        "after a copy: False",
        "through a file object: False",
        "removed: False",
        "and gone",
    ]
    [version] = place.folder.glob("run/kept/best.pt-*/*.pt")
    assert loaded(version) == "True"
    assert loaded(place.folder / "other.pt") == "True"
    assert loaded(place.folder / "first.pt") == "False"  # nothing good was there
    assert len(list(place.folder.glob("run/quarantine/*/*.pt"))) >= 2
    assert place.findings()[0] == ("PM320", "error")
    assert place.faults() == []


def test_ruined_statistics_never_replace_sound_ones(place):
    code, _ = place.run(scripts.STATISTICS)
    assert code == 0
    whole = torch.load(place.folder / "last.pt")
    assert whole["1.running_mean"].isfinite().all()
    assert torch.isinf(whole["3.mask"]).any()  # that is what a mask is for
    assert place.findings() == [("PM320", "error")]
    assert "1.running_mean" in (place.folder / "f.json").read_text()
    assert place.faults() == []


def test_who_only_observes_changes_nothing(place):
    code, _ = place.run(scripts.POISONED, "--policy", "observe")
    assert code == 0
    assert loaded(place.folder / "first.pt") == "False"
    assert loaded(place.folder / "other.pt") == "False"
    # Nothing but the journal; its second file is empty once it is closed.
    assert {path.name for path in (place.folder / "run").iterdir() if path.stat().st_size} == {
        "journal.sqlite"
    }
    assert ("PM320", "error") in place.findings()


def test_a_script_that_moves_its_files_finds_them_where_it_put_them(place):
    code, out = place.run(scripts.MOVES, "--mirror", "mirror")
    assert (code, out) == (0, "['final.pt', 'x.pt'] True\n")
    mirrored = {path.parent.name.rpartition("-")[0] for path in place.folder.glob("mirror/run/*/*.pt")}
    assert mirrored >= {"x.pt", "final.pt"}
    assert "x.tmp" not in mirrored
    assert place.faults() == []


def test_other_ways_to_save(place):
    code, out = place.run(scripts.OTHERS)
    assert (code, out) == (0, "False\nTrue mine\n"), place.err
    kept = {path.parent.name.rpartition("-")[0] for path in place.folder.glob("run/kept/*/*")}
    assert kept == {"a.safetensors", "b.safetensors", "d", "thread.pt", "handle.pt"}
    assert place.faults() == []
    assert ("PM320", "error") in place.findings()


def test_a_run_that_is_killed_while_it_saves_leaves_a_whole_file(place):
    for attempt in range(2):
        with place.start(scripts.FOREVER, "--folder", f"run{attempt}") as process:
            assert process.stdout.readline() == "ready\n"
            time.sleep(1.0 + 0.137 * attempt)
            process.send_signal(signal.SIGKILL)
        with zipfile.ZipFile(place.folder / "last.pt") as archive:
            assert archive.testzip() is None


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGTERM,
        *(pytest.param(n, marks=pytest.mark.exhaustive) for n in (signal.SIGUSR1, signal.SIGINT)),
    ],
)
def test_a_signal_saves_and_is_handed_on(place, number):
    with place.start(scripts.TRAINS, "--mirror", "mirror") as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.3)
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    assert process.returncode == -number
    state = torch.load(place.folder / "run" / "last_good.pt")
    assert state["step"] > 5
    assert state["schedulers"][0]["last_epoch"] - state["step"] in {0, -1}
    assert list(state["models"]) == ["model"]
    assert len(list(place.folder.glob("mirror/run/last_good.pt/*.pt.manifest.json"))) >= 2
    assert "the state of the training is in" in err
    assert place.faults() == []


def test_the_workers_of_a_loader_die_of_the_signal_and_the_run_is_saved(place):
    with place.start(scripts.WORKERS, real=True, start_new_session=True) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.3)
        os.killpg(process.pid, signal.SIGTERM)
        process.communicate(timeout=60)
    assert process.returncode == -signal.SIGTERM
    assert (place.folder / "run" / "last_good.pt").exists()


@pytest.mark.exhaustive
@pytest.mark.parametrize("code", [scripts.TRAINS, scripts.EVALUATES])
def test_a_deadline_saves_and_stops_in_time(place, code):
    began = time.monotonic()
    returned, _ = place.run(code, "--deadline", "40s", "--mirror", "mirror")
    assert returned == 3
    assert time.monotonic() - began < 40
    assert (place.folder / "run" / "last_good.pt").exists()
    assert ("PM328", "info") in place.findings()
    assert len(list(place.folder.glob("mirror/run/last_good.pt/*.pt.manifest.json"))) >= 2
    assert place.faults() == []


@pytest.mark.slow
@pytest.mark.exhaustive
def test_without_a_mirror_no_time_is_given_away_and_the_finding_says_how_to_go_on(place):
    began = time.monotonic()
    returned, _ = place.run(scripts.TRAINS, "--deadline", "25s")
    assert returned == 3
    assert time.monotonic() - began < 25
    findings = json.loads((place.folder / "f.json").read_text())["findings"]
    # A quick machine uses up the schedule as well, and hears of it.
    [found] = [each for each in findings if each["code"] == "PM328"]
    assert found["evidence"]["left"] < 10  # about 5, unless the machine is very busy
    assert "mirror" not in found["cause"]
    path = found["remedy"].partition('premortem.resume("')[2].partition('", model=model')[0]
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
    optimizer = torch.optim.AdamW(model.parameters())
    report = premortem.resume(place.folder / path, model=model, optimizer=optimizer, quiet=True)
    assert report.restored == ["model", "optimizer"]
    assert report.step == found["step"]


def test_a_colab_session_without_a_drive_is_warned_at_the_first_step(place):
    place.run(scripts.SAVES, env={"COLAB_RELEASE_TAG": "release"})
    assert place.findings() == [("PM325", "warning")]
    found = json.loads((place.folder / "f.json").read_text())["findings"][0]
    assert found["step"] == 1


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (["--deadline", "soon"], "`--deadline soon`"),
        (["--deadline", "slurm"], "`--deadline slurm`: SLURM did not start this process"),
        (["--mirror", "nowhere://x"], "nowhere"),
    ],
)
def test_what_cannot_work_is_said_before_the_run(place, option, words):
    code, out = place.run("print('ran')", *option)
    assert (code != 0, out) == (True, "")
    assert words in place.err
