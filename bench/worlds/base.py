"""The good worlds: what each script of `scripts/` trains in. A case changes one thing before it is written."""

from __future__ import annotations

import csv
import io
import json
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

FEATURES = ("height", "slope", "rain", "soil", "age", "wind")
WORDS = [
    f"{a}{b}"
    for a in ("sta", "mo", "ril", "ken", "du", "pa", "vol", "fe")
    for b in ("ra", "lin", "tok", "mer", "sa")
]


class World(dict[str, Any]):
    """What will be written, by name; a case changes it in memory."""


# --- tables ----------------------------------------------------------------------------------


def orchard(seed: int, rows: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    made = {
        "height": rng.normal(420, 60, rows),
        "slope": rng.uniform(0, 30, rows),
        "rain": rng.normal(900, 120, rows),
        "soil": rng.normal(6.2, 0.5, rows),
        "age": rng.integers(2, 40, rows).astype(float),
        "wind": rng.gamma(4, 2, rows),
    }
    z = {name: (v - v.mean()) / v.std() for name, v in made.items()}
    score = (
        1.2 * z["height"] * np.tanh(z["rain"])
        + z["soil"]
        + 0.8 * np.sin(2 * z["slope"])
        + rng.normal(0, 0.15, rows)
    )
    made["yield"] = 30 + 8 * score
    made["kind"] = np.array(["ash", "birch", "cedar", "oak"])[np.digitize(score, (-1.0, 0.0, 1.0))]
    return made


def tabular(seed: int = 7) -> World:
    whole = orchard(seed, 1900)
    split = {name: (values[:1300], values[1300:]) for name, values in whole.items()}
    return World(
        train={n: v[0].copy() for n, v in split.items()}, valid={n: v[1].copy() for n, v in split.items()}
    )


def write_tabular(world: World, out: Path, suffix: str, encoding: str = "utf-8") -> None:
    for name in ("train", "valid"):
        table = world[name]
        rows = [
            {
                key: (round(float(v), 4) if isinstance(v, (float, np.floating)) else str(v))
                for key, v in zip(table, row, strict=True)
            }
            for row in zip(*table.values(), strict=True)
        ]
        path = out / f"{name}.{suffix}"
        if suffix == "csv":
            with path.open("w", newline="", encoding=encoding) as file:
                writer = csv.DictWriter(file, list(table))
                writer.writeheader()
                writer.writerows(rows)
        elif suffix == "jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        else:
            import pyarrow as pa
            import pyarrow.parquet as pq

            pq.write_table(pa.Table.from_pylist(rows), path)


# --- arrays ----------------------------------------------------------------------------------


def minerals(seed: int = 11, rows: int = 2000) -> World:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 5, rows)
    centre = rng.normal(0, 1.3, (5, 10))
    scale = np.array([1, 2, 40, 5, 0.3, 8, 100, 3, 1, 20])
    start = np.array([0, 30, 300, -20, 2, 55, 1000, 9, -4, 70])
    x = ((centre[y] + rng.normal(0, 1, (rows, 10))) * scale + start).astype("float32")
    cut = int(0.7 * rows)
    return World(tx=x[:cut].copy(), ty=y[:cut].copy(), vx=x[cut:].copy(), vy=y[cut:].copy())


def write_arrays(world: World, out: Path, suffix: str) -> None:
    for split, (x, y) in {"train": (world["tx"], world["ty"]), "val": (world["vx"], world["vy"])}.items():
        if suffix == "npz":
            np.savez(out / f"{split}.npz", x=x, y=y)
        elif suffix == "npy":
            np.save(out / f"x_{split}.npy", x)
            np.save(out / f"y_{split}.npy", y)
        elif suffix == "h5":
            import h5py

            with h5py.File(out / f"{split}.h5", "w") as file:
                file["x"], file["y"] = x, y
        else:
            import torch

            torch.save({"x": torch.from_numpy(x), "y": torch.from_numpy(y)}, out / f"{split}.pt")


# --- pictures --------------------------------------------------------------------------------


def tiles(seed: int = 13, train: int = 600, val: int = 240) -> World:
    rng = np.random.default_rng(seed)
    colours = np.array([[150, 90, 50], [120, 120, 60], [165, 105, 70], [135, 95, 40]])
    proto = rng.normal(0, 1, (4, 12, 12, 1))
    made = World()
    for split, number in (("train", train), ("val", val)):
        y = rng.integers(0, 4, number)
        x = (
            colours[y][:, None, None]
            + 14 * proto[y]
            + rng.normal(0, 16, (number, 12, 12, 3))
            + rng.normal(0, 9, (number, 1, 1, 1))
        )
        made[split] = (x.clip(0, 255).astype("uint8"), y)
    made["names"] = ["bog", "field", "heath", "wood"]
    return made


