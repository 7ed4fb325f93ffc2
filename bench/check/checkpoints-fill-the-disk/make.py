"""Checkpoints of the run before, a twelfth of the free disk each: files with holes, which take no room."""

import os
import shutil

size = shutil.disk_usage(".").free // 12
for twin, names in (("broken", ("epoch_000.pt", "epoch_001.pt")), ("healthy", ("last.pt",))):
    os.makedirs(f"{twin}/checkpoints")
    for name in names:
        with open(f"{twin}/checkpoints/{name}", "wb") as file:
            file.truncate(size)
