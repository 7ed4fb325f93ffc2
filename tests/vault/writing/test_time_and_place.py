"""Deadlines as people write them, and storage that does not last."""

from datetime import datetime
from types import SimpleNamespace

import pytest

from premortem.actions.checkpoint_safety import Safekeeping
from premortem.detectors.saving import DeadlineReached
from premortem.errors import UsageError
from premortem.events import DeadlineMet
from premortem.vault import deadline, storage
from premortem.vault.storage import Mount

NOW = datetime(2026, 11, 15, 16, 0, 0).astimezone().timestamp()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("9h", 9 * 3600),
        ("1h30m", 5400),
        ("90min", 5400),
        ("1.5 h", 5400),
        ("45s", 45),
        ("2d", 2 * 86400),
        ("17:30", 5400),
        ("15:30", 23.5 * 3600),
        ("2026-11-15T17:30", 5400),
        ("2026-11-15 17:30", 5400),
    ],
)
def test_a_time_is_read_as_people_write_it(text, seconds):
    assert deadline.parse(text, now=NOW, environ={}).at == pytest.approx(NOW + seconds)


@pytest.mark.parametrize("text", ["soon", "", "25:99", "9 hours", "h", "-3h", "2020-01-01T00:00", "0s"])
def test_what_is_no_time_is_refused_in_one_sentence(text):
    with pytest.raises(UsageError, match="--deadline"):
        deadline.parse(text, now=NOW, environ={})


def test_sessions_tell_when_they_end():
    assert deadline.parse("slurm", environ={"SLURM_JOB_END_TIME": "123"}).at == 123
    assert deadline.parse("auto", environ={"SLURM_JOB_END_TIME": "123"}).at == 123
    began = deadline.session_began()
    assert deadline.parse("kaggle", environ={"KAGGLE_KERNEL_RUN_TYPE": "Batch"}).at == pytest.approx(
        began + 12 * 3600, abs=2
    )
    tpu = {"KAGGLE_KERNEL_RUN_TYPE": "Batch", "TPU_WORKER_ID": "0"}
    assert deadline.parse("auto", environ=tpu).at == pytest.approx(began + 9 * 3600, abs=2)
    assert deadline.parse("colab", environ={"COLAB_RELEASE_TAG": "r"}).at == pytest.approx(
        began + 12 * 3600, abs=2
    )
    for word in ("slurm", "kaggle", "colab", "auto"):
        with pytest.raises(UsageError, match=word):
            deadline.parse(word, environ={})
    with pytest.raises(UsageError, match=r"SLURM_JOB_END_TIME is not set\); give a time, such as 9h"):
        deadline.parse("slurm", environ={"SLURM_JOB_ID": "7"})


@pytest.fixture
def mounted(monkeypatch):
    def at(*mounts):
        monkeypatch.setattr(storage, "mounts", lambda: [Mount("/dev/sda1", "/", "ext4"), *mounts])

    at()
    return at


KAGGLE = {"KAGGLE_KERNEL_RUN_TYPE": "Batch"}
COLAB = {"COLAB_RELEASE_TAG": "r"}


def test_an_ordinary_disk_and_a_temporary_folder_are_fine(mounted, tmp_path):
    assert storage.judge(storage.Path("/home/me/project"), {}) is None
    mounted(Mount("tmpfs", "/tmp", "tmpfs"))
    assert storage.judge(tmp_path, {}) is None


def test_what_a_session_wipes_is_certain(mounted):
    mounted(Mount("drive", "/content/drive", "fuse.drive"))
    assert storage.judge(storage.Path("/kaggle/temp"), KAGGLE).certain
    assert storage.judge(storage.Path("/kaggle/working/x"), KAGGLE) is None
    assert not storage.judge(
        storage.Path("/kaggle/working"), {"KAGGLE_KERNEL_RUN_TYPE": "Interactive"}
    ).certain
    assert storage.judge(storage.Path("/content/ckpt"), COLAB).certain
    assert storage.judge(storage.Path("/content/drive/MyDrive"), COLAB) is None
    assert storage.judge(storage.Path("/scratch/7/x"), {"SLURM_TMPDIR": "/scratch/7"}).certain
    assert storage.nothing_lasts(COLAB) is None
    mounted()
    assert storage.nothing_lasts(COLAB).certain
    assert storage.nothing_lasts(KAGGLE) is None


def test_a_disk_with_a_warning_on_it_is_certain(mounted, tmp_path):
    mounted(Mount("/dev/sdb1", str(tmp_path), "ext4"))
    (tmp_path / "DATALOSS_WARNING_README.txt").write_text("This is a temporary disk.")
    assert storage.judge(tmp_path / "x", {}).certain


def test_memory_is_only_a_remark(mounted):
    mounted(Mount("tmpfs", "/ramdisk", "tmpfs"))
    assert not storage.judge(storage.Path("/ramdisk/x"), {}).certain


def test_a_deadline_speaks_of_a_mirror_only_where_there_is_one():
    [alone], [mirrored], [unsaved] = (
        list(DeadlineReached().observe(DeadlineMet(step=9, left=4.0, needed=5.0, path=path, mirrored=mirror)))
        for path, mirror in (("runs/1/last_good.pt", None), ("runs/1/last_good.pt", True), ("", None))
    )
    assert alone.cause == "One more step and a save need 5 seconds."
    assert "mirror" in mirrored.cause
    assert 'premortem.resume("runs/1/last_good.pt", model=model, optimizer=optimizer)' in alone.remedy
    assert "premortem.resume" not in unsaved.remedy


@pytest.mark.parametrize(
    ("mirror", "seconds", "spare"),
    [(None, 0.1, 5.0), (None, 4.0, 8.0), (None, 60.0, 15.0), ("far", 0.1, 15.0)],
)
def test_what_is_spared_before_a_deadline_follows_the_measured_save(mirror, seconds, spare):
    measured = SimpleNamespace(mirror=mirror, _seconds=seconds, saving=SimpleNamespace(seconds=0.0))
    assert Safekeeping._spare.fget(measured) == spare
