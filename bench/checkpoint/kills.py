"""SIGKILL at random moments of saves: how many files are torn, how many saves are lost."""

from __future__ import annotations

import itertools
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

import premortem
from checkpoint.forks import Done, Victim
from premortem.cli import main as premortem_main
from premortem.vault.verify import verify

SIDE = 512  # a weight is SIDE x SIDE; three of them make 3 MiB

SCRIPT = """
import itertools, os, struct
import torch

for version in itertools.count(1):
    torch.save({{str(i): torch.full(({side}, {side}), float(version)) for i in range(3)}}, "last.pt")
    os.write({pipe}, struct.pack("<I", version))
"""


def model_of(version: int) -> nn.Module:
    model = nn.Sequential(*(nn.Linear(SIDE, SIDE, bias=False) for _ in range(3)))
    for parameter in model.parameters():
        nn.init.constant_(parameter, float(version))
    return model


def version_in(tensors: dict[str, Any]) -> int | None:
    """The one version that all tensors are of; None when they are mixed."""
    found = {float(value) for tensor in tensors.values() for value in tensor.unique()}
    return int(found.pop()) if len(found) == 1 else None


# --- ways to save ----------------------------------------------------------------------------


def plain(folder: Path, done: Done) -> None:
    for version in itertools.count(1):
        torch.save({str(i): torch.full((SIDE, SIDE), float(version)) for i in range(3)}, folder / "last.pt")
        done(version)


def under_run(folder: Path, done: Done) -> None:
    (folder / "train.py").write_text(SCRIPT.format(side=SIDE, pipe=done.pipe))
    os.chdir(folder)
    premortem_main(["run", "--quiet", "--folder", str(folder / "run"), "train.py"])


def vault(folder: Path, done: Done, *, asynchronous: bool = True, mirror: Path | None = None) -> None:
    keeper = premortem.Vault(
        folder / "vault", keep=2, asynchronous=asynchronous, mirror=str(mirror) if mirror else None
    )
    before = None
    for version in itertools.count(1):
        saving = keeper.save(version, model=model_of(version))
        if before is not None:
            before.wait()
            done(before.step)
        before = saving


# --- what is left ----------------------------------------------------------------------------


def file_left(folder: Path) -> int | None:
    """The version that a plain `torch.load` gets; None for a torn file."""
    try:
        return version_in(torch.load(folder / "last.pt", weights_only=True))
    except Exception:  # noqa: BLE001 - torch raises many kinds, and each means that the file is torn
        return None


def vault_left(folder: Path, mirror: Path | None = None) -> int | None:
    model = model_of(0)
    keeper = premortem.Vault(folder / "vault", keep=99, mirror=str(mirror) if mirror else None)
    step = keeper.resume(model=model, quiet=True, rng=False).step
    keeper.close(0.0)
    version = version_in(model.state_dict())
    return version if step is not None and version == step else None


def mirror_left(folder: Path) -> int | None:
    """What a machine that has nothing but the mirror goes on from, after a new process has sent the rest.

    Every checkpoint that has its manifest over there must be whole, from the moment of the kill on."""
    for manifest in (folder / "mirror").rglob("manifest.json"):
        draft = any(part.startswith(".") for part in manifest.relative_to(folder).parts)
        if not draft and not verify(manifest.parent).ok:  # what is still being written has no name yet
            return None
    keeper = premortem.Vault(folder / "vault", keep=99, mirror=str(folder / "mirror"))
    if not keeper.close(60.0):
        return None
    shutil.rmtree(folder / "vault")
    return vault_left(folder, mirror=folder / "mirror")


def mirrored(folder: Path, done: Done) -> None:
    vault(folder, done, mirror=folder / "mirror")


def synchronous(folder: Path, done: Done) -> None:
    vault(folder, done, asynchronous=False)


WAYS: dict[str, tuple[Callable[[Path, Done], None], Callable[[Path], int | None]]] = {
    "torch.save": (plain, file_left),
    "torch.save under premortem run": (under_run, file_left),
    "Vault, synchronous": (synchronous, vault_left),
    "Vault, asynchronous": (vault, vault_left),
    "Vault with a mirror": (mirrored, mirror_left),
}


def kill(way: str, times: int, scratch: Path, seed: int) -> dict[str, Any]:
    work, left = WAYS[way]
    dice = random.Random(seed)
    torn = lost = 0
    for number in range(times):
        folder = scratch / f"{seed}-{number}"
        folder.mkdir(parents=True)
        victim = Victim(lambda done, folder=folder: work(folder, done))
        took = victim.wait_for(1 + number % 2)  # the first save has no earlier file to protect
        victim.kill_within(2.5 * min(took, 2.0), dice)
        version = left(folder)
        torn += version is None
        lost += version is not None and version < victim.done
        shutil.rmtree(folder, ignore_errors=True)
    return {"way": way, "kills": times, "torn": torn, "lost": lost}
