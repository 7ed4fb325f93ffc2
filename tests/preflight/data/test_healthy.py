"""Datasets as people have them, with nothing wrong: not a single warning."""

import csv
import json

import numpy as np
import pytest

from premortem.findings import Severity
from premortem.preflight.project import Project
from tests.preflight.data import make
from tests.preflight.data.folded import survey

HEALTHY = []


def healthy(build):
    HEALTHY.append(build)
    return build


def rows(path, head, body):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([head, *body])


@healthy
def image_folder(root):
    make.image_folder(root, splits=("train", "val", "test"))


@healthy
def image_folder_with_photos_of_any_size_and_colour(root):
    for number in range(60):
        name = root / "train" / ("cat" if number % 2 else "dog") / f"IMG_{number * 7}.jpg"
        make.image(name, number, size=(20 + number % 13, 30 + number % 11), channels=1 if number == 5 else 3)


@healthy
def images_of_a_test_set_without_labels(root):
    make.image_folder(root, splits=("train",))
    for number in range(20):
        make.image(root / "test" / f"{number:04d}.jpg", 9000 + number)


@healthy
def numbered_files_in_every_class(root):
    for split, offset in (("train", 0), ("val", 500)):
        for place, name in enumerate("0123"):
            for number in range(10 + 3 * place):
                make.image(
                    root / split / name / f"{number:04d}.png", offset + 100 * place + number, channels=1
                )


@healthy
def coco(root):
    make.coco(root)


@healthy
def yolo_with_background_images(root):
    for split, offset in (("train", 0), ("val", 1000)):
        for number in range(30):
            make.image(root / "images" / split / f"{split}_{number}.jpg", offset + number)
            if number % 10:
                content = "" if number % 7 == 0 else "0 0.5 0.5 0.2 0.2\n"
                make.text(root / "labels" / split / f"{split}_{number}.txt", content)
    make.text(root / "data.yaml", "nc: 1\n")


@healthy
def voc_where_few_images_are_segmented(root):
    base = root / "VOC2012"
    for number in range(60):
        name = f"2007_{number:06d}"
        size = (20 + number % 7, 28 + number % 5)
        make.image(base / "JPEGImages" / f"{name}.jpg", number, size=size)
        make.text(base / "Annotations" / f"{name}.xml", "<annotation/>")
        if number % 6 == 0:
            make.mask(base / "SegmentationClass" / f"{name}.png", seed=number)
    names = [f"2007_{number:06d}" for number in range(60)]
    for split, part in (("train", names[:40]), ("val", names[40:]), ("trainval", names)):
        make.text(base / "ImageSets" / "Main" / f"{split}.txt", "\n".join(part))


@healthy
def segmentation(root):
    make.segmentation(root)


@healthy
def segmentation_with_suffixed_masks_and_empty_ones(root):
    for number in range(40):
        make.image(root / "images" / f"case{number:03d}.png", number, channels=1)
        mask = root / "masks" / f"case{number:03d}_mask.png"
        make.mask(mask, classes=1 if number % 3 else 2, seed=number)


@healthy
def sequences(root):
    make.sequences(root)


@healthy
def sequences_with_one_array_less_each(root):
    for scene in range(5):
        for frame in range(8):
            make.image(root / "train" / f"scene{scene}" / "blur" / f"{frame:03d}.png", 100 * scene + frame)
            make.image(
                root / "train" / f"scene{scene}" / "sharp" / f"{frame:03d}.png", 5000 + 100 * scene + frame
            )
        for frame in range(7):
            values = np.random.default_rng(scene * 10 + frame).normal(size=(4, 4)).astype(np.float32)
            make.array(root / "train" / f"scene{scene}" / "flow" / f"flow_{frame:03d}.npy", values)


