"""What nobody has planned for: a clear sentence, never an exception, and never for long."""

import os
import sys

import numpy as np
import pytest

from premortem.findings import Severity
from premortem.preflight.data import readers, survey_seen, walk
from premortem.preflight.data.readers.around import Around, MissingLibrary
from premortem.preflight.project import Part, Project
from premortem.rehearsal.observations import Reads, Rehearsed
from tests.preflight.data import make
from tests.preflight.data.folded import survey


def surveyed(folder, *data):
    return survey(Project(folder=folder, data=list(data)), lambda _line: None)


def loud(part):
    return [finding for finding in part.findings if finding.severity is not Severity.INFO]


def test_a_folder_that_does_not_exist(tmp_path):
    (finding,) = loud(surveyed(tmp_path, tmp_path / "nowhere"))
    assert finding.message == "`nowhere` holds no sample: it does not exist"


def test_a_named_folder_that_nearly_exists(tmp_path):
    make.image_folder(tmp_path / "data" / "Train", count=2)
    (finding,) = loud(surveyed(tmp_path, tmp_path / "data" / "train"))
    assert "did you mean `data/Train`" in finding.message


def test_a_file_instead_of_a_folder(tmp_path):
    make.array(tmp_path / "x.npy", np.full((5, 5), np.nan, np.float32))
    part = surveyed(tmp_path, tmp_path / "x.npy")
    assert part.record["roots"][0]["samples"] == 1
    assert [finding.code for finding in part.findings] == ["PM662"]


def test_a_folder_that_links_to_itself(tmp_path):
    make.image_folder(tmp_path / "set")
    (tmp_path / "set" / "train" / "again").symlink_to(tmp_path / "set")
    tree = walk.walk(tmp_path / "set")
    assert len(tree.files) == 72
    assert tree.skipped == {"links back to a folder that was already listed": ["train/again"]}


def test_names_that_cannot_be_printed(tmp_path):
    for number in range(3):
        make.image(tmp_path / "set" / f"line\nbreak{number}.png", number)
    (tmp_path / "set" / os.fsdecode(b"\xff\xfe.png")).touch()
    part = surveyed(tmp_path, tmp_path / "set")
    (finding,) = loud(part)
    assert "`\\udcff\\udcfe.png`: it is empty" in finding.message
    text = " ".join([finding.message, *(value for _, value in part.facts), str(part.record)])
    assert text.isprintable()
    text.encode()


def test_a_folder_that_may_not_be_opened(tmp_path, monkeypatch):
    """Permissions do not stop root, so the refusal is made here."""
    make.image_folder(tmp_path / "set")
    scandir = os.scandir

    def refuse(path):
        if str(path).endswith("bee"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    (finding,) = loud(surveyed(tmp_path, tmp_path / "set"))
    assert finding.code == "PM655"
    assert "`train/bee`: the folder cannot be opened (Permission denied)" in finding.message


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path):
    make.image_folder(tmp_path / "set")
    (tmp_path / "set/train/bee/train_bee_1.jpg").chmod(0)
    (finding,) = loud(surveyed(tmp_path, tmp_path / "set"))
    assert "Permission denied" in finding.message


def test_of_many_files_a_sample_is_decoded(tmp_path):
    """What each further file costs is its name in the listing, and nothing more."""
    for name in "abcd":
        folder = tmp_path / "set" / "train" / name
        folder.mkdir(parents=True)
        first = make.image(folder / "0.png", ord(name))
        for number in range(1, 3_000):
            os.link(first, folder / f"{number}.png")
    text = dict(surveyed(tmp_path, tmp_path / "set").facts)["set"]
    assert "512 of 12,000 files decoded (4.3 %), a random sample with a fixed seed" in text


def test_a_listing_that_takes_too_long_is_cut_and_accuses_nobody(tmp_path, monkeypatch):
    make.segmentation(tmp_path / "set")
    monkeypatch.setattr(walk, "PATIENCE", 0.0)
    part = surveyed(tmp_path, tmp_path / "set")
    assert part.findings == []
    monkeypatch.setattr(walk, "MOST_FILES", 30)
    monkeypatch.setattr(walk, "PATIENCE", 60.0)
    part = surveyed(tmp_path, tmp_path / "set")
    assert part.findings == []
    assert "there are more files, which took too long to list" in dict(part.facts)["set"]


