"""Data that the scripts need, made by us: small, learnable, the same every time."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np

WORDS = "the a of to and in that it was he for on with as his they at be this from have or by one had not but what all".split()


def digits(folder: Path, train: int = 640, test: int = 128) -> None:
    """Files of MNIST's format: each class is a bar at a place of its own, with noise."""
    raw = folder / "MNIST" / "raw"
    raw.mkdir(parents=True, exist_ok=True)
    random_numbers = np.random.default_rng(0)
    for name, count in (("train", train), ("t10k", test)):
        labels = random_numbers.integers(0, 10, count).astype(np.uint8)
        images = random_numbers.integers(0, 60, (count, 28, 28)).astype(np.uint8)
        for image, label in zip(images, labels, strict=True):
            image[2 + 2 * label : 6 + 2 * label, 4:24] = 220
        head = struct.pack(">IIII", 2051, count, 28, 28)
        (raw / f"{name}-images-idx3-ubyte").write_bytes(head + images.tobytes())
        (raw / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 2049, count) + labels.tobytes())


def text(folder: Path) -> None:
    """Three files of sentences, as word-level language models read them."""
    folder.mkdir(parents=True, exist_ok=True)
    generator = random.Random(0)
    for name, lines in (("train", 400), ("valid", 60), ("test", 60)):
        some = [" ".join(generator.choices(WORDS, k=12)) for _ in range(lines)]
        (folder / f"{name}.txt").write_text("\n".join(some) + "\n")


def tokens(folder: Path) -> None:
    """Two files of 16-bit numbers, a sequence with a pattern in it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, count in (("train", 20_000), ("val", 4_000)):
        places = np.arange(count)
        (folder / f"{name}.bin").write_bytes(((places * 7 + places // 11) % 61).astype(np.uint16).tobytes())


MAKERS: dict[str, Callable[[Path], None]] = {"digits": digits, "text": text, "tokens": tokens}