@healthy
def super_resolution(root):
    for number in range(24):
        size = (40 + 8 * (number % 4), 48 + 8 * (number % 3))
        make.image(root / "train" / "HR" / f"{number:04d}.png", number, size=size)
        make.image(
            root / "train" / "LR" / f"{number:04d}x4.png", 700 + number, size=(size[0] // 4, size[1] // 4)
        )


@healthy
def cifar_like_npz(root):
    rng = np.random.default_rng(0)
    root.mkdir()
    np.savez(
        root / "cifar.npz",
        x_train=rng.integers(0, 256, (400, 8, 8, 3), dtype=np.uint8),
        y_train=rng.integers(0, 10, 400),
        x_test=rng.integers(0, 256, (100, 8, 8, 3), dtype=np.uint8),
        y_test=rng.integers(0, 10, 100),
    )


@healthy
def arrays_of_two_splits(root):
    rng = np.random.default_rng(0)
    for split in ("train", "val"):
        make.array(root / f"X_{split}.npy", rng.normal(size=(200, 12)).astype(np.float32))
        make.array(root / f"y_{split}.npy", rng.integers(0, 4, 200))


@healthy
def text_in_json_lines(root):
    for split, start in (("train", 0), ("val", 5000)):
        lines = [
            json.dumps({"text": f"sentence number {start + n} of this corpus", "label": n % 2})
            for n in range(200)
        ]
        make.text(root / f"{split}.jsonl", "\n".join(lines) + "\n")


@healthy
def plain_text_with_repeated_headings(root):
    for split, start in (("train", 0), ("valid", 5000)):
        lines = [f"a line that is long enough to compare, number {start + n}" for n in range(60)]
        make.text(root / f"{split}.txt", "\n\n= Heading that returns in every single article =\n".join(lines))


@healthy
def tables_with_a_test_set_without_labels(root):
    rng = np.random.default_rng(0)
    body = [[n, *rng.normal(size=4).round(5), "", n % 3] for n in range(300)]
    rows(root / "train.csv", ["id", "a", "b", "c", "d", "gap", "target"], body[:240])
    rows(root / "test.csv", ["id", "a", "b", "c", "d", "gap"], [row[:-1] for row in body[240:]])
    rows(root / "sample_submission.csv", ["id", "target"], [[n, 0] for n in range(240, 300)])


@healthy
def tables_of_coarse_categories(root):
    rng = np.random.default_rng(0)
    for split in ("train", "val"):
        body = rng.integers(0, 4, (200, 3)).tolist()
        rows(root / f"{split}.csv", ["colour", "shape", "label"], body)


@healthy
def a_table_of_images(root):
    body = []
    for number in range(40):
        make.image(root / "pictures" / f"p{number}.png", number)
        body.append([f"p{number}.png", "cat" if number % 2 else "dog"])
    rows(root / "labels.csv", ["file", "label"], body)


@healthy
def tables_whose_names_repeat_in_other_folders(root):
    for split, offset in (("train", 0), ("val", 300)):
        for number in range(20):
            make.image(root / split / f"{number:04d}.png", offset + number)
        rows(root / f"{split}.csv", ["file", "label"], [[f"{n:04d}.png", n % 2] for n in range(20)])


@healthy
def speech(root):
    for split, offset in (("train", 0), ("test", 900)):
        for word in ("yes", "no", "stop"):
            for number in range(10):
                seed = offset + make.seed_of(word) % 10_000 + number
                make.sound(
                    root / split / word / f"{seed:x}_nohash_{number}.wav", 0.02 + number / 1000, seed=seed
                )


@healthy
def tiles_with_repeated_blanks(root):
    for split, offset in (("train", 0), ("val", 800)):
        for number in range(40):
            path = make.image(root / split / "images" / f"tile_{offset + number}.png", offset + number)
            if number % 4 == 0:
                make.Image.new("RGB", (32, 24), (255, 255, 255)).save(path)
            make.mask(root / split / "masks" / f"tile_{offset + number}.png", seed=number % 5)


@healthy
def augmented_copies_in_train_only(root):
    make.image_folder(root)
    for name in ("ant", "bee"):
        for number in range(12):
            source = make.Image.open(root / "train" / name / f"train_{name}_{number}.jpg")
            source.transpose(0).save(root / "train" / name / f"train_{name}_{number}_flip.jpg")


@healthy
def video_frames_that_look_alike(root):
    for split, offset in (("train", 0), ("val", 70)):
        for scene in range(3):
            still = np.asarray(make.picture(offset + scene)).astype(int)
            for frame in range(12):
                noise = np.random.default_rng(offset + 100 * scene + frame).integers(-2, 3, still.shape)
                path = root / split / f"{split}{scene}" / f"{frame:05d}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                make.Image.fromarray(np.clip(still + noise, 0, 255).astype(np.uint8)).save(path)


@healthy
def folds_that_share_on_purpose(root):
    for fold in range(3):
        for number in range(15):
            split = "val" if number % 3 == fold else "train"
            make.image(root / f"fold{fold}" / split / f"n{number}.png", number)


@healthy
def depth_maps_with_gaps(root):
    for number in range(25):
        depth = np.random.default_rng(number).uniform(0.5, 9, (16, 16)).astype(np.float32)
        depth[:3] = np.nan
        make.image(root / "rgb" / f"{number:04d}.png", number, size=(16, 16))
        make.array(root / "depth" / f"{number:04d}.npy", depth)


@healthy
def shards(root):
    for number in range(3):
        make.shard(root / f"train-{number:05d}.tar", 30)


@healthy
def rare_class(root):
    for number in range(150):
        name = "defect" if number < 4 else "good"
        make.image(root / "train" / name / f"part_{number * 3}.png", number)


@healthy
def few_shot_with_disjoint_classes(root):
    for split, names in (("train", "abcd"), ("val", "efgh")):
        for name in names:
            for number in range(6):
                make.image(root / split / name / f"{name}{number * 2}.png", make.seed_of(name, number))


@healthy
def what_systems_leave_behind(root):
    make.image_folder(root)
    for name in (
        ".DS_Store",
        "Thumbs.db",
        ".gitkeep",
        "train/.gitkeep",
        "train/ant/.DS_Store",
        "__init__.py",
    ):
        make.text(root / name)
    make.text(root / "__MACOSX" / "train" / "ant" / "._x.jpg")


@healthy
def a_cityscapes_tree(root):
    for split, city in (("train", "aachen"), ("val", "munster")):
        for number in range(10):
            name = f"{city}_{number:06d}_000019"
            make.image(
                root / "leftImg8bit" / split / city / f"{name}_leftImg8bit.png", make.seed_of(city, number)
            )
            for kind in ("labelIds", "color"):
                make.mask(root / "gtFine" / split / city / f"{name}_gtFine_{kind}.png", seed=number)


@healthy
def captions_beside_images(root):
    for number in range(20):
        make.image(root / f"{number:03d}.png", number)
        make.text(root / f"{number:03d}.txt", f"a picture of thing {number}")


@healthy
def two_classes_whose_names_sound_like_a_pair(root):
    for name, count in (("left", 24), ("right", 20)):
        for number in range(count):
            make.image(root / "train" / name / f"{number:03d}.png", make.seed_of(name, number))


@healthy
def satellite_tiles_with_thirteen_bands(root):
    """A TIFF that Pillow does not know, by its first bytes."""
    for number in range(5):
        path = root / "tiles" / f"s2_{number}.tif"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(
            b"II*\0" + np.random.default_rng(number).integers(0, 255, 900, dtype=np.uint8).tobytes()
        )
        make.array(root / "meta" / f"s2_{number}.npy", np.arange(3.0))


@healthy
def json_by_other_habits(root):
    make.text(root / "reviews.json", '{"stars": 5}\n{"stars": 4}\n')
    make.text(root / "notes.json", '{"a": 1, // a comment\n "b": [1, 2,]\n}')
    make.text(root / "bom.json", "\ufeff{}")
    make.array(root / "x.npy", np.arange(3.0))


@healthy
def stages_of_a_preparation(root):
    for stage in ("raw", "processed"):
        for number in range(8):
            make.image(root / stage / f"a{number * 2}.png", make.seed_of(stage, number))
    (root / "interim").mkdir()


@healthy
def the_validation_set_again_as_test_set(root):
    make.image_folder(root)
    for path in sorted((root / "val").rglob("*.jpg")):
        copy = root / "test" / path.relative_to(root / "val")
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())


