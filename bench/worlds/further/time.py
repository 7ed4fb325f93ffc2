"""Sound, clocks, time zones, cutoffs."""

from __future__ import annotations

import csv
import json
import wave
from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np

from bench.worlds.base import World
from bench.worlds.cases import case


def calls() -> World:
    rng = np.random.default_rng(301)
    pitch = {"finch": 900.0, "heron": 1250.0, "raven": 1700.0, "wren": 2300.0}

    def sound(name: str, rate: int) -> np.ndarray:
        t = np.arange(int(0.16 * rate)) / rate
        base = pitch[name] * rng.uniform(0.95, 1.05)
        tone = np.sin(2 * np.pi * base * t) + 0.4 * np.sin(2 * np.pi * 1.5 * base * t + rng.uniform(0, 6))
        return 0.3 * tone * rng.uniform(0.6, 1) + rng.normal(0, 0.15, len(t))

    return World(sound=sound, names=list(pitch), rng=rng, rate=8000)


def write_calls(w: World, out: Path) -> None:
    for split, number in (("train", 320), ("val", 140)):
        (out / split).mkdir()
        rate = w["rate"] if split == "val" else 8000
        for at in range(number):
            name = str(w["rng"].choice(w["names"]))
            data = (w["sound"](name, rate).clip(-1, 1) * 32767).astype("<i2")
            with wave.open(str(out / split / f"{name}_{at:03d}.wav"), "wb") as file:
                file.setnchannels(1)
                file.setsampwidth(2)
                file.setframerate(rate)
                file.writeframes(data.tobytes())


@case("birds_other_rate", "data-scale", "further/scripts/birds.py", calls, write_calls, "data-augment shape")
def _(w: World) -> None:
    """the validation calls were recorded with 16 kHz, the training calls with 8 kHz"""
    w["rate"] = 16000


def grid() -> World:
    rng = np.random.default_rng(302)
    rows = []
    for at in range(2400):
        time = datetime.fromisoformat("2022-01-01") + timedelta(hours=at)
        cells = rng.normal(0, 1, 6)
        load = (
            60
            + 18 * np.sin(2 * np.pi * (time.hour - 7) / 24)
            + 6 * np.sin(4 * np.pi * time.hour / 24)
            + 3 * (time.weekday() < 5)
            + rng.normal(0, 5)
        )
        rows.append((time, 12 + 6 * np.sin(at / 300) + rng.normal(0, 3), load, cells))
    return World(rows=rows, zone=0, until=1800, start=1800)


def shown(time: datetime, zone: int) -> str:
    return time.replace(tzinfo=timezone.utc).astimezone(timezone(timedelta(hours=zone))).isoformat()


def put(path: Path, rows: list, zone: int | None) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["time", "temperature", "load", *(f"cell{k}" for k in range(6))])
        for time, temperature, load, cells in rows:
            when = time.isoformat() if zone is None else shown(time, zone)
            writer.writerow([when, f"{temperature:.2f}", f"{load:.3f}", *(f"{v:.4f}" for v in cells)])


def write_grid(w: World, out: Path) -> None:
    put(out / "train.csv", w["rows"][:1800], 0)
    put(out / "val.csv", w["rows"][1800:], w["zone"])


def write_cutoffs(w: World, out: Path) -> None:
    put(out / "load.csv", w["rows"], None)
    cut = {"train_until": w["until"], "val_from": w["start"]}
    times = {
        key: (datetime.fromisoformat("2022-01-01") + timedelta(hours=hours)).isoformat()
        for key, hours in cut.items()
    }
    (out / "split.json").write_text(json.dumps(times))


@case(
    "load_other_zone",
    "data-scale",
    "further/scripts/demand.py",
    grid,
    write_grid,
    "data-augment data-order data-labels",
)
def _(w: World) -> None:
    """the validation file has its times in +08:00, the training file in UTC"""
    w["zone"] = 8


@case(
    "load_cutoffs_overlap",
    "data-order",
    "further/scripts/demand.py",
    grid,
    write_cutoffs,
    "data-labels config",
    "--epochs 60",
)
def _(w: World) -> None:
    """training goes on until the end of March, validation begins in the middle of January"""
    w["until"], w["start"] = 2300, 400


def harbour() -> World:
    rng = np.random.default_rng(303)
    minute = np.sort(rng.integers(20_000, 60_000, 1600))
    angle = 2 * np.pi * minute / 62.1
    height = np.sin(angle) + 0.4 * np.cos(2 * angle) + rng.normal(0, 0.1, len(minute))
    order = rng.permutation(len(minute))
    return World(minutes=minute[order].astype("float64"), height=height[order].astype("float32"))


def write_harbour(w: World, out: Path) -> None:
    np.save(out / "minutes.npy", w["minutes"])
    np.save(out / "height.npy", w["height"])


@case(
    "tides_in_half_precision",
    "data-scale",
    "further/scripts/tides.py",
    harbour,
    write_harbour,
    "numerics-masked numerics-overflow data-labels",
)
def _(w: World) -> None:
    """minutes were stored in 16 bits: from 32,768 on they go in steps of 32"""
    w["minutes"] = w["minutes"].astype("float16")
