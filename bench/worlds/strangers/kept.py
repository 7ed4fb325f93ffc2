"""Caches, encoders, tokens, and the order of parts."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from bench.worlds.base import World
from bench.worlds.cases import case


def wood() -> World:
    rng = np.random.default_rng(801)
    peaks = rng.normal(0, 0.6, (4, 48))
    made = World(kept=None)
    for split, number in (("train", 420), ("val", 160)):
        y = rng.integers(0, 4, number)
        made[split] = ((peaks[y] + rng.normal(0, 1.4, (number, 48))).astype("float32"), y)
    return made


def write_wood(w: World, out: Path) -> None:
    import torch

    kinds = ["beech", "larch", "maple", "spruce"]
    for split in ("train", "val"):
        raw = out / split / "raw"
        raw.mkdir(parents=True)
        for at, (row, label) in enumerate(zip(*w[split], strict=True)):
            path = raw / f"{at:04d}-{kinds[label]}.csv"
            path.write_text(",".join(f"{v:.4f}" for v in row))
            os.utime(path, (1.7e9, 1.7e9))
        smooth = np.stack([np.convolve(row, np.ones(5) / 5, "same")[::2] for row in w[split][0]])
        rows = len(smooth) if split == "val" or w["kept"] is None else w["kept"]
        x, y = torch.from_numpy(smooth.astype("float32")[:rows]), torch.from_numpy(w[split][1][:rows])
        torch.save((x, y), out / split / "spectra.pt")


@case(
    "cache_of_a_trial",
    "data-empty",
    "strangers/scripts/lignin.py",
    wood,
    write_wood,
    "persistence data-order data-labels config",
)
def _(w: World) -> None:
    """the cache was written by a trial with the first 30 of 420 spectra, and is younger than they are"""
    w["kept"] = 30


def melodies() -> World:
    rng = np.random.default_rng(802)
    go = np.zeros((36, 36))
    for note in range(36):
        for step, share in ((2, 0.4), (-1, 0.3), (5, 0.2), (-7, 0.1)):
            go[note, (note + step) % 36] += share

    def tune() -> np.ndarray:
        row = np.zeros(20, "int16")
        note = int(rng.integers(36))
        row[0] = 1
        for at in range(1, int(rng.integers(12, 20))):
            note = int(rng.choice(36, p=go[note]))
            row[at] = note + 2
        return row

    return World(train=np.stack([tune() for _ in range(400)]), val=np.stack([tune() for _ in range(150)]))


def write_melodies(w: World, out: Path) -> None:
    for split in ("train", "val"):
        np.save(out / f"{split}.npy", w[split])


@case(
    "one_more_special_token",
    "data-scale",
    "strangers/scripts/folk.py",
    melodies,
    write_melodies,
    "data-labels data-order config",
)
def _(w: World) -> None:
    """the validation tunes come from a later tokenizer: every note has the next number"""
    w["val"] = np.where(w["val"] > 1, w["val"] + 1, w["val"]).astype("int16")


def shells() -> World:
    rng = np.random.default_rng(803)
    centre = rng.normal(0, 0.5, (6, 20))
    scale, start = rng.uniform(0.5, 6, 20), rng.normal(0, 8, 20)
    made = World(counted=True)
    for prefix, number in (("", 900), ("v", 360)):
        y = rng.integers(0, 6, number)
        made[f"{prefix}x"] = ((centre[y] + rng.normal(0, 1, (number, 20))) * scale + start).astype("float32")
        made[f"{prefix}y"] = y
    return made


def write_shells(w: World, out: Path) -> None:
    import torch
    from torch import nn

    np.savez(out / "shells.npz", **{name: w[name] for name in ("x", "y", "vx", "vy")})
    torch.manual_seed(1)
    torch.set_num_threads(1)
    body = nn.Sequential(
        nn.Linear(20, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 32), nn.BatchNorm1d(32), nn.ReLU()
    )
    net = nn.Sequential(body, nn.Linear(32, 6))
    opt = torch.optim.AdamW(net.parameters(), lr=5e-3)
    x, y = torch.from_numpy(w["x"]), torch.from_numpy(w["y"])
    for _ in range(150):
        idx = torch.randint(len(x), (64,))
        opt.zero_grad()
        nn.functional.cross_entropy(net(x[idx]), y[idx]).backward()
        opt.step()
    if not w["counted"]:
        for part in body:
            if isinstance(part, nn.BatchNorm1d):
                part.reset_running_stats()
    torch.save(body.state_dict(), out / "encoder.pt")


@case(
    "statistics_never_counted",
    "checkpoint",
    "strangers/scripts/shells.py",
    shells,
    write_shells,
    "eval-mode data-scale persistence init-saturation",
)
def _(w: World) -> None:
    """the encoder was trained, and its running statistics are those of a new layer"""
    w["counted"] = False


def curves() -> World:
    rng = np.random.default_rng(804)
    shape = rng.normal(0, 0.7, (4, 24))
    y = rng.integers(0, 4, 1560)
    x = (shape[y] + rng.normal(0, 1, (1560, 24))).astype("float32")
    return World(x=x, y=y, name="curves_{:02d}.npy")


def write_curves(w: World, out: Path) -> None:
    # Parts of different lengths, as nights are.
    cuts = np.cumsum([150, 110, 130, 90, 140, 120, 160, 100, 130, 150, 110, 90])
    for at, part in enumerate(np.split(w["x"], cuts)):
        np.save(out / w["name"].format(at + 1), part)
    np.save(out / "kinds.npy", w["y"])


@case(
    "parts_without_zeros",
    "data-order",
    "strangers/scripts/comets.py",
    curves,
    write_curves,
    "data-labels",
)
def _(w: World) -> None:
    """the parts are numbered without zeros: by name, the tenth comes after the first"""
    w["name"] = "curves_{}.npy"
