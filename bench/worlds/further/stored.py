"""Parquet codes, caches, links, logs."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import numpy as np

from bench.worlds.base import World
from bench.worlds.cases import case

_GRAPES = "syrah merlot gamay malbec tannat carignan grenache barbera".split()
_REGIONS = "north coast valley hills south lake".split()


def cellar() -> World:
    rng = np.random.default_rng(401)
    effect = rng.normal(0, 1.5, (8, 6))
    made = World(orders={})
    for split, number in (("train", 1000), ("val", 400)):
        grape, region = rng.integers(0, 8, number), rng.integers(0, 6, number)
        numbers = rng.normal(0, 1, (number, 2))
        score = effect[grape, region] + 0.5 * numbers[:, 0] + rng.normal(0, 0.3, number)
        made[split] = (grape, region, numbers, np.digitize(score, (-0.7, 0.7)))
    return made


def write_cellar(w: World, out: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    for split in ("train", "val"):
        grape, region, numbers, grade = w[split]
        columns = {}
        for name, codes, words in (("grape", grape, _GRAPES), ("region", region, _REGIONS)):
            order = w["orders"].get((split, name), words)
            indices = np.array([order.index(words[at]) for at in codes], "int8")
            columns[name] = pa.DictionaryArray.from_arrays(pa.array(indices), pa.array(order))
        columns |= {"sugar": numbers[:, 0], "acid": numbers[:, 1], "grade": grade}
        pq.write_table(pa.table(columns), out / f"{split}.parquet")


@case(
    "parquet_codes_apart",
    "data-labels",
    "further/scripts/wines.py",
    cellar,
    write_cellar,
    "data-order data-scale config",
)
def _(w: World) -> None:
    """the validation file numbers its grapes by the alphabet, the training file as they came"""
    w["orders"] = {("val", "grape"): sorted(_GRAPES), ("val", "region"): sorted(_REGIONS)}


def visitors() -> World:
    rng = np.random.default_rng(402)
    weights = rng.normal(0, 1, 20)

    def rows(number: int) -> list[dict[str, float]]:
        x = rng.normal(0, 1, (number, 20))
        y = (x @ weights + 1.5 * x[:, 0] * x[:, 1] + rng.normal(0, 2, number)) > 0
        return [
            {**{f"f{k:02d}": round(float(v), 4) for k, v in enumerate(row)}, "returned": int(label)}
            for row, label in zip(x, y, strict=True)
        ]

    return World(train=rows(1500), val=rows(300), kept=1.0)


def write_visitors(w: World, out: Path) -> None:
    for split in ("train", "val"):
        text = "".join(json.dumps(row) + "\n" for row in w[split])
        if split == "train":
            text = text[: int(w["kept"] * len(text))]
        (out / f"{split}.jsonl").write_text(text)


@case("log_cut_in_a_line", "data-empty", "further/scripts/clicks.py", visitors, write_visitors, "config")
def _(w: World) -> None:
    """the copy broke off after a twentieth of the training log, in the middle of a line"""
    w["kept"] = 0.0503


def compounds() -> World:
    rng = np.random.default_rng(403)
    rows = []
    for _ in range(900):
        counts = rng.integers(0, 9, 8)
        formula = "".join(letter * n for letter, n in zip("CHNOSFPK", counts, strict=True))
        value = -0.5 * counts[0] + 0.7 * np.sqrt(counts[3]) + 0.3 * counts[2] + rng.normal(0, 0.2)
        rows.append((formula, round(float(value), 4)))
    return World(rows=rows)


def write_compounds(w: World, out: Path) -> None:
    path, cache = out / "molecules.csv", out / "descriptors.npy"
    rows = w["rows"]
    counts = np.array([[formula.count(letter) for letter in "CHNOSFPK"] for formula, _ in rows], "float32")
    np.save(cache, np.concatenate([counts, np.sqrt(counts)], 1))
    if w.get("sorted"):
        rows = sorted(rows)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["formula", "solubility"])
        writer.writerows(rows)
    then = path.stat().st_mtime
    os.utime(cache, (then - 86_400 * 9,) * 2 if w.get("sorted") else (then + 60,) * 2)


@case(
    "cache_of_older_table",
    "data-order",
    "further/scripts/molecules.py",
    compounds,
    write_compounds,
    "data-labels config persistence eval-stale environment",
)
def _(w: World) -> None:
    """the table was sorted after the descriptors had been kept"""
    w["sorted"] = True


def sky() -> World:
    rng = np.random.default_rng(404)
    made = World()
    for split, number in (("train", 400), ("val", 200)):
        y = rng.integers(0, 3, number)
        centre = np.random.default_rng(8).normal(0, 0.35, (3, 24))
        x = centre[y] + rng.normal(0, 1, (number, 24))
        made[split] = np.concatenate([x, y[:, None]], 1).astype("float32")
    return made


def write_sky(w: World, out: Path) -> None:
    for split in ("train", "val"):
        if w.get("linked") == split:
            (out / split).symlink_to("train", target_is_directory=True)
        else:
            (out / split).mkdir()
            np.save(out / split / "curves.npy", w[split])


@case(
    "val_is_a_link_to_train",
    "data-order",
    "further/scripts/stars.py",
    sky,
    write_sky,
    "data-labels eval-stale config",
)
def _(w: World) -> None:
    """val is a link to train"""
    w["linked"] = "val"
