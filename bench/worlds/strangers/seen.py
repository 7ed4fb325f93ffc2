"""Pictures, masks and sound."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np

from bench.worlds.base import World
from bench.worlds.cases import case


def aerial() -> World:
    rng = np.random.default_rng(601)
    colour = np.array([[170, 150, 80], [60, 110, 50], [50, 80, 140]])
    made = World(turned=False)
    for split, number in (("train", 160), ("val", 60)):
        pictures, masks = [], []
        for _ in range(number):
            mask = np.zeros((16, 16), "uint8")
            # Water lies anywhere, a wood beside it: no side of the picture is that of one class.
            for label in (1, 2):
                top, left = rng.integers(0, 9, 2)
                mask[top : top + rng.integers(4, 9), left : left + rng.integers(4, 9)] = label
            pictures.append((colour[mask] + rng.normal(0, 22, (16, 16, 3))).clip(0, 255).astype("uint8"))
            masks.append(mask)
        made[split] = (pictures, masks)
    return made


def write_aerial(w: World, out: Path) -> None:
    from PIL import Image

    for split in ("train", "val"):
        for at, (picture, mask) in enumerate(zip(*w[split], strict=True)):
            turned = mask[::-1].copy() if split == "train" and w["turned"] else mask
            for name, pixels in (("images", picture), ("masks", turned)):
                path = out / split / name / f"{at:03d}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(pixels).save(path)


@case(
    "masks_upside_down",
    "data-augment",
    "strangers/scripts/fields.py",
    aerial,
    write_aerial,
    "data-labels data-order",
)
def _(w: World) -> None:
    """the training masks were exported with their origin at the bottom"""
    w["turned"] = True


def drops() -> World:
    rng = np.random.default_rng(602)
    shape = rng.normal(0, 1, (4, 16, 16))
    made = World(noise=0.08)
    for prefix, number in (("", 800), ("v", 300)):
        y = rng.integers(0, 4, number)
        x = 120 + 26 * shape[y] + rng.normal(0, 30, (number, 16, 16))
        made[f"{prefix}x"], made[f"{prefix}y"] = x.clip(0, 255).astype("uint8"), y
    return made


def write_drops(w: World, out: Path) -> None:
    np.savez(out / "plankton.npz", **{name: w[name] for name in ("x", "y", "vx", "vy")})
    (out / "augment.yaml").write_text(f"noise: {w['noise']}\n")


@case(
    "noise_in_percent",
    "data-augment",
    "strangers/scripts/plankton.py",
    drops,
    write_drops,
    "config data-scale",
)
def _(w: World) -> None:
    """the noise of the augmentation is 8 percent, and the file says 8"""
    w["noise"] = 8


_FLAWS = ["crack", "inclusion", "pore", "undercut"]


def xrays() -> World:
    rng = np.random.default_rng(603)
    shape = rng.normal(0, 1, (4, 12, 12))
    made = World(palette=False, stray=False, rng=rng)
    for split, number in (("train", 480), ("val", 200)):
        y = rng.integers(0, 4, number)
        made[split] = (
            (130 + 30 * shape[y] + rng.normal(0, 25, (number, 12, 12))).clip(0, 255).astype("uint8"),
            y,
        )
    return made


def write_xrays(w: World, out: Path) -> None:
    from PIL import Image

    for split in ("train", "val"):
        for at, (pixels, label) in enumerate(zip(*w[split], strict=True)):
            path = out / split / _FLAWS[label] / f"{split}{at:03d}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            picture = Image.fromarray(pixels)
            if split == "val" and w["palette"]:
                # What an optimizer of file sizes does: the greys of the picture, in the order of their first pixel.
                greys, first = np.unique(pixels, return_index=True)
                greys = greys[np.argsort(first)]
                place = np.zeros(256, "uint8")
                place[greys] = np.arange(len(greys))
                picture = Image.fromarray(place[pixels], "P")
                picture.putpalette([int(v) for grey in greys for v in (grey, grey, grey)])
            picture.save(path)
    if w["stray"]:
        stray = out / "val" / ".ipynb_checkpoints"
        stray.mkdir()
        first = next((out / "val" / "crack").glob("*.png"))
        (stray / "look-checkpoint.png").write_bytes(first.read_bytes())


@case(
    "scans_with_a_palette",
    "data-scale",
    "strangers/scripts/welds.py",
    xrays,
    write_xrays,
    "data-augment data-order shape",
)
def _(w: World) -> None:
    """the validation scans were made smaller: each pixel is a place in a palette"""
    w["palette"] = True


@case("a_folder_of_notebooks", "data-labels", "strangers/scripts/welds.py", xrays, write_xrays, "data-order")
def _(w: World) -> None:
    """a notebook left .ipynb_checkpoints among the folders of the classes: each label is one more"""
    w["stray"] = True


def motors() -> World:
    rng = np.random.default_rng(604)
    base = np.array([520.0, 760.0, 1020.0, 1380.0])

    def sound(bearing: int) -> np.ndarray:
        t = np.arange(4096) / 8000
        pitch = base[bearing] * rng.uniform(0.96, 1.04)
        tone = np.sin(2 * np.pi * pitch * t) + 0.3 * np.sin(2 * np.pi * 2 * pitch * t + rng.uniform(0, 6))
        return 0.3 * tone * rng.uniform(0.6, 1) + rng.normal(0, 0.25, len(t))

    return World(sound=sound, rng=rng, channels=1)


def write_motors(w: World, out: Path) -> None:
    for split, number in (("train", 300), ("val", 120)):
        (out / split).mkdir()
        channels = w["channels"] if split == "val" else 1
        for at in range(number):
            bearing = int(w["rng"].integers(4))
            data = (w["sound"](bearing).clip(-1, 1) * 32767).astype("<i2")
            with wave.open(str(out / split / f"{bearing}_{at:03d}.wav"), "wb") as file:
                file.setnchannels(channels)
                file.setsampwidth(2)
                file.setframerate(8000)
                file.writeframes(np.repeat(data, channels).tobytes())


@case(
    "engines_in_stereo",
    "data-scale",
    "strangers/scripts/engines.py",
    motors,
    write_motors,
    "data-augment shape",
)
def _(w: World) -> None:
    """the validation recordings have two channels, and each sample comes twice"""
    w["channels"] = 2
