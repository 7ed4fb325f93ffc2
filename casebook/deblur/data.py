"""Procedural images and motion blur: discs, stripes and fences on soft backgrounds, moved while the shutter is open."""

import hashlib
import json
import math
from pathlib import Path

import torch
from torch.nn import functional as F
from torch.utils.data import Dataset


def uniform(generator, low=0.0, high=1.0):
    return low + (high - low) * torch.rand((), generator=generator).item()


def grid(size):
    axis = torch.linspace(-1, 1, size)
    return torch.meshgrid(axis, axis, indexing="ij")


def grating(y, x, angle, wavelength):
    """Wavelength in pixels."""
    position = (x * math.cos(angle) + y * math.sin(angle)) * len(x) / 2
    return torch.sin(2 * math.pi * position / wavelength)


def draw(size, generator, caps, fences):
    """One sharp image in [0, 1]."""
    y, x = grid(size)
    kind = uniform(generator)
    if kind < caps:
        return torch.zeros(size, size)  # the cap was on
    if kind < caps + fences:  # a fence that fills the frame
        return 0.5 + 0.4 * grating(y, x, uniform(generator, -0.3, 0.3), uniform(generator, 3, 4.4))
    angle = uniform(generator, 0, 2 * math.pi)
    image = uniform(generator, 0.3, 0.7) + 0.2 * (x * math.cos(angle) + y * math.sin(angle))
    for _ in range(int(uniform(generator, 6, 14))):
        cx, cy = uniform(generator, -1, 1), uniform(generator, -1, 1)
        turn, long, wide = (
            uniform(generator, 0, math.pi),
            uniform(generator, 0.1, 0.6),
            uniform(generator, 0.05, 0.3),
        )
        u = (x - cx) * math.cos(turn) + (y - cy) * math.sin(turn)
        v = (y - cy) * math.cos(turn) - (x - cx) * math.sin(turn)
        if uniform(generator) < 0.5:
            inside = (u / long) ** 2 + (v / wide) ** 2 < 1
        else:
            inside = (u.abs() < long) & (v.abs() < wide)
        image = torch.where(inside, torch.tensor(uniform(generator)), image)
    if uniform(generator) < 0.5:
        texture = grating(y, x, uniform(generator, 0, math.pi), uniform(generator, 8, 16))
        image = image + 0.1 * texture * (x * math.cos(angle) + y * math.sin(angle) > 0)
    return image.clamp(0, 1)


def motion_kernel(length, angle):
    """A line of `length` pixels, drawn finely."""
    side = math.ceil(length) + 1 - math.ceil(length) % 2
    kernel = torch.zeros(side, side)
    for along in torch.linspace(-(length - 1) / 2, (length - 1) / 2, 8 * side).tolist():
        column = round(side // 2 + along * math.cos(angle))
        row = round(side // 2 + along * math.sin(angle))
        kernel[row, column] += 1
    return kernel / kernel.sum()


def blur(image, length, angle):
    kernel = motion_kernel(length, angle)
    around = F.pad(image[None, None], [len(kernel) // 2] * 4, mode="reflect")
    return F.conv2d(around, kernel[None, None])[0, 0]


def make_pairs(count, cfg, seed):
    generator = torch.Generator().manual_seed(seed)
    pairs, tilt = [], cfg["tilt"]
    for _ in range(count):
        sharp = draw(cfg["size"], generator, cfg["caps"], cfg["fences"])
        moved = blur(sharp, uniform(generator, *cfg["blur"]), uniform(generator, -tilt, tilt))
        noise = cfg["noise"] * torch.randn(sharp.shape, generator=generator)
        pairs.append(torch.stack([(moved + noise).clamp(0, 1), sharp]))
    return (255 * torch.stack(pairs)).round().to(torch.uint8)


def load(split, cfg, seed, folder):
    """Pairs of (blurred, sharp), bytes; made and stored on first use."""
    recipe = json.dumps({"split": split, "cfg": cfg, "seed": seed}, sort_keys=True)
    path = Path(folder) / f"{split}-{hashlib.sha256(recipe.encode()).hexdigest()[:10]}.pt"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        offset = {"train": 0, "val": 1, "test": 2}[split]
        torch.save(make_pairs(cfg[split], cfg, 3 * seed + offset), path)
    return torch.load(path)


class Pairs(Dataset):
    def __init__(self, split, cfg, seed, folder, augment=False):
        self.pairs = load(split, cfg, seed, folder)
        self.augment = augment

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, index):
        pair = self.pairs[index].float() / 255
        if self.augment and torch.rand(()) < 0.5:
            pair = pair.flip(-1)
        if self.augment and torch.rand(()) < 0.5:
            pair = pair.flip(-2)
        blurred, sharp = pair[:1], pair[1:]
        return blurred, sharp
