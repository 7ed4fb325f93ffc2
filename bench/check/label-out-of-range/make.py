"""A table of measurements with five classes; a typing error in one twin."""

import csv
from pathlib import Path

import numpy as np

rng = np.random.default_rng(5)
centres = rng.normal(size=(5, 6))
rows = [[*(centres[n % 5] + 0.3 * rng.normal(size=6)).round(4), n % 5] for n in range(400)]
for twin in ("broken", "healthy"):
    Path(twin, "tables").mkdir(parents=True, exist_ok=True)
    for name, part in (("train", rows[:320]), ("val", rows[320:])):
        if (twin, name) == ("broken", "train"):
            part = [[*row[:-1], 42] if place == 211 else row for place, row in enumerate(part)]
        with open(f"{twin}/tables/{name}.csv", "w", newline="") as file:
            csv.writer(file).writerows([[f"f{n}" for n in range(6)] + ["label"], *part])