@pytest.mark.parametrize(
    ("name", "content", "library"),
    [
        ("a.png", b"x", "PIL"),
        ("a.npy", b"x", "numpy"),
        ("a.h5", b"x", "h5py"),
        ("a.parquet", b"x", "pyarrow"),
    ],
)
def test_a_missing_library_is_a_fact_and_no_error(name, content, library, tmp_path, monkeypatch):
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / name).write_bytes(content)
    for module in [key for key in sys.modules if key == library or key.startswith(f"{library}.")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingLibrary):
        readers.read(tmp_path / "set" / name, name, Around(tmp_path))
    part = surveyed(tmp_path, tmp_path / "set")
    assert loud(part) == []
    assert "is not installed, so files that need it were only listed" in dict(part.facts)["note"]


@pytest.mark.parametrize("suffix", sorted(readers.BY_SUFFIX))
def test_no_reader_is_upset_by_noise(suffix, tmp_path):
    for seed in range(20):
        noise = np.random.default_rng(seed).integers(0, 256, 300 * seed, dtype=np.uint8).tobytes()
        path = tmp_path / f"{seed}.{suffix}"
        path.write_bytes(noise)
        try:
            readers.read(path, path.name, Around(tmp_path))
        except MissingLibrary:
            pytest.skip(f"nothing here reads .{suffix}")


def test_hdf5_and_parquet_are_read(tmp_path):
    h5py = pytest.importorskip("h5py")
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["group/x"] = np.array([[1.0, np.inf]])
    (look,) = readers.read(tmp_path / "a.h5", "a.h5", Around(tmp_path))
    assert (look.part, look.shape, look.inf) == ("group/x", (1, 2), 1)
    parquet.write_table(arrow.table({"x": [1.0] * 30, "label": [3] * 30}), tmp_path / "a.parquet")
    (look,) = readers.read(tmp_path / "a.parquet", "a.parquet", Around(tmp_path))
    assert look.labels == (("3", 30),)
    make.cut(tmp_path / "a.h5")
    make.cut(tmp_path / "a.parquet")
    for name in ("a.h5", "a.parquet"):
        (look,) = readers.read(tmp_path / name, name, Around(tmp_path))
        assert "damaged or cut off" in look.problem


def test_safetensors_are_read(tmp_path):
    save = pytest.importorskip("safetensors.numpy").save_file
    save({"x": np.array([1, np.nan], np.float32)}, tmp_path / "a.safetensors")
    (look,) = readers.read(tmp_path / "a.safetensors", "a.safetensors", Around(tmp_path))
    assert (look.part, look.nan) == ("x", 1)


def seen(folder, length, *, of_a_sample=1, opened=1):
    files = [str(folder / f"{number:04}.png") for number in range(of_a_sample)]
    return Rehearsed(opened={str(folder): opened}, reads=Reads("Frames", length, files))


def after(project, seen_):
    return survey_seen(project, seen_, Part(title="Data"), lambda _line: None)


def pictures(folder, count):
    for number in range(count):
        make.image(folder / f"{number:04}.png", number)


def test_a_handful_of_many_is_suspicious(tmp_path):
    pictures(tmp_path / "set", 120)
    (finding,) = loud(after(Project(folder=tmp_path), seen(tmp_path / "set", 2)))
    assert finding.code == "PM653"
    assert finding.message == ("the training dataset `Frames` has 2 samples, although 120 files lie in `set`")


@pytest.mark.parametrize(
    "other",
    [
        {"length": 20},
        {"length": 2, "of_a_sample": 50},  # a clip of many frames
        {"length": 2, "opened": 100},  # all were read when it was built
        {"length": 2, "of_a_sample": 0},  # unknown, or others each time
    ],
)
def test_few_samples_that_need_many_files_are_not(tmp_path, other):
    pictures(tmp_path / "set", 120)
    assert loud(after(Project(folder=tmp_path), seen(tmp_path / "set", **other))) == []


def test_a_folder_that_only_a_rehearsal_has_seen_is_looked_at_once(tmp_path):
    pictures(tmp_path / "set", 30)
    (tmp_path / "set" / "0003.png").write_bytes(b"")
    project, saw = Project(folder=tmp_path, target="train.py"), seen(tmp_path / "set", 30)
    first = after(project, saw)
    assert [finding.code for finding in loud(first)] == ["PM655"]
    assert survey_seen(project, saw, first, lambda _line: None).facts == []
