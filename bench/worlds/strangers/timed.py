"""Clocks that are numbers, hours that are missing."""

from __future__ import annotations

import csv
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

from bench.worlds.base import World
from bench.worlds.cases import case

_BEGIN = 1_640_995_200


def bicycles() -> World:
    rng = np.random.default_rng(701)
    rows = []
    drift = 0.0
    for at in range(2200):
        hour, day = at % 24, at // 24
        drift = 0.97 * drift + rng.normal(0, 1.2)
        busy = 30 + 22 * np.sin(np.pi * (hour - 6) / 12) ** 2 * (1.0 if day % 7 < 5 else 0.5)
        temperature = 9 + 6 * np.sin(2 * np.pi * (hour - 9) / 24) + 4 * np.sin(at / 200) + rng.normal(0, 1)
        rows.append(
            (
                _BEGIN + 3600 * at + int(rng.integers(0, 50)),
                temperature,
                rng.gamma(3, 1.5),
                rng.uniform(0, 1),
                busy + temperature + 2 * drift,
            )
        )
    return World(train=rows[:1700], val=rows[1700:], rows=rows, factor=1)


def write_bicycles(w: World, out: Path) -> None:
    for split in ("train", "val"):
        with (out / f"{split}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["ts", "temperature", "wind", "cloud", "rides"])
            for ts, *values in w[split]:
                writer.writerow([ts * (w["factor"] if split == "val" else 1), *(f"{v:.3f}" for v in values)])


@case(
    "rides_of_the_same_weeks",
    "data-order",
    "strangers/scripts/rides.py",
    bicycles,
    write_bicycles,
    "data-labels data-augment",
)
def _(w: World) -> None:
    """the split was drawn by chance: each hour of the validation lies between two hours of the training"""
    order = np.random.default_rng(1).permutation(len(w["rows"]))
    w["train"] = [w["rows"][at] for at in sorted(order[:1700])]
    w["val"] = [w["rows"][at] for at in sorted(order[1700:])]


@case(
    "rides_in_milliseconds",
    "data-scale",
    "strangers/scripts/rides.py",
    bicycles,
    write_bicycles,
    "data-order data-labels",
)
def _(w: World) -> None:
    """the validation file counts milliseconds"""
    w["factor"] = 1000


def melt() -> World:
    rng = np.random.default_rng(702)
    at = np.arange(2600)
    flow = (
        40
        + 16 * np.sin(2 * np.pi * (at % 24 - 10) / 24)
        + 6 * np.sin(at / 90)
        + np.convolve(rng.normal(0, 2, 2600), np.ones(4) / 2, "same")
    )
    begin = datetime.fromisoformat("2021-05-01")
    return World(rows=[(begin + timedelta(hours=int(k)), v) for k, v in zip(at, flow, strict=True)], keep=1)


def write_melt(w: World, out: Path) -> None:
    for split, rows in (("train", w["rows"][:1900]), ("val", w["rows"][1900:])):
        with (out / f"{split}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["hour", "flow"])
            for time, flow in rows[:: w["keep"]] if split == "train" else rows:
                writer.writerow([time.isoformat(), f"{flow:.3f}"])


@case(
    "every_third_hour",
    "data-order",
    "strangers/scripts/glacier.py",
    melt,
    write_melt,
    "data-scale data-augment data-empty",
)
def _(w: World) -> None:
    """the training export kept every third hour, the script counts rows as hours"""
    w["keep"] = 3
