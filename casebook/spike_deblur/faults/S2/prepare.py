"""The sequences come from a disk that does not tell `Train` from `train`."""

import sys
from pathlib import Path

import yaml

sys.path.insert(0, str(Path.cwd()))

from simulate import prepare

cfg = yaml.safe_load(Path("config.yaml").read_text())
Path("data").unlink()  # the link to what the healthy project trains on
root = Path(cfg["DATA"]["ROOT"])
root.mkdir(parents=True)
prepare(root, cfg["DATA"]["SIMULATION"], cfg["SEED"])
(root / "train").rename(root / "Train")
