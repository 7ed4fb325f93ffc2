"""Reads many files at once, with a progress bar on a terminal."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from premortem.preflight.data import readers
from premortem.preflight.data.data_facts import Look
from premortem.preflight.data.readers.around import Around, MissingLibrary
from premortem.preflight.data.walk import File

_MOST_WORKERS = 8  # more than that wait for the disk, not for a core
PATIENCE = 60.0  # seconds for one dataset; what is not read by then is not in the coverage that is reported


def read_all(root: Path, files: list[File], around: Around) -> tuple[dict[str, list[Look]], set[str]]:
    """What each file says, and which libraries were missing."""
    missing: set[str] = set()
    until = time.monotonic() + PATIENCE

    def one(file: File) -> tuple[str, list[Look]]:
        if time.monotonic() > until:
            return file.path, []
        try:
            return file.path, readers.read(root / file.path, file.path, around)
        except MissingLibrary as library:
            missing.add(library.library)
            return file.path, []

    workers = min(_MOST_WORKERS, os.cpu_count() or 1)
    with ThreadPoolExecutor(workers, thread_name_prefix="premortem-data") as pool:
        try:
            looks = dict(pool.map(one, files))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)  # Ctrl-C does not wait for what is queued
    return {path: found for path, found in looks.items() if found}, missing
