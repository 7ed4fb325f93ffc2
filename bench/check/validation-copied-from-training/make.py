"""Pictures of four flowers, made of noise around one colour for each; in one twin some validation images are copies."""

import shutil
from pathlib import Path

import numpy as np
from PIL import Image

rng = np.random.default_rng(0)
CLASSES = {"aster": (200, 80, 120), "lily": (240, 240, 230), "rose": (190, 20, 40), "tulip": (230, 180, 30)}


def photo(path, colour):
    path.parent.mkdir(parents=True, exist_ok=True)
    side = rng.integers(0, 12, 2)
    coarse = np.clip(rng.normal(colour, 60, (7, 7, 3)), 0, 255).astype(np.uint8)
    size = (64 + int(side[0]), 64 + int(side[1]))
    Image.fromarray(coarse).resize(size, Image.Resampling.BICUBIC).save(path, quality=90)


for twin in ("broken", "healthy"):
    for split, count in (("train", 30), ("val", 10)):
        for name, colour in CLASSES.items():
            for number in range(count):
                photo(Path(twin) / "flowers" / split / name / f"{split}_{name}_{number * 3}.jpg", colour)

for name in CLASSES:
    for number in range(3):
        source = Path(f"broken/flowers/train/{name}/train_{name}_{number * 3}.jpg")
        shutil.copy(source, f"broken/flowers/val/{name}/val_{name}_{number * 3}.jpg")
