"""The worlds, and what is wrong in each bad one."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np

from bench.worlds.base import World
from bench.worlds.cases import case

# --- two inputs ------------------------------------------------------------------------------


def flats() -> World:
    rng = np.random.default_rng(901)
    made = World()
    for split, rows in (("train", 900), ("val", 300)):
        photo = rng.normal(0, 1, (rows, 24)).astype("float32")
        table = {
            "area": rng.normal(70, 18, rows).clip(18),
            "floor": rng.integers(0, 9, rows).astype(float),
            "year": rng.integers(1890, 2020, rows).astype(float),
            "distance": rng.gamma(3, 1.2, rows),
        }
        rent = 8 * table["area"] - 40 * table["distance"] + 25 * photo[:, 0] + rng.normal(0, 25, rows)
        made[split] = (photo, {**table, "rent": rent})
    return made


def write_flats(w: World, out: Path) -> None:
    for split in ("train", "val"):
        photo, table = w[split]
        (out / split).mkdir(parents=True)
        np.save(out / split / "photos.npy", photo)
        with (out / split / "flats.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(table)
            writer.writerows([f"{value:.3f}" for value in row] for row in zip(*table.values(), strict=True))


def flat(name: str, family: str, near: str):
    return case(name, family, "besides/scripts/flats.py", flats, write_flats, near)


@flat("second_input_in_feet", "data-scale", "data-order")
def _(w: World) -> None:
    """the newer export has the area in square feet; the table is the model's second input"""
    w["val"][1]["area"] *= 10.764


@flat("second_input_with_a_sentinel", "data-scale", "data-labels")
def _(w: World) -> None:
    """an unknown distance is written as -9999; the table is the model's second input"""
    w["train"][1]["distance"][::40] = -9999


# --- targets of several columns --------------------------------------------------------------


def joints() -> World:
    rng = np.random.default_rng(902)
    pull = rng.normal(0, 0.5, (8, 3)) * [0.6, 1.0, 0.3]
    made = World()
    for split, rows in (("train", 1000), ("val", 300)):
        x = rng.normal(0, 1, (rows, 8))
        y = np.tanh(x @ pull) + np.array([0.8, -0.4, 0.2]) + rng.normal(0, 0.05, (rows, 3))
        made[split] = {"x": x.astype("float32"), "y": y.astype("float32")}
    return made


def write_joints(w: World, out: Path) -> None:
    for split in ("train", "val"):
        np.savez(out / f"{split}.npz", **w[split])


def joint(name: str, family: str, near: str):
    return case(name, family, "besides/scripts/joints.py", joints, write_joints, near)


@joint("target_columns_exchanged", "data-labels", "data-order data-scale")
def _(w: World) -> None:
    """the validation file has hip and knee the other way round"""
    w["val"]["y"] = w["val"]["y"][:, [1, 0, 2]]


@joint("target_column_in_degrees", "data-scale", "data-labels")
def _(w: World) -> None:
    """the validation file has the second angle in degrees"""
    w["val"]["y"][:, 1] *= 57.2958


# --- targets of one file, or of the evaluation -------------------------------------------------


def greenhouse() -> World:
    rng = np.random.default_rng(903)
    pull = rng.normal(0, 1, 6)
    x = rng.normal(0, 1, (1500, 6)).astype("float32")
    y = (21 + 2.5 * np.tanh(x @ pull) + rng.normal(0, 0.3, 1500)).astype("float32")
    return World(parts=[[x[a : a + 250], y[a : a + 250].copy()] for a in range(0, 1500, 250)])


def write_greenhouse(w: World, out: Path) -> None:
    *shards, val = w["parts"]
    for at, (x, y) in enumerate(shards):
        np.savez(out / f"shard-{at}.npz", x=x, y=y)
    np.savez(out / "val.npz", x=val[0], y=val[1])


def house(name: str, family: str, near: str):
    return case(name, family, "besides/scripts/greenhouse.py", greenhouse, write_greenhouse, near)


@house("target_of_one_shard", "data-scale", "data-labels data-order")
def _(w: World) -> None:
    """one shard of five has its temperatures in Fahrenheit"""
    w["parts"][3][1] = (w["parts"][3][1] * 1.8 + 32).astype("float32")


@house("target_of_the_evaluation", "data-scale", "data-labels")
def _(w: World) -> None:
    """the validation file has its temperatures in kelvin"""
    w["parts"][5][1] = w["parts"][5][1] + 273.15


