"""Small files of every format, and the datasets that are made of them."""

import io
import json
import struct
import tarfile
import wave
import zlib

import numpy as np
import pytest

Image = pytest.importorskip("PIL.Image")


def seed_of(*parts):
    """The same in every process, which `hash` of a text is not."""
    return zlib.crc32(repr(parts).encode())


def picture(seed, size=(24, 32), channels=3):
    """Noise over a gradient: no two alike, and none without structure."""
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 256, (4, 4, channels)).astype(np.float32)
    values = np.kron(coarse, np.ones((size[0] // 4 + 1, size[1] // 4 + 1, 1)))[: size[0], : size[1]]
    values = np.clip(values + rng.normal(0, 6, values.shape), 0, 255).astype(np.uint8)
    return Image.fromarray(values[..., 0] if channels == 1 else values)


def image(path, seed=None, size=(24, 32), channels=3):
    path.parent.mkdir(parents=True, exist_ok=True)
    seed = seed_of(path.parent.name, path.name) if seed is None else seed
    picture(seed, size, channels).save(path)
    return path


def mask(path, size=(24, 32), classes=3, seed=0):
    path.parent.mkdir(parents=True, exist_ok=True)
    values = np.random.default_rng(seed).integers(0, classes, (4, 4)).astype(np.uint8)
    values[0, 0] = classes - 1
    whole = np.kron(values, np.ones((size[0] // 4, size[1] // 4), np.uint8))
    Image.fromarray(whole).save(path)
    return path


def array(path, values):
    path.parent.mkdir(parents=True, exist_ok=True)
    np.save(path, values)
    return path


def text(path, content=""):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


def sound(path, seconds=0.05, rate=16000, seed=0):
    path.parent.mkdir(parents=True, exist_ok=True)
    values = np.random.default_rng(seed).integers(-999, 999, int(rate * seconds))
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(struct.pack(f"<{len(values)}h", *values))
    return path


def shard(path, samples, lacking=()):
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w") as archive:
        for number in range(samples):
            for kind in ("jpg", "cls"):
                if (number, kind) in lacking:
                    continue
                content = f"{path.name} {number} {kind}".encode() * 20
                info = tarfile.TarInfo(f"{number:05d}.{kind}")
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    return path


def cut(path, keep=0.5):
    content = path.read_bytes()
    path.write_bytes(content[: int(keep * len(content))])
    return path


def image_folder(root, classes=("ant", "bee", "cat"), splits=("train", "val"), count=12, suffix="jpg"):
    seed = 0
    for split in splits:
        for name in classes:
            for number in range(count):
                seed += 1
                image(root / split / name / f"{split}_{name}_{number}.{suffix}", seed)
    return root


def sequences(root, splits=("train", "val"), number=4, frames=8):
    """blur, sharp and spike_vox of each sequence; scenes differ between splits."""
    seed = 1000
    for split in splits:
        for sequence in range(number):
            for frame in range(frames):
                seed += 1
                base = root / split
                name = f"{split}_{sequence:02d}"
                image(base / "blur" / name / f"{frame:04d}.png", seed)
                image(base / "sharp" / name / f"{frame:04d}.png", seed + 50_000)
                values = np.random.default_rng(seed).normal(size=(2, 6, 8)).astype(np.float32)
                array(base / "spike_vox" / name / f"{frame:04d}.npy", values)
    return root


def segmentation(root, count=24, splits=("train", "val")):
    seed = 0
    for split in splits:
        for number in range(count):
            seed += 1
            image(root / split / "images" / f"{split}{number:03d}.jpg", seed)
            mask(root / split / "masks" / f"{split}{number:03d}.png", seed=seed)
    return root


def coco(root, count=20):
    for split in ("train2017", "val2017"):
        names = []
        for number in range(count):
            names.append(f"{split}_{number:06d}.jpg")
            size = (20 + number % 5, 30 + number % 3)
            image(root / split / names[-1], seed=seed_of(split, number), size=size)
        record = {"images": [{"id": i, "file_name": name} for i, name in enumerate(names)], "annotations": []}
        text(root / "annotations" / f"instances_{split}.json", json.dumps(record))
    return root
