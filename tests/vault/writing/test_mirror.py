"""A mirror that fails, stalls, truncates or is killed: nothing counts before it was read back, nothing is lost."""

import sys
import time
from types import SimpleNamespace

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from premortem.errors import UsageError, VaultError
from premortem.vault.manifest import Manifest
from premortem.vault.mirror import Mirror
from premortem.vault.remote import Remote
from tests import starting


class Flaky(MemoryFileSystem):
    """In memory; does what `plan` says, one word for each upload."""

    protocol = "flaky"
    store: dict = {}  # noqa: RUF012 - fsspec's own way: one store for all instances
    pseudo_dirs = [""]  # noqa: RUF012
    plan: list = []  # noqa: RUF012
    log: list = []  # noqa: RUF012

    def put_file(self, lpath, rpath, **options):
        word = self.plan.pop(0) if self.plan else "good"
        self.log.append((word, rpath))
        if word == "fail":
            raise ConnectionResetError("the other side hung up")
        if word == "stall":
            time.sleep(3)
        super().put_file(lpath, rpath, **options)
        if word == "truncate":
            path = self._strip_protocol(rpath)
            self.store[path].truncate(self.store[path].size // 2)


@pytest.fixture
def flaky():
    fsspec.register_implementation("flaky", Flaky, clobber=True)
    Flaky.store.clear()
    Flaky.plan, Flaky.log = [], []
    return Flaky


@pytest.fixture
def mirrors():
    made = []

    def make(*args, **options):
        made.append(Mirror(*args, **options))
        return made[-1]

    yield make
    for mirror in made:
        mirror.close()


def test_a_folder_gets_the_data_and_then_the_manifest(tmp_path, mirrors):
    mirror = mirrors(str(tmp_path / "elsewhere"), tmp_path / "spool")
    (tmp_path / "best.pt").write_bytes(b"weights")
    mirror.put(tmp_path / "best.pt", "run/best.pt/1.pt", about={"step": 1})
    assert mirror.flush(10)
    assert (tmp_path / "elsewhere/run/best.pt/1.pt").read_bytes() == b"weights"
    manifest = Manifest.read(tmp_path / "elsewhere/run/best.pt/1.pt.manifest.json")
    assert manifest.step == 1
    assert manifest.files["1.pt"].bytes == 7
    assert [path.name for path in (tmp_path / "spool").iterdir() if path.name[0].isdigit()] == []


def test_what_was_saved_is_mirrored_though_the_script_has_overwritten_it(tmp_path, mirrors, flaky):
    flaky.plan = ["fail"]
    mirror = mirrors("flaky://m", tmp_path / "spool")
    path = tmp_path / "best.pt"
    path.write_bytes(b"first")
    mirror.put(path, "1.pt")
    (tmp_path / "new").write_bytes(b"second")
    (tmp_path / "new").replace(path)
    assert mirror.flush(20)
    assert mirror.remote.read("1.pt", 1000) == b"first"


@pytest.mark.parametrize("trouble", ["fail", "truncate", "stall"])
def test_an_upload_that_goes_wrong_is_made_again_until_it_verifies(tmp_path, mirrors, flaky, trouble):
    flaky.plan = [trouble, trouble]
    mirror = mirrors("flaky://m", tmp_path / "spool", patience=0.5)
    (tmp_path / "a.pt").write_bytes(b"0123456789")
    mirror.put(tmp_path / "a.pt", "a.pt")
    assert mirror.flush(30)
    assert mirror.remote.read("a.pt", 1000) == b"0123456789"
    assert len(flaky.log) >= 2
    assert mirror.status().failures == 0


def test_nothing_is_rotated_before_the_new_one_was_read_back(tmp_path, mirrors, flaky):
    mirror = mirrors("flaky://m", tmp_path / "spool", keep=1)
    (tmp_path / "a.pt").write_bytes(b"one")
    mirror.put(tmp_path / "a.pt", "1.pt", group="a.pt")
    assert mirror.flush(10)
    flaky.plan = ["truncate"] * 2 + ["fail"] * 50
    (tmp_path / "b.pt").write_bytes(b"the second")
    mirror.put(tmp_path / "b.pt", "2.pt", group="a.pt")
    assert not mirror.flush(1.5)
    assert mirror.remote.read("1.pt", 1000) == b"one"
    status = mirror.status()
    assert status.pending == 1
    assert status.problem
    flaky.plan = []
    assert mirror.flush(30)
    assert mirror.remote.read("2.pt", 1000) == b"the second"
    mirror.close()
    with pytest.raises(FileNotFoundError):
        mirror.remote.read("1.pt", 1000)


def test_a_mirror_that_fails_for_hours_does_not_fill_the_disk(tmp_path, mirrors, flaky):
    flaky.plan = ["fail"] * 1000
    mirror = mirrors("flaky://m", tmp_path / "spool", keep=2)
    for number in range(8):
        (tmp_path / "a.pt").write_bytes(b"%d" % number)
        mirror.put(tmp_path / "a.pt", f"{number}.pt", group="a.pt", copy=True)
    assert mirror.status().pending <= 3
    flaky.plan = []
    assert mirror.flush(30)
    assert mirror.remote.read("7.pt", 1000) == b"7"


def test_a_folder_with_a_manifest_has_it_last(tmp_path, mirrors, flaky):
    folder = tmp_path / "step-1"
    (folder / "parts").mkdir(parents=True)
    for name in ("manifest.json", "model.safetensors", "parts/z.bin"):
        (folder / name).write_text(name)
    mirror = mirrors("flaky://m", tmp_path / "spool")
    mirror.put(folder, "run/step-1")
    assert mirror.flush(10)
    assert [path.rpartition("m/run/step-1/")[2] for _, path in flaky.log] == [
        "model.safetensors",
        "parts/z.bin",
        "manifest.json",
    ]


KILLED = """
import os, signal, sys
from pathlib import Path
from premortem.vault.manifest import Manifest
from premortem.vault.mirror import Mirror

here = Path(sys.argv[1])
mirror = Mirror(str(here / "elsewhere"), here / "spool")
mirror.remote.put = lambda *_: __import__("time").sleep(60)
for n in range(3):
    (here / "a.pt").write_bytes(b"%d" % n)
    mirror.put(here / "a.pt", f"{n}.pt")
    (here / "a.pt").unlink()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_left_is_mirrored_by_the_next(tmp_path, mirrors):
    starting.run([sys.executable, "-c", KILLED, tmp_path])
    mirror = mirrors(str(tmp_path / "elsewhere"), tmp_path / "spool")
    assert mirror.flush(20)
    assert [(tmp_path / f"elsewhere/{n}.pt").read_bytes() for n in range(3)] == [b"0", b"1", b"2"]


def test_what_an_ended_run_could_not_send_is_sent_by_the_next_one_beside_it(tmp_path, mirrors):
    runs = tmp_path / "runs"
    (runs / "one").mkdir(parents=True)
    killed = KILLED.replace('"spool"', '"mirror"').replace('f"{n}.pt"', 'f"one/{n}.pt"')
    starting.run([sys.executable, "-c", killed, runs / "one"])
    mirror = mirrors(str(runs / "one" / "elsewhere"), runs / "two" / "mirror")
    assert mirror.adopt(runs) == 3
    assert mirror.flush(20)
    assert [(runs / f"one/elsewhere/one/{n}.pt").read_bytes() for n in range(3)] == [b"0", b"1", b"2"]
    other = mirrors(str(tmp_path / "another"), runs / "three" / "mirror")
    assert other.adopt(runs) == 0


def test_what_can_never_work_is_told_at_once(tmp_path):
    with pytest.raises((UsageError, VaultError), match="nowhere"):
        Mirror("nowhere://x", tmp_path / "spool")
    with pytest.raises(VaultError, match="nothing at"):
        Mirror(str(tmp_path / "m"), tmp_path / "spool").put(tmp_path / "absent.pt", "a.pt")


def test_a_password_is_not_shown():
    assert Remote("ssh://me:secret@host/x").shown == "ssh://me:[hidden]@host/x"
    assert Remote("/data/x").shown == "/data/x"


class Leaky(MemoryFileSystem):
    """Says the whole address, as libraries do."""

    protocol = "leaky"

    def __init__(self, *args, host="", **options):
        super().__init__(*args, **options)

    def size(self, path):
        raise ConnectionError("cannot log in to leaky://jane:pa55-w0rd@host/x as jane with pa55-w0rd")


def test_the_password_does_not_get_out_by_the_error_of_a_library(tmp_path, mirrors):
    fsspec.register_implementation("leaky", Leaky, clobber=True)
    (tmp_path / "a.pt").write_bytes(b"0")
    mirror = mirrors("leaky://jane:pa55-w0rd@host/x", tmp_path / "spool")
    mirror.put(tmp_path / "a.pt", "a.pt")
    assert not mirror.flush(1.0)
    assert mirror.status().problem == "cannot log in to leaky://jane:[hidden]@host/x as jane with [hidden]"
    assert not mirror.remote.answered
    written = [path.read_bytes() for path in (tmp_path / "spool").rglob("*") if path.is_file()]
    assert not [content for content in written if b"pa55" in content]


@pytest.mark.parametrize(("answered", "failures"), [(False, 0), (False, 9), (True, 0)])
def test_a_mirror_that_never_answered_is_not_waited_for(monkeypatch, answered, failures):
    from premortem.actions import checkpoint_safety

    monkeypatch.setattr(checkpoint_safety, "_NO_ANSWER", 0.1)
    remote = SimpleNamespace(answered=answered, shown="s3://x")
    safe = object.__new__(checkpoint_safety.Safekeeping)
    safe.mirror = SimpleNamespace(remote=remote, failures=failures, flush=lambda _seconds: time.sleep(0.02))
    safe._impatient, safe._say = False, lambda _sentence: None
    began = time.monotonic()
    assert not safe.flush(2.0 if answered else 900.0)
    took = time.monotonic() - began
    assert took >= 2.0 if answered else took < 60.0


def test_a_kill_while_a_finished_job_is_removed_does_not_hold_up_the_rest(tmp_path, monkeypatch):
    """What is left of it has data and no paper, or nothing at all; never paper without data."""
    target, spool = tmp_path / "there", tmp_path / "spool"
    file = tmp_path / "a.pt"
    file.write_bytes(b"one")
    removed = []
    monkeypatch.setattr("premortem.vault.mirror.shutil.rmtree", lambda path, **_: removed.append(path))
    mirror = Mirror(str(target), spool)
    mirror.put(file, "a.pt/1.pt")
    assert mirror.flush(20.0)
    mirror.close()
    monkeypatch.undo()
    [left] = [path for path in removed if path.name.startswith("000001")]
    assert left.is_dir()
    assert not (left / "job.json").exists()
    again = Mirror(str(target), spool)
    file.write_bytes(b"two")
    again.put(file, "a.pt/2.pt")
    assert again.flush(20.0)
    again.close()
    assert (target / "a.pt" / "2.pt").read_bytes() == b"two"
    assert not left.exists()
