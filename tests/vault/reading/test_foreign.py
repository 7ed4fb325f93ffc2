"""Run folders, spools and checkpoints that came from elsewhere: what they name is not done."""

import json
import os
import pickle
import sys
from pathlib import Path

import pytest
import torch
import torch.distributed.checkpoint as dcp

from premortem.cli import main
from premortem.errors import Refused, VaultError
from premortem.vault import kept_versions as room
from premortem.vault import load_checks, sharded_reading
from premortem.vault.kept_versions import Shelf, slug
from premortem.vault.manifest import Manifest, saved_at
from premortem.vault.mirror import JOB, Mirror
from premortem.vault.mirror_jobs import NotAJob, sound
from premortem.vault.verify import checksum

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.distributed.*", "ignore:TypedStorage")


# --- ckpt restore: where to ------------------------------------------------------------------


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """A version of a checkpoint in the folder of a run; called with what its manifest says."""
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")

    def make(**about):
        path = tmp_path / "run" / "kept" / "last.pt-abc" / "000001.pt"
        path.parent.mkdir(parents=True, exist_ok=True)
        torch.save({"w": torch.ones(3)}, path)
        manifest = Manifest(step=1, time=1.0, kind="kept", files={path.name: checksum(path)}, **about)
        manifest.write(path.with_name(f"{path.name}.manifest.json"))
        return tmp_path / "run"

    return make


def test_ones_own_goes_back_to_where_it_was(kept, tmp_path):
    target = tmp_path / "far" / "away.pt"
    assert main(["ckpt", "restore", str(kept(**saved_at(target)))]) == 0
    assert target.is_file()


@pytest.mark.parametrize(
    "name",
    [
        "{home}/.bashrc",
        "{home}/away.pt",
        "../away.pt",
        "sitecustomize.py",
        "torch",
        ".venv/lib/site-packages/x.pth",
        "env/lib/site-packages/x.pth",
        ".hidden.pt",
        "link/away.pt",
    ],
)
def test_a_stranger_does_not_choose_the_place(kept, tmp_path, capsys, name):
    (Path.cwd() / "link").symlink_to(tmp_path)
    source = name.format(home=tmp_path)
    run = kept(source=source, signature=saved_at(tmp_path / "own.pt")["signature"])
    before = sorted(tmp_path.rglob("*"))
    assert main(["ckpt", "restore", "--force", str(run)]) == 2
    said = capsys.readouterr().err
    assert "it may not be yours" in said
    assert "--to PATH" in said
    assert sorted(tmp_path.rglob("*")) == before
    assert main(["ckpt", "restore", str(run), "--to", "here.pt"]) == 0


def test_a_checkpoint_in_the_current_folder_may_be_a_stranger_s_choice(kept):
    """A new machine has no key of the old one, and goes on in the same folder."""
    assert main(["ckpt", "restore", str(kept(source=str(Path.cwd() / "out" / "last.pt")))]) == 0
    assert (Path.cwd() / "out" / "last.pt").is_file()


def test_a_name_that_means_the_folder_above_is_not_used(kept, tmp_path):
    (Path.cwd() / "into").mkdir()
    assert main(["ckpt", "restore", str(kept(source="..")), "--to", "into"]) == 0
    assert [path.name for path in (Path.cwd() / "into").iterdir()] == ["run"]


# --- the mirror's spool ----------------------------------------------------------------------


@pytest.fixture
def job(tmp_path):
    """A job as `put` writes it, of a run `one` that has ended; changed as a stranger would."""

    def make(**changes):
        folder = tmp_path / "runs" / "one" / "mirror" / "000001-a.pt"
        (folder / "data").mkdir(parents=True)
        (folder / "data" / "0").write_bytes(b"own")
        (folder.parent / ".owner").write_text("000000 1")
        os.utime(folder.parent / ".owner", (0, 0))
        record = {
            "url": str(tmp_path / "there"),
            "name": "one/a.pt/1.pt",
            "single": True,
            "files": {"a.pt": {"held": "0", "bytes": 3}},
            "group": "",
            "about": {"step": 1},
            "put": 1.0,
        }
        (folder / JOB).write_text(json.dumps(record | changes))
        return folder

    return make


def held(name):
    return {"files": {"a.pt": {"held": name, "bytes": 3}}}


HOSTILE = [
    held("../../../../../secret"),
    held("{root}/secret"),
    held("link"),
    held("1"),
    {"name": "../outside.pt"},
    {"name": "/outside.pt"},
    {"name": "one/../../outside.pt"},
    {"single": False, "files": {"../../outside.pt": {"held": "0", "bytes": 3}}},
    {"about": {"kind": "x", "files": {}}},
    {"files": {}},
    {"files": []},
    {"single": True, "files": {"a": {"held": "0", "bytes": 1}, "b": {"held": "0", "bytes": 1}}},
]


