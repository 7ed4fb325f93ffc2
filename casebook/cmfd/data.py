"""Images in which a region was copied to another place, drawn by a generator, and the dataset that reads them.

data/<recipe>/train/images/00001.png    as a forger would hand it in
data/<recipe>/train/masks/00001.png     white where it was copied from and where it was pasted
"""

import hashlib
import json
import math
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch.nn import functional as F
from torch.utils.data import Dataset

PATCH, STRIDE = 14, 32  # of the backbone and of the decoder


def texture(height, width, generator):
    """Coloured clouds of two sizes with some discs and bars on them."""
    image = torch.zeros(3, height, width)
    for cells, weight in ((4, 0.5), (9, 0.5)):
        noise = torch.rand(1, 3, cells, cells, generator=generator)
        image += weight * F.interpolate(noise, size=(height, width), mode="bicubic", align_corners=False)[0]
    y, x = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    for _ in range(int(torch.randint(2, 7, (1,), generator=generator))):
        cy, cx, size, angle = torch.rand(4, generator=generator).tolist()
        dy, dx = y - cy * height, x - cx * width
        u = dx * math.cos(math.pi * angle) + dy * math.sin(math.pi * angle)
        v = dy * math.cos(math.pi * angle) - dx * math.sin(math.pi * angle)
        size = 5 + 14 * size
        inside = (u / size).square() + (v / (0.3 * size + 4)).square() < 1
        colour = torch.rand(3, generator=generator)
        image = torch.where(inside, 0.4 * image + 0.6 * colour[:, None, None], image)
    return image.clamp(0, 1)


def forge(image, generator, forgery):
    """Copy an ellipse, turned and scaled a little, to where it does not cover itself; returns image and mask."""
    _, height, width = image.shape
    low, high = forgery["radius"]

    def draw(a, b):
        return a + (b - a) * torch.rand(1, generator=generator).item()

    ry, rx = draw(low, high), draw(low, high)
    reach = 1.2 * max(ry, rx)
    while True:
        sy, ty = draw(reach, height - reach), draw(reach, height - reach)
        sx, tx = draw(reach, width - reach), draw(reach, width - reach)
        if math.hypot(sy - ty, sx - tx) > 2 * reach:
            break
    angle = math.radians(draw(-forgery["turn"], forgery["turn"]))
    scale = draw(1 / forgery["scale"], forgery["scale"])
    y, x = torch.meshgrid(
        torch.arange(height, dtype=torch.float), torch.arange(width, dtype=torch.float), indexing="ij"
    )
    # From the pasted place back to where it comes from.
    u = ((x - tx) * math.cos(angle) + (y - ty) * math.sin(angle)) / scale
    v = ((y - ty) * math.cos(angle) - (x - tx) * math.sin(angle)) / scale
    pasted = (u / rx).square() + (v / ry).square()
    copied = ((x - sx) / rx).square() + ((y - sy) / ry).square()
    grid = torch.stack([2 * (sx + u + 0.5) / width - 1, 2 * (sy + v + 0.5) / height - 1], dim=-1)
    source = F.grid_sample(image[None], grid[None], align_corners=False, padding_mode="border")[0]
    blend = ((1.0 - pasted) * 6).clamp(0, 1)
    return image + blend * (source - image), (pasted < 1) | (copied < 1)


def draw(index, seed, forgery):
    generator = torch.Generator().manual_seed(1_000_003 * seed + index)
    low, high = forgery["side"]
    height, width = torch.randint(low, high + 1, (2,), generator=generator).tolist()
    image = texture(height, width, generator)
    mask = torch.zeros(height, width, dtype=torch.bool)
    if torch.rand(1, generator=generator).item() < forgery["share"]:
        image, mask = forge(image, generator, forgery)
    image = image + 0.01 * torch.randn(image.shape, generator=generator)
    return (255 * image.clamp(0, 1)).byte(), mask


def prepare(folder, counts, seed, forgery):
    """Draw the splits where they are not there yet; returns the folder they are in."""
    recipe = json.dumps({"seed": seed, "forgery": forgery}, sort_keys=True)
    root = Path(folder) / hashlib.sha256(recipe.encode()).hexdigest()[:8]
    for number, (split, count) in enumerate(counts.items()):
        images, masks = root / split / "images", root / split / "masks"
        images.mkdir(parents=True, exist_ok=True)
        masks.mkdir(parents=True, exist_ok=True)

        def write(index, images=images, masks=masks, number=number):
            name = f"{index:05d}.png"
            if (masks / name).exists():
                return
            image, mask = draw(index, 3 * seed + number, forgery)
            Image.fromarray(image.permute(1, 2, 0).numpy()).save(images / name)
            Image.fromarray((255 * mask.to(torch.uint8)).numpy()).save(masks / name)

        # torch and the encoder leave the interpreter's lock: at --scale gpu one thread takes minutes.
        with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as threads:
            list(threads.map(write, range(count)))
    return root


def pad(tensor, value=0.0):
    """To a multiple of what the backbone and the decoder need."""
    multiple = math.lcm(PATCH, STRIDE)
    height, width = tensor.shape[-2:]
    bottom, right = -height % multiple, -width % multiple
    return F.pad(tensor, (0, right, 0, bottom), value=value)


class Forgeries(Dataset):
    """Padded image, padded mask, and where the image is."""

    def __init__(self, root, split, count, augment=False):
        folder = Path(root) / split
        self.images = sorted((folder / "images").glob("*.png"))[:count]
        self.masks = [folder / "masks" / path.name for path in self.images]
        self.augment = augment

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        image = torch.from_numpy(np.array(Image.open(self.images[index]))).permute(2, 0, 1).float() / 255
        mask = torch.from_numpy(np.array(Image.open(self.masks[index]))).gt(127).float()[None]
        if self.augment:
            if torch.rand(()) < 0.5:
                image, mask = image.flip(-1), mask.flip(-1)
            if torch.rand(()) < 0.5:
                image, mask = image.flip(-2), mask.flip(-2)
        inside = pad(torch.ones_like(mask))
        return pad((image - 0.5) / 0.25), pad(mask), inside
