"""`premortem run` and scripts that load: one flipped bit is told, and a healthy file changes nothing."""

import json
import os
import time
from pathlib import Path

import pytest

from tests.vault.loading import scripts
from tests.vault.writing.test_run import Place


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


def damage(path, at=None):
    """Turn one bit over, as a disk does: the time of the file stays."""
    content = bytearray(path.read_bytes())
    at = len(content) // 2 if at is None else at
    content[at] ^= 4
    status = path.stat()
    path.write_bytes(bytes(content))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def told(place):
    found = json.loads((place.folder / "f.json").read_text())["findings"]
    return [each for each in found if each["code"] == "PM343"]


def data_of(path, name):
    """Where the bytes of a record lie."""
    from premortem.vault.zips import Archive

    with path.open("rb") as file:
        return Archive(file, path.stat().st_size).entries[name].start


def test_a_damaged_file_is_told_at_the_line_that_loaded_it_and_the_remedy_works(place):
    place.run(scripts.SAVES)
    file = place.folder / "last.pt"
    damage(file, at=data_of(file, "data/0") + 5)
    code, out = place.run(scripts.RESUMES, "--folder", "run2")
    assert (code, out) == (0, "done 4\n")  # what was loaded, and how it goes on, is the script's own
    [found] = told(place)
    assert (found["severity"], found["family"]) == ("error", "checkpoint")
    assert found["where"]["file"].endswith("train.py")
    assert (
        (place.folder / "train.py").read_text().splitlines()[found["where"]["line"] - 1].startswith("state =")
    )
    assert "`data/0`" in found["message"]
    assert place.faults() == []
    command = found["remedy"].partition("`premortem ")[2].partition("`")[0]
    assert command.endswith("--force")
    done = place.command(*command.split())
    assert "step 10" in done
    before = (place.folder / "f.json").read_text()
    assert place.run(scripts.RESUMES, "--folder", "run3") == (0, "done 3\n")
    assert told(place) == [], before


@pytest.mark.parametrize("policy", ["protect", pytest.param("observe", marks=pytest.mark.exhaustive)])
def test_every_way_to_read_a_file(place, policy):
    place.run(scripts.SAVES, plain=True)
    whole = (place.folder / "last.pt").read_bytes()
    for way in scripts.WAYS:
        (place.folder / f"{way}.pt").write_bytes(whole)
    code, out = place.run(scripts.LOADS, "--policy", policy)
    assert (code, out.split()) == (0, ["2"] * len(scripts.WAYS)), place.err
    assert told(place) == []
    for way in scripts.WAYS:
        file = place.folder / f"{way}.pt"
        damage(file, at=data_of(file, "data/1"))
    assert place.run(scripts.LOADS, "--policy", policy, "--folder", "run2") == (0, out)
    assert {Path(each["evidence"]["path"]).name for each in told(place)} == {
        f"{way}.pt" for way in scripts.WAYS
    }
    assert all("`data/1`" in each["message"] for each in told(place))
    assert place.faults() == []


@pytest.mark.exhaustive
def test_a_torn_file_that_the_script_passes_over_is_told(place):
    place.run(scripts.SAVES)
    file = place.folder / "last.pt"
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])
    assert place.run(scripts.GIVES_UP, "--folder", "run2")[0] == 0
    assert told(place) == []  # written a moment ago: somebody may be at it
    os.utime(file, (time.time() - 3600,) * 2)
    assert place.run(scripts.GIVES_UP, "--folder", "run3")[0] == 0
    [found] = told(place)
    assert "does not load" in found["message"]
    assert "step 10" in found["remedy"]


@pytest.mark.exhaustive
def test_what_nobody_can_judge_loads_as_ever_and_nothing_is_said(place):
    place.run(scripts.SAVES, plain=True)
    alone = place.run(scripts.UNTOLD, plain=True)
    assert alone[0] == 0, place.err
    assert place.run(scripts.UNTOLD) == alone
    assert told(place) == []
    assert place.faults() == []


@pytest.mark.exhaustive
def test_files_without_checksums_are_known_by_their_prints(place):
    assert place.run(scripts.BARE)[0] == 0
    names = ("a.safetensors", "old.pt", "bare.pt", "d/.metadata", "d/__0_0.distcp")
    whole = {name: (place.folder / name).read_bytes() for name in names}
    assert place.run(scripts.LOADS_BARE, "--folder", "run2")[0] == 0, place.err
    assert told(place) == []
    for number, name in enumerate(names):
        file = place.folder / name
        damage(file)
        place.run(scripts.LOADS_BARE, "--folder", f"run{number + 3}")
        [found] = told(place)
        assert found["evidence"]["path"] == name.partition("/")[0]
        damage(file)
        assert file.read_bytes() == whole[name]


@pytest.mark.exhaustive
def test_a_file_that_somebody_wrote_anew_is_not_judged_by_its_old_print(place):
    assert place.run(scripts.BARE)[0] == 0
    file = place.folder / "a.safetensors"
    damage(file)
    os.utime(file)
    assert place.run(scripts.LOADS_BARE, "--folder", "run2")[0] == 0
    assert told(place) == []


@pytest.mark.exhaustive
def test_what_lightning_and_hugging_face_save_is_kept_and_checked_when_it_is_loaded(place):
    """By stand-ins that write and read as those libraries do: they are too large to be installed for this."""
    package = place.folder / "lightning" / "fabric" / "utilities"
    package.mkdir(parents=True)
    (package / "cloud_io.py").write_text(scripts.LIGHTNING)
    assert place.run(scripts.TRAINERS)[0] == 0, place.err
    kept = {path.parent.name.rpartition("-")[0] for path in place.folder.glob("run/kept/*/*")}
    assert kept == {"last.ckpt"}  # the only path that is written twice
    assert place.run(scripts.TRAINERS_RESUME, "--folder", "run2") == (0, "1\n"), place.err
    assert told(place) == []
    names = ("last.ckpt", "checkpoint-1/model.safetensors", "checkpoint-1/optimizer.pt")
    for name in names:
        file = place.folder / name
        damage(file, at=None if file.suffix == ".safetensors" else data_of(file, "data/0"))
    place.run(scripts.TRAINERS_RESUME, "--folder", "run3")
    paths = [each["evidence"]["path"] for each in told(place)]
    assert all(any(path.endswith(name) for path in paths) for name in names), paths
    assert place.faults() == []
