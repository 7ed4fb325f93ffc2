"""What a late turn of a loop costs, within one process: blocks of turns with premortem in its places and with torch's own
functions there, one after the other.

    premortem run bench/cost_within.py NAME [--device cuda] [--blocks 12]

Two processes differ by more than what is measured here: the same loop takes a quarter longer in the next one, wherever its memory
happens to lie. Within one they share all of that. A block has 120 turns, so that most have a full step or two in them; of each the
first 20 do not count, as changing a class empties Python's caches. Time is that of the thread (`--device cuda`: on the clock, with the device waited
for at the end of each block). Everything that premortem does of its own accord in these turns counts, full steps too.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import time
from typing import Any

import cost_loops
import torch

LATE, BLOCK, SKIPPED = 2000, 120, 20  # turns


class Over(Exception):  # noqa: N818 - nothing is wrong
    """Enough blocks."""


class Within:
    def __init__(self, device: str, blocks: int) -> None:
        self.turns = 0
        self.watched: list[float] = []
        self.bare: list[float] = []
        self._blocks = blocks
        self._device = device
        self._away = False
        self._began = 0.0
        self._attachment: Any = None

    def now(self) -> float:
        if self._device == "cuda":
            torch.cuda.synchronize()
            return time.perf_counter()
        return time.thread_time()

    def tick(self) -> None:
        self.turns += 1
        if self.turns < LATE:
            return
        place = (self.turns - LATE) % BLOCK
        if place == SKIPPED:
            self._began = self.now()
        elif place == BLOCK - 1:
            spent = (self.now() - self._began) / (BLOCK - 1 - SKIPPED)
            (self.bare if self._away else self.watched).append(spent)
            if len(self.bare) == self._blocks:
                raise Over
            self.switch()

    def switch(self) -> None:
        if self._attachment is None:
            self._attachment = next(each for each in gc.get_objects() if type(each).__name__ == "Attachment")
        points, optimizers = self._attachment.session.points, self._attachment.optimizers
        self._away = not self._away
        if self._away:
            self._resting = points.silent
            points.away()
            optimizers.remove()
        else:
            points.back()
            points.silence(self._resting)
            optimizers.listen()
            for track in optimizers.live():
                track.trace()  # what was written meanwhile is no news

    def result(self) -> dict[str, Any]:
        added = [w - b for w, b in zip(self.watched, self.bare, strict=False)]
        turn, more = statistics.median(self.bare), statistics.median(added)
        return {
            "turn_us": round(turn * 1e6),
            "late_added_us": round(more * 1e6),
            "late_added_us_all": [round(each * 1e6) for each in sorted(added)],
            "late_ratio": round(1 + more / turn, 3),
        }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("loop", choices=cost_loops.LOOPS)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--blocks", type=int, default=12)
    options = parser.parse_args()
    cost_loops.DEVICE = options.device
    torch.manual_seed(0)
    within = Within(options.device, options.blocks)
    cost_loops.tick = within.tick
    try:
        cost_loops.LOOPS[options.loop](1 << 30)
    except Over:
        print(json.dumps(within.result()), flush=True)


if __name__ == "__main__":
    main()
