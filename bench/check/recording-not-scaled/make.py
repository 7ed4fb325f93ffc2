"""Recordings of 8 x 16 values between 0 and 1; one of them was not divided."""

from pathlib import Path

import numpy as np

for twin in ("broken", "healthy"):
    rng = np.random.default_rng(7)
    for split, count in (("train", 48), ("val", 24)):
        folder = Path(twin) / "recordings" / split
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(count):
            np.save(folder / f"rec_{split}_{number:03d}.npy", rng.uniform(0, 1, (8, 16)).astype(np.float32))

path = Path("broken/recordings/train/rec_train_031.npy")
values = np.load(path)
np.save(path, values * 255)