@pytest.mark.parametrize("changes", HOSTILE, ids=str)
def test_a_stranger_s_job_sends_nothing_that_is_not_its_own(job, tmp_path, changes):
    (tmp_path / "secret").write_bytes(b"key")
    changes = json.loads(json.dumps(changes).replace("{root}", str(tmp_path)))
    folder = job(**changes)
    (folder / "data" / "1").symlink_to(tmp_path / "secret")
    with pytest.raises(NotAJob):
        sound(folder, json.loads((folder / JOB).read_text()))
    mirror = Mirror(str(tmp_path / "there"), tmp_path / "runs" / "two" / "mirror")
    try:
        assert mirror.adopt(tmp_path / "runs") == 0
    finally:
        mirror.close()
    # The same in the spool of a vault that was copied: it is passed over, and does not hold up what comes after it.
    own = Mirror(str(tmp_path / "there"), folder.parent)
    try:
        (tmp_path / "b.pt").write_bytes(b"next")
        own.put(tmp_path / "b.pt", "one/b.pt")
        assert own.flush(20)
    finally:
        own.close()
    sent = {path.read_bytes() for path in (tmp_path / "there").rglob("*.pt")}
    assert sent == {b"next"}
    assert not (tmp_path / "outside.pt").exists()


def test_another_run_s_name_is_not_taken_over_and_its_own_is(job, tmp_path):
    mirror = Mirror(str(tmp_path / "there"), tmp_path / "runs" / "two" / "mirror")
    try:
        folder = job(name="other/best.pt/1.pt")
        assert mirror.adopt(tmp_path / "runs") == 0
        record = json.loads((folder / JOB).read_text())
        (folder / JOB).write_text(json.dumps(record | {"name": "one/best.pt/1.pt"}))
        assert mirror.adopt(tmp_path / "runs") == 1
        assert mirror.flush(20)
    finally:
        mirror.close()
    assert (tmp_path / "there/one/best.pt/1.pt").read_bytes() == b"own"


# --- versions of earlier runs ----------------------------------------------------------------


@pytest.mark.parametrize("which", ["slug", "kept", "run"])
def test_links_in_the_folder_of_another_run_are_not_followed(tmp_path, monkeypatch, which):
    """An earlier run's versions are rotated; a link among them would have led to the user's own files."""
    monkeypatch.setattr(room, "owner_is_dead", lambda _folder: True)
    path = tmp_path / "best.pt"
    precious = tmp_path / "precious"
    inner = {"slug": precious, "kept": precious / slug(path), "run": precious / "kept" / slug(path)}[which]
    inner.mkdir(parents=True)
    for name in ("1", "2", "3"):
        (inner / name).write_text(name)
    link = tmp_path / "runs" / "stranger"
    link = {"slug": link / "kept" / slug(path), "kept": link / "kept", "run": link}[which]
    link.parent.mkdir(parents=True)
    link.symlink_to(precious)
    shelf = Shelf(tmp_path / "runs" / "mine")
    for step in range(5):
        path.write_bytes(b"%d" % step)
        shelf.keep(path, copy=True)
        shelf.published(path, step)
    shelf.clerk.wait(5)
    assert sorted(each.name for each in inner.iterdir()) == ["1", "2", "3"]
    assert load_checks.newest_whole(tmp_path / "runs", tmp_path / "none.pt") is None


# --- checkpoints of torch.distributed --------------------------------------------------------


class Bomb:
    def __reduce__(self):
        return (sys.exit, ("a pickle was executed",))


@pytest.fixture
def sharded(tmp_path):
    dcp.save({"w": torch.ones(3), "step": 7, "lr": 0.5}, checkpoint_id=tmp_path / "ck", no_dist=True)
    return tmp_path / "ck"


def test_a_sharded_checkpoint_is_read(sharded):
    state = {"w": torch.zeros(3), "step": 0, "lr": 0.0}
    sharded_reading.load(sharded, state, alone=True)
    assert (state["w"].tolist(), state["step"], state["lr"]) == ([1.0, 1.0, 1.0], 7, 0.5)


def test_a_program_in_the_place_of_its_metadata_is_not_run(sharded):
    (sharded / ".metadata").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(Refused, match=r"names `sys\.exit`"):
        sharded_reading.load(sharded, {"w": torch.zeros(3)}, alone=True)
    (sharded / ".metadata").write_bytes(b"nonsense")
    with pytest.raises(VaultError, match="cannot be read"):
        sharded_reading.load(sharded, {"w": torch.zeros(3)}, alone=True)


def test_a_program_in_the_place_of_a_value_is_not_run(tmp_path):
    dcp.save({"w": torch.ones(3), "step": Bomb()}, checkpoint_id=tmp_path / "ck", no_dist=True)
    state = {"w": torch.zeros(3), "step": 0}
    with pytest.raises(Refused, match="more than plain data"):
        sharded_reading.load(tmp_path / "ck", state, alone=True)
    assert state["step"] == 0
