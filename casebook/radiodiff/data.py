"""Radio maps of small towns: path loss from one transmitter, with walls in the way.

A map is what a receiver in each cell would hear, scaled to [0, 1]. The condition has two channels: where the buildings
are, and how far each cell is from the transmitter.
"""

import hashlib
import json
from pathlib import Path

import torch
from torch.utils.data import Dataset


def town(size, buildings, generator):
    """1 where a building stands."""
    plan = torch.zeros(size, size)
    low, high = buildings
    for _ in range(int(torch.randint(low, high + 1, (), generator=generator))):
        top, left = torch.randint(0, size - 2, (2,), generator=generator).tolist()
        tall, wide = torch.randint(2, max(3, size // 3) + 1, (2,), generator=generator).tolist()
        plan[top : top + tall, left : left + wide] = 1
    return plan


def radio_map(plan, transmitter, rays=16):
    """Log-distance path loss, and a loss for each cell of wall between transmitter and receiver."""
    size = len(plan)
    axis = torch.arange(size, dtype=torch.float32)
    cells = torch.stack(torch.meshgrid(axis, axis, indexing="ij"), dim=-1)
    distance = (cells - transmitter).norm(dim=-1)
    along = torch.linspace(0, 1, rays)[:, None, None, None]
    points = (transmitter + along * (cells - transmitter)).round().long()
    walls = plan[points[..., 0], points[..., 1]].mean(dim=0) * distance
    loss = 20 * torch.log10(1 + distance) + 4 * walls
    return (1 - loss / 45).clamp(0, 1), distance / size


def make(count, cfg, seed):
    generator = torch.Generator().manual_seed(seed)
    maps, conditions = [], []
    for _ in range(count):
        plan = town(cfg["size"], cfg["buildings"], generator)
        transmitter = torch.randint(1, cfg["size"] - 1, (2,), generator=generator).float()
        heard, distance = radio_map(plan, transmitter)
        maps.append(2 * heard[None] - 1)
        conditions.append(torch.stack([plan, distance]))
    return {"image": torch.stack(maps), "cond": torch.stack(conditions)}


def load(split, cfg, seed, folder):
    recipe = json.dumps({"split": split, "cfg": cfg, "seed": seed}, sort_keys=True)
    path = Path(folder) / f"{split}-{hashlib.sha256(recipe.encode()).hexdigest()[:10]}.pt"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        torch.save(make(cfg[split], cfg, 2 * seed + (split == "val")), path)
    return torch.load(path)


class RadioMaps(Dataset):
    def __init__(self, split, cfg, seed, folder):
        self.tensors = load(split, cfg, seed, folder)

    def __len__(self):
        return len(self.tensors["image"])

    def __getitem__(self, index):
        return {name: tensor[index] for name, tensor in self.tensors.items()}
