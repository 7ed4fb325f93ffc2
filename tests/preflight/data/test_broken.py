"""The same datasets with one thing broken each: named, once, with what to do."""

import csv
import shutil

import numpy as np
import pytest

from premortem.findings import Severity
from premortem.preflight.project import Project
from tests.preflight.data import make
from tests.preflight.data.folded import survey

BROKEN = []


def broken(code, words):
    """Register a dataset with the finding that is expected, and what its sentence must say."""

    def register(build):
        BROKEN.append(pytest.param(build, code, words, id=build.__name__))
        return build

    return register


@broken("PM650", "there is no file in it to load")
def empty(root):
    root.mkdir()


@broken("PM650", "2 files skipped because `.heic`")
def nothing_that_can_be_loaded(root):
    make.text(root / "a.heic", "x")
    make.text(root / "b.heic", "x")


@broken("PM655", "train/bee/train_bee_3.jpg`: it is empty (0 bytes)")
def an_empty_image(root):
    make.image_folder(root)
    (root / "train/bee/train_bee_3.jpg").write_bytes(b"")


@broken("PM655", "it cannot be decoded")
def a_cut_jpeg(root):
    make.image_folder(root)
    make.cut(root / "train/bee/train_bee_3.jpg")


@broken("PM655", "it cannot be decoded")
def a_cut_png(root):
    make.image_folder(root, suffix="png")
    make.cut(root / "val/cat/val_cat_1.png", 0.8)


@broken("PM655", "web page")
def an_error_page_called_jpg(root):
    make.image_folder(root)
    (root / "train/ant/train_ant_2.jpg").write_text("<html>404</html>")


@broken("PM655", "cut off: ")
def a_cut_array(root):
    make.sequences(root)
    make.cut(root / "train/spike_vox/train_01/0003.npy", 0.7)


@broken("PM655", "damaged or cut off")
def a_bad_zip(root):
    root.mkdir()
    np.savez(root / "train.npz", x=np.zeros((10, 10)))
    make.cut(root / "train.npz")
    make.array(root / "other.npy", np.zeros(3))


@broken("PM655", "it is a link to a file that is not there")
def a_broken_link(root):
    make.image_folder(root)
    (root / "train/ant/gone.jpg").symlink_to(root / "nowhere.jpg")


@broken("PM655", "damaged")
def a_cut_checkpoint_as_data(root):
    torch = pytest.importorskip("torch")
    root.mkdir()
    for number in range(4):
        torch.save({"x": torch.randn(64, 64)}, root / f"part{number}.pt")
    make.cut(root / "part2.pt", 0.6)


@broken("PM655", "of sound are there")
def a_cut_recording(root):
    for number in range(30):
        make.sound(root / "yes" / f"a{number * 3}.wav", seed=number)
    make.cut(root / "yes" / "a9.wav")


@broken("PM655", "train-00001.tar")
def a_cut_shard(root):
    for number in range(3):
        make.shard(root / f"train-{number:05d}.tar", 30)
    make.cut(root / "train-00001.tar", 0.513)


@broken("PM655", "line 7: the JSON is incomplete")
def a_torn_line(root):
    make.text(root / "train.jsonl", '{"a": 1}\n' * 6 + '{"a":')
    make.array(root / "x.npy", np.zeros(3))


@broken("PM673", "`00007.cls` is missing")
def a_sample_without_its_class(root):
    make.shard(root / "train-0.tar", 40, lacking={(7, "cls")})


@broken("PM656", "1 of 32 have no partner there: `train/blur/train_02/0005.png`")
def blur_without_sharp(root):
    make.sequences(root)
    (root / "train/sharp/train_02/0005.png").unlink()


@broken("PM656", "`train/masks` is empty")
def masks_that_were_never_copied(root):
    make.segmentation(root)
    shutil.rmtree(root / "train/masks")
    (root / "train/masks").mkdir()


@broken("PM656", "2 files in `train/masks` have no partner in `train/images`")
def masks_without_images(root):
    make.segmentation(root)
    for number in (3, 9):
        (root / f"train/images/train{number:03d}.jpg").unlink()


@broken("PM658", "`train/scene3` has no `sharp`")
def a_scene_without_its_targets(root):
    for scene in range(6):
        for role in ("blur", "sharp"):
            for frame in range(4):
                make.image(
                    root / "train" / f"scene{scene}" / role / f"{frame}.png",
                    make.seed_of(scene, role, frame),
                )
    shutil.rmtree(root / "train/scene3/sharp")


@broken("PM657", "8 in `left`, 6 in `right`")
def a_sequence_with_fewer_frames(root):
    for scene in range(6):
        for frame in range(8):
            make.image(root / "left" / f"s{scene}" / f"l{frame:03d}.png", scene * 50 + frame)
            if not (scene == 4 and frame > 5):
                make.image(root / "right" / f"s{scene}" / f"{frame + 900:03d}.png", 7000 + scene * 50 + frame)


@broken("PM659", "is 24×32 and its partner 12×16")
def a_mask_of_another_size(root):
    make.segmentation(root)
    make.mask(root / "train/masks/train004.png", size=(12, 16))


@broken("PM660", "is RGBA, the others are RGB")
def one_image_with_transparency(root):
    for number in range(40):
        make.image(root / f"n{number * 3}.png", number, channels=4 if number == 9 else 3)


@broken("PM660", "is 20×32, the others are 24×32")
def one_image_of_another_size(root):
    for number in range(40):
        make.image(root / f"n{number * 3}.png", number, size=(20, 32) if number == 9 else (24, 32))


@broken("PM660", "is float64, the others are float32")
def one_array_in_double_precision(root):
    for number in range(30):
        values = np.random.default_rng(number).normal(size=(4, 4))
        make.array(root / f"n{number}.npy", values if number == 7 else values.astype(np.float32))


