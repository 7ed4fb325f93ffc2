"""Checkpoints as people write them, for the tests of reading."""

import argparse
import collections
import datetime as dt
import functools
import json
import pathlib
import typing

import numpy as np
import pytest
import safetensors.torch
import torch
import torch.distributed.checkpoint as dcp
from torch import nn


def trained():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 3)
    model(torch.randn(16, 4)).square().mean().backward()
    optimizer.step()
    scheduler.step()
    return model, optimizer, scheduler


def state():
    model, optimizer, scheduler = trained()
    return {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scheduler": scheduler.state_dict(),
        "epoch": 3,
    }


def rich_state():
    """What checkpoints hold besides weights."""
    return state() | {
        "args": argparse.Namespace(lr=0.1, out=pathlib.Path("runs/a")),
        "best": np.float64(0.25),
        "numpy": {"old": np.random.RandomState(0).get_state(), "new": np.random.default_rng(0)},
        "callback": {"monitor": "val", "best_score": torch.tensor(float("inf")), "mode": "min"},
        "counts": collections.Counter("aab"),
        "wrapped": collections.UserDict(a=1),
        "types": [typing.Optional[int], list[int], type(None), typing.Any],  # noqa: UP045 - as configurations hold it
        "version": torch.__version__,
        "dated": dt.timedelta(days=1),
        "optimizer_class": functools.partial(torch.optim.Adam, lr=1.0),
        "history": [0.5, 0.25],
        "rng": torch.get_rng_state(),
        "turned": torch.arange(20.0).reshape(4, 5).t(),
        "same": torch.zeros(1).expand(1000, 1000),
        "small": torch.zeros(3, dtype=torch.float8_e4m3fn),
        "kind": torch.bfloat16,
        "sparse": torch.eye(3).to_sparse(),
        "learned": nn.Parameter(torch.ones(2)),
    }


def zipped(path):
    torch.save(state(), path)
    return path


def without_checksums(path):
    if not hasattr(torch.serialization, "set_crc32_options"):
        pytest.skip("torch 2.6 can save without checksums")
    torch.serialization.set_crc32_options(False)
    try:
        torch.save(state(), path)
    finally:
        torch.serialization.set_crc32_options(True)
    return path


def legacy(path):
    torch.save(state(), path, _use_new_zipfile_serialization=False)
    return path


def safe(path):
    safetensors.torch.save_file(state()["model"], path)
    return path


def shards(folder):
    folder.mkdir()
    weights = state()["model"]
    names = list(weights)
    index = {}
    for number, some in enumerate((names[:3], names[3:]), start=1):
        file = f"model-{number:05d}-of-00002.safetensors"
        safetensors.torch.save_file({name: weights[name] for name in some}, folder / file)
        index |= dict.fromkeys(some, file)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": index}))
    return folder


def distributed(folder):
    dcp.save(state(), checkpoint_id=folder)
    return folder


def parts(folder):
    """As the Trainer of Transformers leaves it."""
    folder.mkdir()
    whole = state()
    safetensors.torch.save_file(whole["model"], folder / "model.safetensors")
    torch.save(whole["optimizer"], folder / "optimizer.pt")
    torch.save(whole["scheduler"], folder / "scheduler.pt")
    (folder / "trainer_state.json").write_text('{"global_step": 500}')
    return folder


def flip(path, bit):
    """One bit of a file turned over."""
    raw = bytearray(path.read_bytes())
    raw[bit // 8] ^= 1 << (bit % 8)
    path.write_bytes(raw)
