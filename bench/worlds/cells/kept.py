"""State and settings: checkpoints, configuration files, the environment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from bench.worlds.base import World
from bench.worlds.cells.made import boundary, write_csv

# --- a checkpoint ----------------------------------------------------------------------------


def resumed() -> World:
    rng = np.random.default_rng(71)
    y = rng.integers(0, 4, 1200)
    x = (rng.normal(0, 1, (4, 10))[y] + rng.normal(0, 0.9, (1200, 10))).astype("float32")
    return World(
        x=x,
        y=y,
        setup={"classes": ["a", "b", "c", "d"], "lr": 0.003, "weight_decay": 1e-5, "epochs": 24},
        state={},
    )


def write_resumed(w: World, out: Path) -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    np.savez(out / "cells.npz", x=w["x"], y=w["y"])
    (out / "setup.json").write_text(json.dumps(w["setup"]))
    told: dict[str, Any] = {
        "classes": 4,
        "width": 64,
        "rate": 0.003,
        "epochs": 24,
        "done": 4,
        "best": 0.0,
        "scale": 1.0,
    } | w["state"]
    model = nn.Sequential(nn.Linear(10, told["width"]), nn.ReLU(), nn.Linear(told["width"], told["classes"]))
    optimizer = torch.optim.Adam(model.parameters(), lr=told["rate"], weight_decay=told.get("decay", 1e-5))
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=told["epochs"])
    x, y = torch.from_numpy(w["x"][:900]), torch.from_numpy(w["y"][:900]).long() % told["classes"]
    for _ in range(told["done"]):
        for batch in torch.randperm(900).split(64):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x[batch]), y[batch]).backward()
            optimizer.step()
        scheduler.step()
    accuracy = (model(x).argmax(1) == y).float().mean().item()
    state = {
        "model": {f"{told.get('prefix', '')}{k}": v * told["scale"] for k, v in model.state_dict().items()},
        "optimizer": optimizer.state_dict(),
        "scheduler": scheduler.state_dict(),
        "epoch": told.get("counter", told["done"]),
        "best": told["best"] or accuracy - 0.03,
    }
    torch.save(state, out / "last.pt")


state = boundary("resumed", resumed, write_resumed)


@state("resumed_schedule_is_spent", "rate|schedule")
def _(w: World) -> None:
    """checkpoint x of another run: the schedule of a shorter run has ended, the rate is next to nothing"""
    w["state"] = {"epochs": 4, "done": 4}


@state("resumed_epochs_are_done", "epoch|no step|trained")
def _(w: World) -> None:
    """checkpoint x stale: all epochs are done, and nothing is trained"""
    w["state"] = {"counter": 24}


@state("resumed_record_of_another_run", "best|record")
def _(w: World) -> None:
    """checkpoint x of another run: the record is that of another task, and no model is ever kept"""
    w["state"] = {"best": 1.7}


@state("resumed_prefix_of_another_wrapper", "key|prefix|module")
def _(w: World) -> None:
    """checkpoint x disjoint keys: keys begin with `module.`"""
    w["state"] = {"prefix": "module.", "done": 20, "counter": 21}


@state("resumed_rate_of_another_run", "rate|lr")
def _(w: World) -> None:
    """checkpoint x of another run: the rate and the decay in the optimizer are those of another run"""
    w["state"] = {"rate": 3e-8, "epochs": 24, "decay": 0.3}


@state("resumed_weights_too_large", "weight|scale|large|last.pt|loss")
def _(w: World) -> None:
    """checkpoint x another unit: weights were stored times a loss scale"""
    w["state"] = {"scale": 65536.0}


# --- configuration and environment -----------------------------------------------------------


def wine() -> World:
    rng = np.random.default_rng(72)
    regions = ["DE", "FR", "NO", "PT"]
    centre = rng.normal(0, 1.3, (4, 6))
    names = ["acid", "sugar", "alcohol", "ash", "hue", "tannin"]
    scale, start = np.array([0.5, 4, 1.2, 0.3, 0.2, 0.6]), np.array([5, 9, 12, 2.3, 1, 2])
    rows = []
    for _ in range(1400):
        kind = int(rng.choice(4, p=[0.3, 0.3, 0.25, 0.15]))
        values = (centre[kind] + rng.normal(0, 1, 6)) * scale + start
        rows.append(
            {**{n: round(float(v), 3) for n, v in zip(names, values, strict=True)}, "region": regions[kind]}
        )
    config = {
        "regions": [f'"{region}"' for region in regions],
        "features": names,
        "train_share": 0.75,
        "normalize": "true",
        "weights": "{}",
        "dropout": 0.1,
        "lr": 0.01,
        "batch_size": 32,
        "epochs": 14,
    }
    return World(rows=rows, config=config, env={})


def write_wine(w: World, out: Path) -> None:
    write_csv(out / "wine.csv", w["rows"])
    lines = [f"{k}: [{', '.join(v)}]" if isinstance(v, list) else f"{k}: {v}" for k, v in w["config"].items()]
    (out / "config.yaml").write_text("\n".join(lines) + "\n")
    if w["env"]:
        out.with_name(f"{out.name}.env.json").write_text(json.dumps(w["env"]))


glass = boundary("configured", wine, write_wine)


@glass("wine_norway_is_false", "NO|regions|False|config.yaml")
def _(w: World) -> None:
    """YAML x another type: without quotation marks, NO is False, and a class is passed over"""
    w["config"]["regions"] = ["DE", "FR", "NO", "PT"]


@glass("wine_normalize_is_a_text", "normalize")
def _(w: World) -> None:
    """YAML x another type: a text that says false is true; here the other way: an empty text"""
    w["config"]["normalize"] = '""'
    for row in w["rows"]:
        row["sugar"] = round(row["sugar"] * 900, 1)


@glass("wine_rows_of_a_smoke_test", "WINE_ROWS")
def _(w: World) -> None:
    """env x of another run: WINE_ROWS is still set from a smoke test"""
    w["env"] = {"WINE_ROWS": "60"}


@glass("wine_rate_of_the_environment", "WINE_LR|rate")
def _(w: World) -> None:
    """env x of another run: WINE_LR overrules the configuration"""
    w["env"] = {"WINE_LR": "0.0000001"}


@glass("wine_weights_of_other_classes", "weights|weight")
def _(w: World) -> None:
    """class weights x another order: the weights are frequencies and not their inverse, of other regions"""
    w["config"]["weights"] = "{DE: 0.002, FR: 0.002, 'NO': 0.002, PT: 40.0}"


@glass("wine_features_named_twice", "features|sugar|column")
def _(w: World) -> None:
    """YAML x of another run: the list of features is that of another table with the same names for other things"""
    w["config"]["features"] = ["ash", "ash", "ash"]


@glass("wine_share_in_percent", "train_share|validation|training")
def _(w: World) -> None:
    """YAML x another unit: the share for training leaves four rows"""
    w["config"]["train_share"] = 0.003


@glass("wine_dropout_of_percent", "dropout")
def _(w: World) -> None:
    """YAML x another unit: dropout keeps what it should leave out"""
    w["config"]["dropout"] = 0.97


@glass("wine_regions_in_two_spellings", "region")
def _(w: World) -> None:
    """labels x mixed: a part of the table has small letters, and is passed over"""
    for at, row in enumerate(w["rows"]):
        if at % 10 and row["region"] in {"DE", "PT"}:
            row["region"] = row["region"].lower()
