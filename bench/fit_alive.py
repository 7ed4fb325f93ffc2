"""What is allocated on the card at the peak, from torch's own history: it shows what a prediction lacks.

Called by bench/fit.py: `alive NAME…`.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

_ENTRIES = 2_000_000


def recorded(run: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The result of `run()`, and what was alive at its peak."""
    import torch

    torch.cuda.memory._record_memory_history(max_entries=_ENTRIES, stacks="python")
    found = run()
    events = torch.cuda.memory._snapshot()["device_traces"][0]
    torch.cuda.memory._record_memory_history(enabled=None)
    return found, at_the_peak(events)


def at_the_peak(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    living: dict[int, dict[str, Any]] = {}
    now = high = 0
    best: list[dict[str, Any]] = []
    for event in events:
        if event["action"] == "alloc":
            living[event["addr"]] = event
            now += event["size"]
            if now > high:
                high, best = now, []
        elif event["action"] == "free_completed" and event["addr"] in living:
            if now == high and not best:
                best = list(living.values())
            now -= living.pop(event["addr"])["size"]
    rows = Counter((event["size"], _where(event)) for event in best)
    return [
        {"bytes": size, "where": where, "count": n} for (size, where), n in sorted(rows.items(), reverse=True)
    ]


def _where(event: dict[str, Any]) -> str:
    """The innermost line that is not torch's."""
    for frame in event.get("frames", ()):
        if frame["filename"].endswith(".py") and "torch" not in frame["filename"]:
            return f"{Path(frame['filename']).name}:{frame['line']}"
    return ""
