"""The script that the team runs before each training."""

from pathlib import Path

Path("verify_optimizations.py").write_text(
    '''"""Are all optimizations on?"""

import yaml

cfg = yaml.safe_load(open("config.yaml"))
for section, name in (
    ("TRAIN", "MIXED_PRECISION"),
    ("TRAIN", "CHANNELS_LAST"),
    ("TRAIN", "ACCUM_STEPS"),
    ("DATA", "USE_RAM_CACHE"),
    ("DATA", "NUM_WORKERS"),
):
    print("[x]" if cfg[section][name] else "[ ]", name, cfg[section][name])
'''
)
