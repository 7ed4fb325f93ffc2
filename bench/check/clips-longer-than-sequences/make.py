"""Sequences of noise: blur, sharp and spike_vox."""

from pathlib import Path

import numpy as np
from PIL import Image

rng = np.random.default_rng(0)


def frame(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    coarse = rng.integers(0, 256, (6, 6, 3), dtype=np.uint8)
    Image.fromarray(coarse).resize((48, 32), Image.Resampling.BICUBIC).save(path)


def sequences(root, split, count, frames):
    for seq in range(count):
        for number in range(frames):
            name = f"{split.lower()}_{seq:02d}"
            frame(root / split / "blur" / name / f"{number:04d}.png")
            frame(root / split / "sharp" / name / f"{number:04d}.png")
            vox = root / split / "spike_vox" / name / f"{number:04d}.npy"
            vox.parent.mkdir(parents=True, exist_ok=True)
            np.save(vox, rng.normal(size=(2, 32, 48)).astype(np.float32))


for twin in ("broken", "healthy"):
    root = Path(twin) / "data" / "gopro_spike"
    sequences(root, "train", 4, 8)
    sequences(root, "val", 2, 8)
