"""Photographs, scans, microscopes."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np

from bench.worlds.base import World
from bench.worlds.cases import case


def signs() -> World:
    rng = np.random.default_rng(201)
    made = World(how={})
    for split, number in (("train", 480), ("val", 200)):
        images, names = [], []
        for _ in range(number):
            up, red = rng.integers(2, size=2)
            pixels = rng.normal(110, 14, (12, 12, 3)) + rng.normal(0, 8, (1, 1, 3))
            rows = slice(1, 5) if up else slice(7, 11)
            pixels[rows, 3:9] += np.array([70, -20, -20] if red else [-20, -20, 70])
            images.append(pixels.clip(0, 255).astype("uint8"))
            names.append(f"{'up' if up else 'down'}_{'red' if red else 'blue'}")
        made[split] = (images, names)
    return made


def write_signs(w: World, out: Path) -> None:
    from PIL import Image

    for split in ("train", "val"):
        for at, (pixels, name) in enumerate(zip(*w[split], strict=True)):
            path = out / split / name / f"{at:04d}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            image, exif = Image.fromarray(pixels), Image.Exif()
            if split == "val" and w["how"].get("grey"):
                image = image.convert("L")
            if split == "val" and w["how"].get("turned"):
                # As a phone does it: the sensor's rows, and a note which way is up.
                image = image.transpose(Image.Transpose.ROTATE_180)
                exif[274] = 3
            image.save(path, exif=exif)


@case(
    "photos_turned_by_note",
    "data-augment",
    "further/scripts/photos.py",
    signs,
    write_signs,
    "data-scale data-labels data-order",
)
def _(w: World) -> None:
    """the validation photographs lie on their heads; a note in EXIF says so, which nothing reads"""
    w["how"] = {"turned": True}


@case("photos_grey", "data-scale", "further/scripts/photos.py", signs, write_signs, "data-augment shape")
def _(w: World) -> None:
    """the validation photographs were saved without colour"""
    w["how"] = {"grey": True}


def scans() -> World:
    rng = np.random.default_rng(202)
    proto = rng.normal(0, 1, (6, 8, 8))
    made = World(order="<f4")
    for split, number in (("train", 900), ("val", 300)):
        y = rng.integers(0, 6, number)
        made[split] = ((proto[y] + rng.normal(0, 1.1, (number, 8, 8))).astype("<f4"), y.tolist())
    return made


def write_scans(w: World, out: Path) -> None:
    for split in ("train", "val"):
        x, y = w[split]
        x.astype(w["order"] if split == "val" else "<f4").tofile(out / f"{split}.bin")
        (out / f"{split}_labels.txt").write_text("\n".join(map(str, y)) + "\n")
    (out / "meta.json").write_text(json.dumps({split: len(w[split][1]) for split in ("train", "val")}))


@case(
    "glyphs_big_endian",
    "data-scale",
    "further/scripts/glyphs.py",
    scans,
    write_scans,
    "data-augment data-empty",
)
def _(w: World) -> None:
    """the validation scans were written by a big-endian machine"""
    w["order"] = ">f4"


@case(
    "glyphs_labels_one_line_off", "data-labels", "further/scripts/glyphs.py", scans, write_scans, "data-order"
)
def _(w: World) -> None:
    """the first line of the training labels was taken for a header; each label is that of the next scan"""
    x, y = w["train"]
    w["train"] = (x, [*y[1:], y[0]])


def slides() -> World:
    rng = np.random.default_rng(203)
    colour = np.array([[150, 110, 160], [170, 100, 150], [140, 120, 175], [160, 95, 170]])
    proto = rng.normal(0, 1, (4, 10, 10, 1))
    made = World()
    for split, number in (("train", 640), ("val", 240)):
        y = rng.integers(0, 4, number)
        x = colour[y][:, None, None] + 15 * proto[y] + rng.normal(0, 25, (number, 10, 10, 3))
        made[split] = (x.clip(0, 255).astype("uint8"), y)
    x = made["train"][0].reshape(-1, 3) / 255
    made["norm"] = np.stack([x.mean(0), x.std(0)])
    return made


def write_slides(w: World, out: Path) -> None:
    for split in ("train", "val"):
        np.save(out / f"{split}_pixels.npy", w[split][0])
        np.save(out / f"{split}_types.npy", w[split][1])
    np.save(out / "norm.npy", w["norm"])


@case(
    "cells_norm_in_255",
    "data-scale",
    "further/scripts/cells.py",
    slides,
    write_slides,
    "vanishing init-saturation config",
)
def _(w: World) -> None:
    """norm.npy was computed on 0..255, the script scales to 0..1 first"""
    w["norm"] = w["norm"] * 255


def spots() -> World:
    rng = np.random.default_rng(204)
    made = World(shards=4)
    centre = rng.normal(0, 0.3, (5, 75))
    for split, number in (("train", 800), ("val", 300)):
        y = rng.integers(0, 5, number)
        # Each farm photographs in its own light: it is known from a shard of its own.
        farm = np.arange(number) * 4 // number if split == "train" else rng.integers(0, 4, number)
        light = np.random.default_rng(9).normal(0, 2.0, (4, 5, 75))
        x = centre[y] + light[farm, y] + rng.normal(0, 2, (number, 75))
        made[split] = (x.reshape(number, 3, 5, 5).astype("float32"), y)
    return made


def write_spots(w: World, out: Path) -> None:
    import tarfile

    for split, shards in (("train", 4), ("val", 1)):
        x, y = w[split]
        parts = np.array_split(np.arange(len(x)), shards)
        if split == "train" and "copied" in w:
            parts[w["copied"]] = parts[w["copied"] - 1]
        for shard, places in enumerate(parts):
            with tarfile.open(out / f"{split}-{shard:03d}.tar", "w") as archive:
                for number, at in enumerate(places):
                    buffer = io.BytesIO()
                    np.save(buffer, x[at])
                    for suffix, data in ((".npy", buffer.getvalue()), (".cls", str(int(y[at])).encode())):
                        info = tarfile.TarInfo(f"{shard:03d}-{number:05d}{suffix}")
                        info.size = len(data)
                        archive.addfile(info, io.BytesIO(data))


@case(
    "tar_shard_twice", "data-order", "further/scripts/shards.py", spots, write_spots, "data-empty data-labels"
)
def _(w: World) -> None:
    """the third shard holds the samples of the second once more, its own are gone"""
    w["copied"] = 2