def write_tiles(world: World, out: Path, how: str) -> None:
    from PIL import Image

    for split in ("train", "val"):
        x, y = world[split]
        members = []
        for at, (pixels, label) in enumerate(zip(x, y, strict=True)):
            buffer = io.BytesIO()
            Image.fromarray(pixels).save(buffer, "PNG")
            members.append((f"{world['names'][label]}/{split}{at:04d}.png", buffer.getvalue()))
        if how == "folder":
            for name, data in members:
                path = out / split / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
        elif how == "zip":
            with zipfile.ZipFile(out / f"{split}.zip", "w") as archive:
                for name, data in members:
                    archive.writestr(zipfile.ZipInfo(name), data)
        else:
            with tarfile.open(out / f"{split}.tar", "w") as archive:
                for name, data in members:
                    info = tarfile.TarInfo(name)
                    info.size = len(data)
                    archive.addfile(info, io.BytesIO(data))
    if "stats" in world:
        (out / "stats.json").write_text(json.dumps(world["stats"]))


# --- series ----------------------------------------------------------------------------------


def bridge(seed: int = 17, rows: int = 1200) -> World:
    rng = np.random.default_rng(seed)
    x = rng.normal(0, 1, (rows, 16, 3)).cumsum(1) * 0.4 + rng.normal(0, 1, (rows, 1, 3))
    x = x * [3.0, 20.0, 0.5] + [18.0, 200.0, 1.2]
    z = (x - x.mean((0, 1))) / x.std((0, 1))
    y = z[:, -1, 0] + 0.7 * z[:, -3:, 1].mean(1) - 0.8 * z[:, :, 2].mean(1) + rng.normal(0, 0.1, rows)
    return World(x=x.astype("float32"), y=y.astype("float32"), parts=4)


def write_bridge(world: World, out: Path) -> None:
    x, y = world["x"], world["y"]
    cut = int(0.75 * len(x))
    target = np.zeros((len(x), 1, 3), "float32")
    target[:, 0, 0] = y
    whole = np.concatenate([x, target], 1)[:cut]
    for at, part in enumerate(np.array_split(whole, world["parts"])):
        change = world.get("change", {}).get(at)
        np.save(out / f"part-{at}.npy", part if change is None else change(part.copy()))
    np.savez(out / "val.npz", x=world.get("vx", x[cut:]), y=world.get("vy", y[cut:]))


# --- words -----------------------------------------------------------------------------------


def messages(seed: int = 19, train: int = 900, val: int = 300) -> World:
    rng = np.random.default_rng(seed)
    own = [WORDS[8 * k : 8 * k + 12] for k in range(4)]

    def row() -> dict[str, Any]:
        topic = int(rng.integers(4))
        pool = [*own[topic], *WORDS[32:]]
        return {"text": " ".join(rng.choice(pool, int(rng.integers(6, 12)))), "topic": topic}

    vocab = {word: at + 2 for at, word in enumerate(WORDS)}
    return World(
        train=[row() for _ in range(train)],
        val=[row() for _ in range(val)],
        vocab={"<pad>": 0, "<unk>": 1, **vocab},
    )


def write_messages(world: World, out: Path) -> None:
    for split in ("train", "val"):
        (out / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in world[split]))
    (out / "vocab.json").write_text(json.dumps(world["vocab"]))


# --- a checkpoint ----------------------------------------------------------------------------


def sums(seed: int = 23, rows: int = 1600) -> World:
    rng = np.random.default_rng(seed)
    x = rng.normal(0, 1, (rows, 8)).astype("float32")
    y = np.digitize(x[:, 0] * x[:, 1] + x[:, 2], (-0.5, 0.5))
    return World(x=x, y=y, epoch=1, trained=30)


def write_sums(world: World, out: Path) -> None:
    import torch
    from torch import nn

    np.savez(out / "sums.npz", x=world["x"], y=world["y"])
    torch.manual_seed(9)
    torch.set_num_threads(1)
    net = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    x, y = torch.from_numpy(world["x"]), torch.from_numpy(world["y"])
    for idx in torch.randperm(1200)[: 40 * world["trained"]].split(40):
        opt.zero_grad()
        nn.functional.cross_entropy(net(x[idx]), y[idx]).backward()
        opt.step()
    state = {
        "model": net.state_dict(),
        "optimizer": opt.state_dict(),
        "epoch": world["epoch"],
        "best_acc": 0.4,
    }
    world.get("spoil", lambda _state: None)(state)
    torch.save(state, out / "last.pt")


# --- limits ----------------------------------------------------------------------------------


def gait(seed: int = 29, rows: int = 1500) -> World:
    rng = np.random.default_rng(seed)
    y = rng.choice(4, rows, p=[0.55, 0.25, 0.13, 0.07])
    centre = rng.normal(0, 0.8, (4, 12))
    x = (centre[y] + rng.normal(0, 1, (rows, 12))).astype("float32")
    return World(x=x, y=y, weights=[0.3, 0.7, 1.3, 2.6])


def write_gait(world: World, out: Path) -> None:
    np.savez(out / "gait.npz", x=world["x"], y=world["y"])
    (out / "class_weights.json").write_text(json.dumps(world["weights"]))
    if "rows" in world:
        (out / "limits.json").write_text(json.dumps({"rows": world["rows"]}))
    if "env" in world:
        out.with_name(out.name + ".env.json").write_text(json.dumps(world["env"]))
