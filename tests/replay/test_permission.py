"""Whose capsule is it? The command of one's own is started, that of a stranger's is shown."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from premortem.errors import UsageError
from premortem.replay.capsule import Capsule, CapsuleError, read
from premortem.replay.permission import check
from premortem.replay.rank_capsules import siblings


@pytest.fixture
def copy(watched, tmp_path):
    """One's own capsule, in another place."""
    shutil.copytree(watched.capsules[0], tmp_path / "step-4")
    return tmp_path / "step-4"


def edited(capsule, **changes):
    path = capsule / "capsule.json"
    manifest = json.loads(path.read_text())
    manifest["started"] |= changes
    path.write_text(json.dumps(manifest))


def refused(watched, capsule, *words):
    """The replay is refused, with exit code 2 and without a trace of the capsule's command."""
    done = watched.premortem("replay", *words, capsule)
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.rstrip().endswith("add --trust")
    assert "Traceback" not in done.stderr
    return done.stderr


# --- one's own -------------------------------------------------------------------------------


def test_a_capsule_that_was_kept_outside_of_the_working_folder_is_ones_own(scene, tmp_path_factory):
    place, elsewhere = scene("trainer_class.py"), tmp_path_factory.mktemp("elsewhere")
    place.watch("--epochs", "1", options=["--folder", str(elsewhere / "run")])
    done = place.premortem("replay", "--quick", elsewhere / "run")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Reproduced" in done.stdout


def test_ones_own_may_be_moved_and_is_not_asked_about(copy):
    paper = read(copy)
    assert paper.doubt == ""
    check([paper], None)
    check([paper], Path("/another/folder"))


def test_without_a_key_the_autopsy_is_made_and_a_replay_says_why_it_asks(scene, tmp_path_factory):
    nowhere = tmp_path_factory.mktemp("home") / "file"
    nowhere.write_text("")
    place = scene("trainer_class.py")  # whose failure the run does not explain by itself
    done = place.watch("--epochs", "1", XDG_STATE_HOME=str(nowhere), PREMORTEM_AUTOPSY="1")
    assert done.returncode == 0, done.stderr
    assert True in [finding["evidence"].get("replayed") for finding in place.findings]
    assert sorted(path.name for path in place.capsules[0].iterdir()) == [
        "capsule.json",
        "state.safetensors",
        "step.safetensors",
    ]
    done = place.premortem("replay", place.capsules[0], XDG_STATE_HOME=str(nowhere))
    assert done.returncode == 2
    assert "Not a directory" in done.stderr


# --- a stranger's ----------------------------------------------------------------------------


@pytest.mark.parametrize("trusted", [False, True])
@pytest.mark.parametrize("cwd", ["/", "own"])
def test_the_command_of_a_stranger_is_shown_and_only_run_when_asked(watched, copy, cwd, trusted):
    marker = copy.parent / "marker"
    (copy / "script.py").write_text(f"open({str(marker)!r}, 'w')")
    argv = ["-m", "timeit", "-n1", "-r1", f"open({str(marker)!r}, 'w')"] if cwd == "/" else ["script.py"]
    edited(copy, argv=argv, cwd="/" if cwd == "/" else str(copy), environment={"OMP_NUM_THREADS": "1"})
    if trusted:
        # What it then does, it does in a sandbox: this is not the protection, but it shows that the command is run.
        done = watched.premortem("replay", "--trust", "--show-output", copy)
        assert done.returncode == 1
        assert "the script ended before it imported torch" in done.stdout
        return
    said = refused(watched, copy)
    assert not marker.exists()
    assert "`python -m timeit -n1 -r1 " in said if cwd == "/" else f"`python script.py` in {copy}" in said
    assert "with OMP_NUM_THREADS=1" in said
    assert "it was changed" in said  # the signature that was copied along is of another capsule.json


def test_a_stranger_s_folder_is_not_even_looked_at(watched, copy):
    """No folder of theirs is opened, mounted or asked for before the user has agreed."""
    (copy / "signature").unlink()
    edited(copy, cwd="/there/is/no/such/folder")
    assert "not signed with your key" in refused(watched, copy)


