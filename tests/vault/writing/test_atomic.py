"""Files that are there whole or not at all: real files, real kills, a real full disk where one can be had."""

import errno
import hashlib
import os
import signal
import stat
import subprocess
import sys
import time

import pytest

from premortem.errors import VaultError
from premortem.vault import atomic
from tests import starting


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_what_is_written_is_what_is_told(tmp_path):
    written = atomic.write_whole(tmp_path / "a.bin", lambda file: file.write(b"abc"))
    assert (tmp_path / "a.bin").read_bytes() == b"abc"
    assert written == atomic.Written(hashlib.sha256(b"abc").hexdigest(), 3)
    assert names(tmp_path) == ["a.bin"]


def test_a_writer_that_goes_back_is_told_by_its_final_bytes(tmp_path):
    def write(file):
        file.write(b"....tail")
        file.seek(0)
        file.write(b"head")
        file.seek(0, os.SEEK_END)

    written = atomic.write_whole(tmp_path / "a.bin", write)
    assert written == atomic.Written(hashlib.sha256(b"headtail").hexdigest(), 8)


def test_a_writer_that_fails_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")

    def write(file):
        file.write(b"half of the new")
        raise ValueError("pickling failed")

    with pytest.raises(ValueError, match="pickling failed"):
        atomic.write_whole(path, write)
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a.bin"]


def test_a_full_disk_is_one_sentence_and_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")

    def write(file):
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(
        VaultError, match=r"a\.bin was not written: there is no room left on the disk; what was there"
    ):
        atomic.write_whole(path, write)
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a.bin"]


def test_a_link_stays_a_link_and_a_mode_stays_a_mode(tmp_path):
    real = tmp_path / "real.bin"
    real.write_bytes(b"old")
    real.chmod(0o640)
    link = tmp_path / "latest.bin"
    link.symlink_to(real)
    atomic.write_whole(link, lambda file: file.write(b"new"))
    assert link.is_symlink()
    assert real.read_bytes() == b"new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_a_folder_takes_the_place_of_another(tmp_path):
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "data").write_text(name)
    before = atomic.publish_folder(tmp_path / "new", tmp_path / "old")
    assert (tmp_path / "old" / "data").read_text() == "new"
    assert (before / "data").read_text() == "old"


def test_a_folder_takes_its_place_without_an_atomic_exchange_too(tmp_path, monkeypatch):
    monkeypatch.setattr(atomic, "_exchange", lambda a, b: False)
    test_a_folder_takes_the_place_of_another(tmp_path)
    assert names(tmp_path) == ["new", "old"]


WRITER = """
import sys
from pathlib import Path
from premortem.vault.atomic import write_whole

path = Path(sys.argv[1])
n = 0
print("ready", flush=True)
while True:
    n += 1
    block = bytes([n % 256]) * (1 << 16)
    write_whole(path, lambda file: [file.write(block) for _ in range(64)])
"""


def test_a_process_that_is_killed_leaves_a_whole_file_and_its_draft_is_swept(tmp_path):
    path = tmp_path / "a.bin"
    torn = 0
    for attempt in range(12):
        with starting.Popen(
            [sys.executable, "-c", WRITER, path], stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout.readline() == "ready\n"
            time.sleep(0.02 + 0.013 * attempt)
            process.send_signal(signal.SIGKILL)
        if path.exists():
            content = path.read_bytes()
            torn += len(content) != 64 << 16 or len(set(content)) != 1
    assert torn == 0
    atomic.sweep(tmp_path)
    assert names(tmp_path) == ["a.bin"]


def test_a_draft_of_a_living_process_is_not_swept(tmp_path):
    with atomic.drafted(tmp_path / "a.bin") as draft:
        draft.write_bytes(b"x")
        assert atomic.sweep(tmp_path) == 0
        assert draft.exists()
    assert names(tmp_path) == ["a.bin"]
