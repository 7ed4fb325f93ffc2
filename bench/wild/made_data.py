"""Data that the scripts need, made by us: small, learnable, the same every time."""

from __future__ import annotations

import gzip
import pickle
import random
import struct
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
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
    for seed, (name, count) in enumerate((("train", 20_000), ("val", 4_000))):
        steps = np.random.default_rng(seed).choice(4, count, p=(0.7, 0.1, 0.1, 0.1))  # no passage comes again
        (folder / f"{name}.bin").write_bytes(
            ((7 * np.arange(count) + steps.cumsum()) % 61).astype(np.uint16).tobytes()
        )


def raw_bytes(folder: Path) -> None:
    """A compressed file of characters, as character models read the encyclopedia."""
    folder.mkdir(parents=True, exist_ok=True)
    generator = random.Random(0)
    (folder / "enwik8.gz").write_bytes(
        gzip.compress(" ".join(generator.choices(WORDS, k=30_000)).encode(), mtime=0)
    )


def pictures10(folder: Path, train: int = 400, test: int = 100) -> None:
    """Files of CIFAR-10's format: each class has a colour and a bar at a place of its own, with noise."""
    there = folder / "cifar-10-batches-py"
    there.mkdir(parents=True, exist_ok=True)
    numbers = np.random.default_rng(0)
    for name, count in [(f"data_batch_{i}", train // 5) for i in range(1, 6)] + [("test_batch", test)]:
        labels = numbers.permutation(np.arange(count) % 10)
        images = numbers.integers(0, 80, (count, 3, 32, 32)).astype(np.uint8)
        for image, label in zip(images, labels, strict=True):
            image[label % 3, 3 * label : 3 * label + 4, 4:28] = 240
        whole = {"data": images.reshape(count, -1), "labels": labels.tolist(), "filenames": []}
        (there / name).write_bytes(pickle.dumps(whole))
    names = {"label_names": [f"class{i}" for i in range(10)], "num_cases_per_batch": train // 5}
    (there / "batches.meta").write_bytes(pickle.dumps(names))


def table(folder: Path, rows: int = 500) -> None:
    """A table of seven waves by the hour, as forecasting models read it."""
    folder.mkdir(parents=True, exist_ok=True)
    numbers, began = np.random.default_rng(0), datetime(2020, 1, 1, tzinfo=timezone.utc)
    lines = ["date,HUFL,HULL,MUFL,MULL,LUFL,LULL,OT"]
    for row in range(rows):
        waves = [np.sin(row * 2 * np.pi / (12 + 5 * k)) + 0.1 * numbers.normal() for k in range(7)]
        lines.append(
            ",".join(
                [f"{began + timedelta(hours=row):%Y-%m-%d %H:%M:%S}", *(f"{wave:.4f}" for wave in waves)]
            )
        )
    (folder / "made.csv").write_text("\n".join(lines) + "\n")


def ratings(folder: Path, count: int = 3000) -> None:
    """Who liked what, as recommenders read it: users like items of their own kind."""
    folder.mkdir(parents=True, exist_ok=True)
    generator = random.Random(0)
    lines = []
    for time in range(count):
        user, item = generator.randint(1, 60), generator.randint(1, 80)
        score = generator.choice((4, 5)) if user % 3 == item % 3 else generator.choice((1, 2))
        lines.append(f"{user}::{item}::{score}::{time}")
    (folder / "ratings.dat").write_text("\n".join(lines) + "\n")


def citations(folder: Path, papers: int = 1505) -> None:
    """A graph of papers with words and subjects, in cora's two files."""
    folder.mkdir(parents=True, exist_ok=True)
    numbers = np.random.default_rng(0)
    subjects = np.arange(papers) % 7
    words = (numbers.random((papers, 70)) < 0.05).astype(int)
    for paper, subject in enumerate(subjects):
        words[paper, subject * 10 + numbers.integers(0, 10, 4)] = 1
    content = [f"{1000 + i}\t" + "\t".join(map(str, words[i])) + f"\tS{subjects[i]}" for i in range(papers)]
    (folder / "cora.content").write_text("\n".join(content) + "\n")
    pairs = [
        (i, int(numbers.integers(0, papers // 7)) * 7 + int(subjects[i]))
        for i in range(papers)
        for _ in range(3)
    ]
    cites = [f"{1000 + a}\t{1000 + b}" for a, b in pairs if a != b and b < papers]
    (folder / "cora.cites").write_text("\n".join(cites) + "\n")


def graphs(folder: Path, count: int = 100) -> None:
    """Small graphs of two kinds, rings and stars, in the text format of the graph kernels' sets."""
    folder.mkdir(parents=True, exist_ok=True)
    generator = random.Random(0)
    lines = [str(count)]
    for one in range(count):
        size, kind = generator.randint(5, 9), one % 2
        lines.append(f"{size} {kind}")
        for node in range(size):
            ring = [(node - 1) % size, (node + 1) % size]
            star = list(range(1, size)) if node == 0 else [0]
            near = star if kind else ring
            lines.append(" ".join(map(str, [generator.randint(0, 2), len(near), *near])))
    (folder / f"{folder.name}.txt").write_text("\n".join(lines) + "\n")


def points(folder: Path, each: int = 6) -> None:
    """Clouds of points with normals, ten classes of boxes of different proportions, in ModelNet's folders."""
    folder.mkdir(parents=True, exist_ok=True)
    numbers = np.random.default_rng(0)
    names = [f"shape{i}" for i in range(10)]
    (folder / "modelnet10_shape_names.txt").write_text("\n".join(names) + "\n")
    for half, first in (("train", 1), ("test", 1 + each)):
        listed = [f"{name}_{first + i:04d}" for name in names for i in range(each if half == "train" else 2)]
        (folder / f"modelnet10_{half}.txt").write_text("\n".join(listed) + "\n")
        for one in listed:
            kind = int(one[5:].split("_")[0])
            cloud = numbers.normal(size=(128, 6))
            cloud[:, :3] *= (1 + kind % 3, 1 + kind // 3, 1)
            there = folder / one.rsplit("_", 1)[0]
            there.mkdir(exist_ok=True)
            np.savetxt(there / f"{one}.txt", cloud, delimiter=",", fmt="%.5f")


def masks(folder: Path, count: int = 10, side: int = 64) -> None:
    """Pictures with a bright square, and where it is."""
    from PIL import Image

    numbers = np.random.default_rng(0)
    for part in ("imgs", "masks"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    for one in range(count):
        picture = numbers.integers(0, 90, (side, side, 3)).astype(np.uint8)
        mask = np.zeros((side, side), np.uint8)
        top, left = numbers.integers(0, side // 2, 2)
        mask[top : top + side // 3, left : left + side // 3] = 1
        picture[mask == 1] = 230
        Image.fromarray(picture).save(folder / "imgs" / f"{one}.png")
        Image.fromarray(mask).save(folder / "masks" / f"{one}.png")


def names(folder: Path) -> None:
    """Family names of three made-up languages, one file each."""
    folder.mkdir(parents=True, exist_ok=True)
    generator = random.Random(0)
    for language, letters in (("Abba", "abdorin"), ("Ellish", "elmisu"), ("Kotz", "kotzyg")):
        some = ["".join(generator.choices(letters, k=generator.randint(4, 8))).title() for _ in range(60)]
        (folder / f"{language}.txt").write_text("\n".join(some) + "\n")


def empty(folder: Path) -> None:
    """A folder that a script writes to and does not make."""
    folder.mkdir(parents=True, exist_ok=True)


MAKERS: dict[str, Callable[[Path], None]] = {
    "bytes": raw_bytes,
    "citations": citations,
    "digits": digits,
    "empty": empty,
    "graphs": graphs,
    "masks": masks,
    "names": names,
    "pictures10": pictures10,
    "points": points,
    "ratings": ratings,
    "table": table,
    "text": text,
    "tokens": tokens,
}
