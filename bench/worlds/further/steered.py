"""Environment, configuration, checkpoints."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from bench.worlds.base import World
from bench.worlds.cases import case

_CONFIG = "epochs: 15\nlr: 0.002\nrows: {rows}\nmask_inputs: {mask}\n"
_STEERED = "environment data-empty"


def pump() -> World:
    rng = np.random.default_rng(501)
    centre = rng.normal(0, 0.5, (4, 16))
    made = World(rows="0", mask="false")
    for prefix, number in (("", 1200), ("v", 400)):
        y = rng.integers(0, 4, number)
        bent = centre[y] * (1 + (np.arange(16) % 3))
        made[f"{prefix}x"], made[f"{prefix}y"] = (
            (bent + rng.normal(0, 1.6, (number, 16))).astype("float32"),
            y,
        )
    return made


def write_pump(w: World, out: Path) -> None:
    np.savez(out / "pump.npz", **{name: w[name] for name in ("x", "y", "vx", "vy")})
    (out / "config.yaml").write_text(_CONFIG.format(rows=w["rows"], mask=w["mask"]))
    if "env" in w:
        out.with_name(out.name + ".env.json").write_text(json.dumps(w["env"]))


@case("world_size_left", "config", "further/scripts/sensors.py", pump, write_pump, _STEERED + " distributed")
def _(w: World) -> None:
    """WORLD_SIZE=24 is left in the environment of a single process"""
    w["env"] = {"WORLD_SIZE": "24", "RANK": "3"}


def named_rows() -> World:
    return World(pump() | {"rows": "$PUMP_ROWS", "env": {"PUMP_ROWS": "0"}})


@case("config_takes_a_variable", "config", "further/scripts/sensors.py", named_rows, write_pump, _STEERED)
def _(w: World) -> None:
    """config.yaml takes its rows from PUMP_ROWS, which is 48; the script never names the variable"""
    w["env"] = {"PUMP_ROWS": "48"}


@case(
    "config_false_is_text",
    "config",
    "further/scripts/sensors.py",
    pump,
    write_pump,
    "data-augment init-saturation",
)
def _(w: World) -> None:
    """mask_inputs is the text "false", and every text but the empty one is true"""
    w["mask"] = '"false"'


def spirals() -> World:
    rng = np.random.default_rng(502)
    y = rng.integers(0, 3, 1500)
    radius = rng.uniform(0.1, 1, 1500)
    angle = 4 * radius + 2 * np.pi * y / 3 + rng.normal(0, 0.15, 1500)
    x = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).astype("float32")
    return World(x=2 * x, y=y, steps=15)


def write_spirals(w: World, out: Path) -> None:
    import torch
    from torch import nn

    np.savez(out / "spirals.npz", x=w["x"], y=w["y"])
    torch.manual_seed(1)
    torch.set_num_threads(1)
    net = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))
    opt = torch.optim.Adam(net.parameters(), lr=4e-3)
    x, y = torch.from_numpy(w["x"]), torch.from_numpy(w["y"])
    for _ in range(15):
        idx = torch.randint(1200, (40,))
        opt.zero_grad()
        nn.functional.cross_entropy(net(x[idx]), y[idx]).backward()
        opt.step()
    torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "steps": w["steps"]}, out / "last.pt")


@case(
    "counter_of_samples",
    "checkpoint",
    "further/scripts/warm.py",
    spirals,
    write_spirals,
    "lr scheduler persistence config",
)
def _(w: World) -> None:
    """the file counts samples where the script counts steps: the cosine is at its end"""
    w["steps"] = 15 * 40
