"""Pilots that come over a reconfigurable surface, simulated.

The paths of one user reach the surface from a few angles and carry the same symbols, so they are correlated. A single
receiver hears the surface through `pilots` phase configurations per snapshot. What the network gets is the sample
covariance of these pilots; what it has to find are the angles, and the covariance at the elements.
"""

import hashlib
import json
import math
from pathlib import Path

import torch


def steering(sines, elements):
    """Array response, (..., paths) -> (..., elements, paths)."""
    index = torch.arange(elements, device=sines.device, dtype=sines.dtype)
    phase = math.pi * index[:, None] * sines[..., None, :]
    return torch.polar(torch.ones_like(phase), phase)


def codebook(array):
    """The phase configurations, fixed for the whole deployment: (pilots, elements)."""
    generator = torch.Generator().manual_seed(7)
    phases = 2 * math.pi * torch.rand(array["pilots"], array["elements"], generator=generator)
    return torch.polar(torch.ones_like(phases), phases) / math.sqrt(array["elements"])


def complex_normal(*shape, generator):
    return torch.complex(
        torch.randn(*shape, generator=generator), torch.randn(*shape, generator=generator)
    ) / math.sqrt(2)


def draw_angles(count, array, generator):
    """Sines of the angles, sorted, not closer than `separation`."""
    gap, field, paths = array["separation"], array["field"], array["paths"]
    free = 2 * field - gap * (paths - 1)
    sines = free * torch.rand(count, paths, generator=generator).sort(dim=1).values - field
    return sines + gap * torch.arange(paths)


def simulate(count, array, seed):
    generator = torch.Generator().manual_seed(seed)
    sines = draw_angles(count, array, generator)
    response = steering(sines, array["elements"])
    powers = 0.4 + 0.6 * torch.rand(count, array["paths"], generator=generator)
    powers = powers / powers.sum(dim=1, keepdim=True)

    # Correlated symbols: a common part and one of each path's own.
    paths, snapshots, rho = array["paths"], array["snapshots"], array["correlation"]
    common = complex_normal(count, 1, snapshots, generator=generator)
    own = complex_normal(count, paths, snapshots, generator=generator)
    turn = 2 * math.pi * torch.rand(count, paths, 1, generator=generator)
    turn = torch.polar(torch.ones_like(turn), turn)
    symbols = math.sqrt(rho) * turn * common + math.sqrt(1 - rho) * own

    field = response @ (powers.sqrt()[..., None] * symbols)
    heard = codebook(array) @ field
    low, high = array["snr_db"]
    snr = 10 ** ((low + (high - low) * torch.rand(count, 1, 1, generator=generator)) / 10)
    noise = complex_normal(*heard.shape, generator=generator)
    heard = heard + noise * (heard.abs().square().mean(dim=(1, 2), keepdim=True) / snr).sqrt()

    pilots = heard @ heard.mH / snapshots
    trace = torch.diagonal(pilots, dim1=1, dim2=2).real.sum(dim=1)
    pilots = pilots * (array["pilots"] / trace)[:, None, None]
    truth = response @ (powers[..., None] * response.mH)
    return {"pilots": pilots, "covariance": truth, "sines": sines}


def load(split, array, count, seed, folder):
    """The split from disk; made and stored there the first time."""
    recipe = json.dumps({"split": split, "array": array, "count": count, "seed": seed}, sort_keys=True)
    path = Path(folder) / f"{split}-{hashlib.sha256(recipe.encode()).hexdigest()[:10]}.pt"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        offset = {"train": 0, "val": 1, "test": 2}[split]
        torch.save(simulate(count, array, 3 * seed + offset), path)
    return torch.load(path)


class CachedPilots:
    """The whole split in the memory of the device; batches are rows of it."""

    def __init__(self, split, device):
        self.tensors = {name: tensor.to(device) for name, tensor in split.items()}

    def __len__(self):
        return len(self.tensors["sines"])

    def batches(self, batch_size, shuffle=False):
        device = self.tensors["sines"].device
        order = torch.randperm(len(self)) if shuffle else torch.arange(len(self))
        for rows in order.to(device).split(batch_size):
            if len(rows) == batch_size or not shuffle:
                yield {name: tensor[rows] for name, tensor in self.tensors.items()}
