"""Further worlds, written without a look at the detectors: each has a script of its own.

text.py      words, encodings, vocabularies, vectors       pictures.py   photographs, scans, microscopes
time.py      sound, clocks, time zones, cutoffs            stored.py     shards, parquet codes, caches, links, logs
steered.py   environment, configuration, checkpoints
"""

from bench.worlds.further import pictures, steered, stored, text, time

__all__ = ["pictures", "steered", "stored", "text", "time"]