# --- words -----------------------------------------------------------------------------------


def tickets() -> World:
    rng = np.random.default_rng(904)
    parts = ("An", "be", "Cor", "du", "El", "fa", "Gor", "hu")
    words = [f"{a}{b}{c}" for a in parts for b in ("lo", "mi", "ra") for c in ("n", "st", "k")]
    own = [words[16 * k : 16 * k + 16] for k in range(4)]
    rare = iter(f"T{n}" for n in range(100000))

    def row() -> dict[str, object]:
        topic = int(rng.integers(4))
        text = list(rng.choice([*own[topic], *words[60:]], int(rng.integers(7, 13))))
        return {"text": " ".join([*text, next(rare)]), "topic": topic}

    return World(train=[row() for _ in range(900)], val=[row() for _ in range(300)])


def write_tickets(w: World, out: Path) -> None:
    for split in ("train", "val"):
        (out / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in w[split]))


@case(
    "val_in_capitals",
    "data-scale",
    "besides/scripts/tickets.py",
    tickets,
    write_tickets,
    "data-labels data-order",
)
def _(w: World) -> None:
    """the validation export is in capitals: no word of it is in the vocabulary"""
    for row in w["val"]:
        row["text"] = row["text"].upper()


# --- masks -----------------------------------------------------------------------------------


def glands() -> World:
    rng = np.random.default_rng(905)
    made = World(white={"train": 1, "val": 1})
    across, down = np.meshgrid(np.arange(24), np.arange(24))
    for split, rows in (("train", 240), ("val", 80)):
        at, to, wide = rng.uniform(6, 18, rows), rng.uniform(6, 18, rows), rng.uniform(3, 6, rows)
        mask = [(across - a) ** 2 + (down - b) ** 2 < c**2 for a, b, c in zip(at, to, wide, strict=True)]
        mask = np.stack(mask).astype("uint8")
        made[split] = ((90 + 60 * mask + rng.normal(0, 25, mask.shape)).clip(0, 255).astype("uint8"), mask)
    return made


def write_glands(w: World, out: Path) -> None:
    from PIL import Image

    for split in ("train", "val"):
        for kind, white, pictures in zip(("slices", "masks"), (1, w["white"][split]), w[split], strict=True):
            (out / split / kind).mkdir(parents=True)
            for at, pixels in enumerate(pictures):
                Image.fromarray(pixels * white).save(out / split / kind / f"{split}{at:03d}.png")


def gland(name: str, family: str, near: str):
    return case(name, family, "besides/scripts/glands.py", glands, write_glands, near)


@gland("val_masks_of_255", "data-scale", "data-labels")
def _(w: World) -> None:
    """the validation masks were saved to be looked at: 255 where the training masks have 1"""
    w["white"]["val"] = 255


# --- judged before it is trained ---------------------------------------------------------------


def ores() -> World:
    rng = np.random.default_rng(906)
    centre = rng.normal(0, 1, (5, 12))
    made = World()
    for split, rows in (("train", 1100), ("val", 300)):
        y = rng.integers(0, 5, rows)
        made[split] = {"x": (centre[y] + rng.normal(0, 1.2, (rows, 12))).astype("float32"), "y": y}
    return made


def write_ores(w: World, out: Path) -> None:
    import h5py

    for split in ("train", "val"):
        with h5py.File(out / f"{split}.h5", "w") as file:
            file["x"], file["y"] = w[split]["x"], w[split]["y"]


def ore(name: str, family: str, near: str):
    return case(name, family, "besides/scripts/ores.py", ores, write_ores, near)


@ore("baseline_on_training_rows", "data-order", "data-labels")
def _(w: World) -> None:
    """the validation rows are training rows; the first evaluation is before the first step"""
    w["val"] = {name: values[200:500].copy() for name, values in w["train"].items()}


@ore("labels_of_the_evaluation_off", "data-labels", "data-order")
def _(w: World) -> None:
    """the labels of the validation file are one row off, those of the training file are not"""
    w["val"]["y"] = np.roll(w["val"]["y"], 1)


@ore("evaluation_in_other_units", "data-scale", "data-labels")
def _(w: World) -> None:
    """one band of the validation file is in another unit; the first evaluation is before the first step"""
    w["val"]["x"][:, 4] = w["val"]["x"][:, 4] * 40
