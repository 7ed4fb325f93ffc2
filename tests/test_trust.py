"""The key by which this user's own files are recognised: private, made once, and not used when others may know it."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from premortem.files import trust

MAKE = (
    "import sys\nfrom premortem.files import trust\nsys.stdin.readline()\nprint(trust.sign('test', b'one'))"
)


@pytest.fixture
def state(tmp_path, monkeypatch):
    folder = tmp_path / "state"
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    monkeypatch.delenv(trust.WRITTEN, raising=False)
    return folder


def test_what_was_signed_here_is_recognised_and_nothing_else(state):
    signature = trust.sign("capsule", b"one")
    assert trust.doubt("capsule", b"one", signature) == ""
    assert "changed" in trust.doubt("capsule", b"two", signature)
    assert "changed" in trust.doubt("source", b"one", signature), (
        "a signature for one purpose is none for another"
    )
    assert "not signed" in trust.doubt("capsule", b"one", "")
    (state / "premortem" / "key").unlink()
    assert "no key" in trust.doubt("capsule", b"one", signature)
    trust.sign("capsule", b"one")
    assert "another key" in trust.doubt("capsule", b"one", signature)
    assert "another key" in trust.doubt("capsule", b"one", "\x00nonsense")


def test_the_key_is_private_and_checking_makes_none(state):
    assert trust.doubt("capsule", b"one", "x")
    assert not state.exists()
    before = os.umask(0)
    try:
        trust.sign("capsule", b"one")
    finally:
        os.umask(before)
    assert [path.name for path in (state / "premortem").iterdir()] == ["key"]
    assert stat.S_IMODE((state / "premortem").stat().st_mode) == 0o700
    assert stat.S_IMODE((state / "premortem" / "key").stat().st_mode) == 0o600
    assert len((state / "premortem" / "key").read_bytes()) == trust.SIZE


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda key: key.chmod(0o640), "others may read or write"),
        (lambda key: key.chmod(0o602), "others may read or write"),
        (lambda key: key.parent.chmod(0o777), "others may write to"),
        (lambda key: key.write_bytes(b"short"), "not a key of 32 bytes"),
        (lambda key: key.write_bytes(b"x" * 33), "not a key of 32 bytes"),
        (lambda key: (key.rename(key.with_name("other")), key.symlink_to("other")), "it is a link"),
        (lambda key: (key.unlink(), key.mkdir()), "not a plain file"),
        (lambda key: (key.unlink(), os.mkfifo(key, 0o600)), "not a plain file"),
    ],
)
def test_a_key_that_others_may_know_or_have_exchanged_is_not_used(state, monkeypatch, spoil, sentence):
    monkeypatch.setattr(trust, "_TRIES", 2)
    signature = trust.sign("capsule", b"one")
    spoil(state / "premortem" / "key")
    assert trust.sign("capsule", b"one") == ""
    assert sentence in trust.doubt("capsule", b"one", signature)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can give a file away")
def test_a_key_of_another_user_is_not_used(state):
    signature = trust.sign("capsule", b"one")
    os.chown(state / "premortem" / "key", 12345, -1)
    assert "belongs to another user (number 12345)" in trust.doubt("capsule", b"one", signature)
    assert trust.sign("capsule", b"one") == ""


def test_where_no_key_can_be_kept_only_a_process_that_was_started_for_it_recognises_a_file(
    state, monkeypatch
):
    state.write_text("a file where the folder should be")
    assert trust.sign("capsule", b"one") == ""
    assert "your key cannot be used to check it" in trust.doubt("capsule", b"one", "")
    assert "Not a directory" in trust.doubt("capsule", b"one", "")
    monkeypatch.setenv(trust.WRITTEN, trust.handed_on()[trust.WRITTEN])
    assert trust.doubt("capsule", b"one", "") == ""
    assert trust.doubt("capsule", b"two", "")


def test_many_processes_that_need_the_first_key_together_make_one(state):
    environment = {**os.environ, "PYTHONPATH": str(Path(trust.__file__).parents[1])}
    started = [
        subprocess.Popen(
            [sys.executable, "-c", MAKE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for _ in range(8)
    ]
    for process in started:  # all of them stand before the line that makes it
        process.stdin.write("go\n")
        process.stdin.flush()
    signatures = {process.communicate(timeout=60)[0].strip() for process in started}
    assert len(signatures) == 1
    assert trust.doubt("test", b"one", signatures.pop()) == ""
    assert [path.name for path in (state / "premortem").iterdir()] == ["key"]


def test_a_file_system_without_links_keeps_a_key_too(state, monkeypatch):
    def none(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", none)
    assert trust.doubt("test", b"one", trust.sign("test", b"one")) == ""
    assert [path.name for path in (state / "premortem").iterdir()] == ["key"]


def test_the_folder_follows_the_conventions(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", "relative/is/ignored")
    monkeypatch.setattr(sys, "platform", "linux")
    assert trust.key_file() == tmp_path / ".local/state/premortem/key"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert trust.key_file() == tmp_path / "Library/Application Support/premortem/key"


def test_a_command_cannot_hide_a_part_of_itself():
    assert trust.shown(["python", "a b.py", "--x=1"]) == "python 'a b.py' --x=1"
    hidden = trust.shown(["x\x1b[2K\rls", "\u202egnp", "a\nb"])
    assert hidden.isprintable()
    assert "\\x1b[2K\\rls" in hidden