def test_a_key_of_another_machine_is_no_key_of_ours(watched, copy, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another"))
    assert "no key of yours" in read(copy).doubt
    whole = Capsule.load(copy)
    whole.save(copy.with_name("step-9"))
    assert read(copy.with_name("step-9")).doubt == ""
    assert "another key" in read(copy).doubt
    monkeypatch.undo()
    assert "another key" in read(copy.with_name("step-9")).doubt


def test_escape_sequences_do_not_reach_the_terminal(watched, copy):
    edited(copy, argv=["evil.py", "\x1b[2K\rtrain.py", "a\nb"], cwd="/\x1b]0;x\x07")
    said = refused(watched, copy)
    assert said.rstrip("\n").isprintable()
    assert "evil.py" in said


# --- changed, exchanged ----------------------------------------------------------------------


def swapped(capsule):
    other = capsule.with_name("step-9")
    Capsule.load(capsule).save(other)
    return other


@pytest.mark.parametrize(
    "change",
    [
        lambda c: edited(c, argv=["other.py"]),
        lambda c: edited(c, cwd="/tmp"),
        lambda c: edited(c, environment={}),
        lambda c: (c / "capsule.json").write_bytes((c / "capsule.json").read_bytes() + b" "),
        lambda c: (c / "signature").write_text("0" * 8 + ":" + "0" * 64),
        lambda c: (c / "signature").write_text(""),
        lambda c: (c / "signature").unlink(),
        lambda c: (edited(swapped(c), number=7), shutil.copy(c.with_name("step-9") / "capsule.json", c)),
    ],
)
def test_whatever_of_the_description_is_changed_breaks_the_signature(copy, change):
    change(copy)
    assert read(copy).doubt
    with pytest.raises(UsageError, match="add --trust"):
        check(siblings(copy), None)


@pytest.mark.parametrize("name", ["state.safetensors", "step.safetensors"])
def test_a_file_in_the_place_of_a_part_is_not_loaded(watched, copy, name):
    part, other = copy / name, copy.parent / "other"
    whole = part.read_bytes()
    part.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    done = watched.premortem("replay", copy)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"`{name}` of the capsule {copy} is not the file that was written" in done.stderr
    with pytest.raises(CapsuleError, match="is not the file that was written"):
        Capsule.load(copy)
    # A link may lead to the right bytes now and to others later.
    other.write_bytes(whole)
    part.unlink()
    part.symlink_to(other)
    with pytest.raises(CapsuleError, match="it is a link"):
        Capsule.load(copy)
    part.unlink()
    os.mkfifo(part)
    with pytest.raises(CapsuleError, match="not a plain file"):
        Capsule.load(copy)


@pytest.mark.parametrize("name", ["capsule.json", "signature"])
def test_a_link_in_the_place_of_the_description_is_refused(copy, name):
    (copy / name).rename(copy.parent / "other")
    (copy / name).symlink_to(copy.parent / "other")
    with pytest.raises(CapsuleError, match="it is a link"):
        read(copy)


def test_what_was_checked_is_what_is_used(copy):
    """Between the check and the script's process another capsule of the same user takes its place."""
    paper, other = read(copy), swapped(copy)
    edited(other, argv=["other.py"])
    shutil.copy(other / "capsule.json", copy)
    with pytest.raises(CapsuleError, match="exchanged"):
        Capsule.load(copy, paper.digest)
    assert Capsule.load(copy).manifest["started"]["argv"] == ["other.py"]


# --- the folder of the run -------------------------------------------------------------------


def moved_run(copy, monkeypatch, folder):
    """The same capsule, signed as one of a run in `folder`."""
    whole = Capsule.load(copy)
    whole.manifest["started"] |= {"cwd": str(folder), "owner": folder.stat().st_uid}
    whole.save(copy.with_name("step-8"))
    return read(copy.with_name("step-8"))


def test_a_folder_that_became_a_link_is_asked_about(copy, monkeypatch, tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    paper = moved_run(copy, monkeypatch, folder)
    check([paper], None)
    folder.rename(tmp_path / "moved")
    check([paper], None)  # it is gone: there is nothing to start
    folder.symlink_to(tmp_path / "moved")
    with pytest.raises(UsageError, match="its folder has become a link to"):
        check([paper], None)
    check([paper], folder)  # the user has named it


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_that_got_another_owner_is_asked_about(copy, monkeypatch, tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    os.chown(folder, 12345, -1)
    check([moved_run(copy, monkeypatch, folder)], None)  # it was theirs when the run was made
    paper = read(copy.with_name("step-8"))
    os.chown(folder, 54321, -1)
    with pytest.raises(UsageError, match="belongs to another user now"):
        check([paper], None)


# --- several ranks ---------------------------------------------------------------------------


@pytest.fixture
def ranks(copy):
    """A step of two ranks, made of one: what matters here is who wrote which."""
    whole = Capsule.load(copy)
    for rank in (0, 1):
        whole.manifest["ranks"] = {"rank": rank, "ranks": 2, "told": True}
        whole.save(copy.parent / "run" / f"rank-{rank}" / "capsules" / "step-4")
    return copy.parent / "run"


def test_one_stranger_among_the_ranks_is_enough(watched, ranks):
    check(siblings(ranks / "rank-0" / "capsules" / "step-4"), None)
    edited(ranks / "rank-1" / "capsules" / "step-4", argv=["trainer_class.py", "--evil"])
    said = refused(watched, ranks)
    assert "rank-1" in said
    assert "`python trainer_class.py --evil`" in said


@pytest.mark.parametrize(
    "nonsense", [7, {"rank": 0, "ranks": 10**9, "told": True}, {"rank": 3, "ranks": 2}, {"ranks": "x"}]
)
def test_a_number_of_ranks_that_cannot_be(ranks, nonsense):
    capsule = ranks / "rank-0" / "capsules" / "step-4"
    manifest = json.loads((capsule / "capsule.json").read_text())
    (capsule / "capsule.json").write_text(json.dumps({**manifest, "ranks": nonsense}))
    with pytest.raises(CapsuleError, match="does not say of which rank"):
        siblings(capsule)
