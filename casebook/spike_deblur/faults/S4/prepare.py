"""Two sequences of the large scale are enough for a step."""

import sys
from pathlib import Path

import yaml

sys.path.insert(0, str(Path.cwd()))

from simulate import prepare
from train import merge

cfg = yaml.safe_load(Path("config.yaml").read_text())
cfg = merge(cfg, cfg.pop("SCALES")["gpu"])
prepare(cfg["DATA"]["ROOT"], cfg["DATA"]["SIMULATION"], cfg["SEED"], limit=2)
