"""What a watcher is told, in this very process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from premortem.run.watcher import Watcher


@contextmanager
def hearing() -> Iterator[tuple[list[Any], Watcher]]:
    """Every event under `protect`, and the watcher. No probe may have failed."""
    torch.manual_seed(0)
    heard: list[Any] = []
    faults: list[Any] = []
    watcher = Watcher("protect")
    watcher.attach()
    real, session = watcher.emit, watcher._attachment.session
    session._emit = lambda event: (heard.append(event), real(event))
    session._fault = lambda unit, error: faults.append((unit, error))
    try:
        yield heard, watcher
    finally:
        watcher.close()
    assert faults == []
