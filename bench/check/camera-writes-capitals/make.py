"""A day at the beach, as the camera names it; in one twin the suffixes were put in lower case."""

from pathlib import Path

import numpy as np
from PIL import Image

rng = np.random.default_rng(3)
for twin, suffix in (("broken", "JPG"), ("healthy", "jpg")):
    for number in range(40):
        path = Path(twin) / "photos" / "beach" / f"DSC{number + 4100:05d}.{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        coarse = rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)
        Image.fromarray(coarse).resize((72, 48), Image.Resampling.BICUBIC).save(path, "JPEG")
