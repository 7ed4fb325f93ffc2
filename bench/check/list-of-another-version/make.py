"""Two hundred and fifty scans, and a list of which of them are for training."""

from pathlib import Path

import numpy as np

for twin in ("broken", "healthy"):
    rng = np.random.default_rng(3)
    folder = Path(twin) / "scans"
    folder.mkdir(parents=True)
    for number in range(250):
        x = rng.uniform(0, 1, (6, 12)).astype(np.float32)
        np.save(folder / f"scan_{number:04d}.npy", x)
    # The earlier version had more scans, and its training set began where this one ends.
    first = 4 if twin == "healthy" else 246
    (folder / "train.lst").write_text("\n".join(f"scan_{number:04d}" for number in range(first, first + 196)))
