"""Does anything that is said to fit run out of memory? On cards that are played by a limit on a larger one.

Called by bench/fit.py. `verdicts-predict` (no GPU) says for each configuration how small a card may be for the verdict `fits`, and
how small for `tight`; `verdicts` runs it for real with that much memory, and with five percent less than `tight`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

MIB = 2**20
BELOW = 0.95  # of the smallest card that is said to be tight: here it should fail


def edge(rehearsed: Callable[[int], Any], room: int, start: int) -> int:
    """The largest batch that goes through on a card with this room, found as `premortem fit` finds it."""
    from premortem.fit.prediction import predict
    from premortem.fit.search import Search

    def trial(batch: int) -> dict[str, Any]:
        found = predict(rehearsed(batch), room)
        return {"batch": batch, "allocated": found.allocated, "fits": bool(found.fits)}

    search = Search(trial, lambda result: result["fits"], room=room, value=start, base=trial(start))
    return search.run() or 0


def predicted(trace: Any, batch: int) -> dict[str, Any]:
    """The smallest cards, to the MiB, with each of the two good verdicts."""
    from premortem.fit.prediction import predict
    from premortem.fit.trials import RESERVE, SHARE

    roomy = -(-int(RESERVE * predict(trace).reserved) // MIB) * MIB
    return {"batch": batch, "fits": max(roomy, _smallest(trace, SHARE)), "tight": _smallest(trace, 1.0)}


def _smallest(trace: Any, share: float) -> int:
    from premortem.fit.prediction import predict

    low, high = 0, 2 * predict(trace).reserved // MIB
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if predict(trace, int(middle * MIB * share)).fits else (middle, high)
    return high * MIB


def measured(build: Callable[[int], Any], row: dict[str, Any], peaks: Callable[..., dict]) -> dict[str, Any]:
    """What happened with each of the limits that were predicted. The last one is expected to fail."""
    import torch

    total = torch.cuda.get_device_properties(0).total_memory
    found: dict[str, Any] = {"batch": row["batch"]}
    limits = {word: row[word] for word in ("fits", "tight") if word in row}
    if "tight" in limits:
        limits["below"] = BELOW * limits["tight"]
    try:
        for word, room in limits.items():
            torch.cuda.set_per_process_memory_fraction(room / total)
            ran = peaks(build, row["batch"])
            found[word] = {"limit": int(room), "ended": ran.get("error", "ran")}
            found[word] |= {key: ran[key] for key in ("allocated", "reserved") if key in ran}
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    return found
