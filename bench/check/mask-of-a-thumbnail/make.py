"""Discs on noise with their masks; in one twin a mask is half as large as its image."""

from pathlib import Path

import numpy as np
from PIL import Image

rng = np.random.default_rng(2)
ys, xs = np.mgrid[:48, :64]
for twin in ("broken", "healthy"):
    for split, count in (("train", 30), ("val", 10)):
        for number in range(count):
            cy, cx, radius = rng.integers(12, 36), rng.integers(12, 52), rng.integers(5, 11)
            disc = (ys - cy) ** 2 + (xs - cx) ** 2 < radius**2
            image = rng.integers(0, 90, (48, 64, 3)) + 150 * disc[..., None]
            mask = Image.fromarray(disc.astype(np.uint8))
            if (twin, split, number) == ("broken", "train", 17):
                mask = mask.resize((32, 24), Image.Resampling.NEAREST)
            for role, picture in (("images", Image.fromarray(image.astype(np.uint8))), ("masks", mask)):
                path = Path(twin) / "data" / split / role / f"{split}_{number:03d}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                picture.save(path)