@healthy
def normal_samples_to_train_a_detector_of_anomalies(root):
    rng = np.random.default_rng(0)
    for split in ("train", "test"):
        body = [[*rng.normal(size=3).round(5), int(split == "test" and n % 4 == 0)] for n in range(80)]
        rows(root / f"{split}.csv", ["a", "b", "c", "label"], body)


@healthy
def objects_in_arrays_and_rare_colours(root):
    make.array(root / "objects.npy", np.array([{"a": 1}, None], dtype=object))
    make.array(root / "x.npy", np.arange(3.0))
    for mode in ("1", "P", "LA", "RGBA"):
        make.picture(1).convert(mode).save(root / f"{mode}.png")
    make.picture(1).convert("CMYK").save(root / "print.jpg")
    make.picture(1).convert("LAB").save(root / "lab.tif")


@healthy
def links_that_are_no_samples(root):
    make.image_folder(root)
    (root / "latest").symlink_to(root / "gone")


def surveyed(folder, **more):
    return survey(Project(folder=folder, **more), lambda _line: None)


@pytest.mark.parametrize("build", HEALTHY, ids=lambda build: build.__name__)
def test_a_healthy_dataset_gives_no_warning(build, tmp_path):
    build(tmp_path / "set")
    part = surveyed(tmp_path, data=[tmp_path / "set"])
    loud = [f"{f.code} {f.message}" for f in part.findings if f.severity is not Severity.INFO]
    assert loud == []
    assert part.record["roots"][0]["read"] > 0, "nothing was looked at"