@broken("PM660", "is 44100 Hz, 1 channel, the others are 16000 Hz, 1 channel")
def one_recording_at_another_rate(root):
    for number in range(30):
        make.sound(root / f"a{number * 3}.wav", rate=44100 if number == 4 else 16000, seed=number)


@broken("PM661", "the others stay within")
def one_array_that_was_not_divided(root):
    for number in range(30):
        values = np.random.default_rng(number).uniform(0, 1, (8, 8)).astype(np.float32)
        make.array(root / f"n{number}.npy", values * (255 if number == 7 else 1))


@broken("PM662", "n7.npy")
def not_a_number(root):
    for number in range(30):
        values = np.random.default_rng(number).normal(size=(8, 8)).astype(np.float32)
        values[2, 3] = np.nan if number == 7 else 0
        make.array(root / f"n{number}.npy", values)


@broken("PM662", "1 infinite")
def infinity_in_a_tensor(root):
    torch = pytest.importorskip("torch")
    root.mkdir()
    for number in range(8):
        values = torch.randn(16, 16)
        if number == 3:
            values[0, 0] = float("inf")
        torch.save(values, root / f"clip{number}.pt")


@broken("PM663", "3 of 36 samples of `val` (8.3 %) are also in `train`, byte for byte")
def copies_in_both_splits(root):
    make.image_folder(root)
    for number in range(3):
        shutil.copy(root / f"train/ant/train_ant_{number}.jpg", root / f"val/ant/val_ant_{number}.jpg")


@broken("PM663", "with the same decoded content")
def copies_with_other_bytes(root):
    make.image_folder(root, suffix="png")
    for number in range(3):
        image = make.Image.open(root / f"train/ant/train_ant_{number}.png")
        image.save(root / f"val/ant/val_ant_{number}.png", compress_level=0)


@broken("PM663", "as the same rows")
def rows_in_both_splits(root):
    rng = np.random.default_rng(0)
    body = [[*rng.normal(size=4).round(6), n % 2] for n in range(200)]
    for split, part in (("train", body[:150]), ("val", body[140:])):
        root.mkdir(exist_ok=True)
        with (root / f"{split}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([["a", "b", "c", "d", "label"], *part])


@broken("PM663", "as the same rows")
def arrays_that_share_rows(root):
    values = np.random.default_rng(0).integers(0, 256, (120, 6, 6), dtype=np.uint8)
    root.mkdir()
    np.savez(root / "set.npz", x_train=values[:100], x_test=values[90:])


@broken("PM663", "as the same rows")
def lists_that_share_names(root):
    names = [f"2007_{number:06d}" for number in range(60)]
    make.text(root / "train.txt", "\n".join(names[:45]))
    make.text(root / "val.txt", "\n".join(names[40:]))
    make.image(root / "JPEGImages" / "2007_000000.jpg", 1)


@broken("PM664", "look like one of `train` saved again")
def copies_in_another_quality(root):
    make.image_folder(root, suffix="png")
    for number in range(4):
        image = make.Image.open(root / f"train/ant/train_ant_{number}.png")
        image.save(root / f"val/ant/val_ant_{number}.jpg", quality=92)
        (root / f"val/ant/val_ant_{number}.png").unlink()


@broken("PM666", "in two class folders")
def one_picture_with_two_labels(root):
    make.image_folder(root)
    shutil.copy(root / "train/ant/train_ant_1.jpg", root / "train/bee/found.jpg")


@broken("PM667", "1 of 4 class folders of `train` is empty: `dog`")
def a_class_without_samples(root):
    make.image_folder(root)
    (root / "train/dog").mkdir()
    (root / "val/dog").mkdir()
    make.image(root / "val/dog/x1.jpg", 9999)


@broken("PM669", "`cat` is 2 in `train` and 1 in `val`")
def a_class_that_validation_lacks(root):
    make.image_folder(root)
    shutil.rmtree(root / "val/bee")


@broken("PM670", "2 of 40 files that `labels.csv` names (5.0 %) are not there: `p3.png`, `p8.png`")
def a_table_that_names_missing_files(root):
    lines = ["file,label"]
    for number in range(40):
        if number not in {3, 8}:
            make.image(root / "pictures" / f"p{number}.png", number)
        lines.append(f"p{number}.png,{number % 2}")
    make.text(root / "labels.csv", "\n".join(lines))


@broken("PM671", "1 row of `train.csv` has the label 99; all the others are 0 to 4")
def a_label_out_of_range(root):
    rng = np.random.default_rng(0)
    lines = [f"{rng.normal():.5f},{rng.normal():.5f},{99 if n == 17 else n % 5}" for n in range(200)]
    make.text(root / "train.csv", "\n".join(["a,b,label", *lines]))


@broken("PM672", "all 60 rows of `train.csv` have the label `0`")
def one_label_for_all(root):
    rng = np.random.default_rng(0)
    lines = [f"{rng.normal():.5f},{rng.normal():.5f},0" for _ in range(60)]
    make.text(root / "train.csv", "\n".join(["a,b,label", *lines]))


def loud(part):
    return [finding for finding in part.findings if finding.severity is not Severity.INFO]


@pytest.mark.parametrize(("build", "code", "words"), BROKEN)
def test_what_is_broken_is_named_and_nothing_else(build, code, words, tmp_path):
    build(tmp_path / "set")
    part = survey(Project(folder=tmp_path, data=[tmp_path / "set"]), lambda _line: None)
    findings = loud(part)
    assert [finding.code for finding in findings] == [code], [f.message for f in findings]
    assert words in findings[0].message
    assert findings[0].remedy
