"""What watching costs a step that is bound by launches: single steps, watched and unwatched in short turns.

    python bench/overhead_steps.py [--turns 130] [--not-fused] [--json FILE]

On a shared host such a step takes 5 ms at one moment and 8 at another, and blocks of two seconds, as bench/overhead.py
compares them, differ by more than what is to be measured. Here turns of 24 steps alternate within one run: premortem's
wrappers are taken off and put on again, while it rests. The medians of rested, told and unwatched steps are put
together as they came. The first steps of each turn, in which Python finds its way again, are left out.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path

import torch
from overhead import Task, cruising

from premortem.points.point import Point, installed
from premortem.probes import Attachment

TURN, DROPPED = 24, 6


def take_off(attachment: Attachment) -> list[Point]:
    points = installed()
    for point in points:
        point.hide()
    attachment.optimizers.remove()
    return points


def put_on(attachment: Attachment, points: list[Point]) -> None:
    for point in points:
        point.show()
    attachment.optimizers.listen()


def measure(task: Task, turns: int) -> dict[str, list[float]]:
    """Seconds of single steps, by kind."""
    for _ in range(50):
        task.step()
    watcher = cruising(task)
    attachment = watcher._attachment
    assert attachment is not None
    session = attachment.session
    taken: dict[str, list[float]] = {"unwatched": [], "rested": [], "told": []}
    points: list[Point] = []
    for turn in range(2 * turns):
        watched = turn % 2 == 1
        if watched:
            put_on(attachment, points)
        else:
            points = take_off(attachment)
        for number in range(TURN):
            before = session.resting
            start = time.perf_counter()
            task.step()
            seconds = time.perf_counter() - start
            ended = watched and before and not session.resting  # a step like no other
            if number >= DROPPED and not ended:
                kind = "unwatched" if not watched else "rested" if before else "told"
                taken[kind].append(seconds)
    watcher.close()
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=130)
    parser.add_argument("--not-fused", action="store_true", help="with torch's default optimizer")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.manual_seed(0)
    task = Task("mlp", "cuda")
    if options.not_fused:
        task.optimizer = task.optimizer_of(fused=False)
    taken = measure(task, options.turns)
    middle = {kind: statistics.median(seconds) * 1e3 for kind, seconds in taken.items()}
    told, rested = len(taken["told"]), len(taken["rested"])
    whole = (rested * middle["rested"] + told * middle["told"]) / (rested + told)
    result = {
        "command": f"python bench/overhead_steps.py --turns {options.turns}"
        + (" --not-fused" if options.not_fused else ""),
        "machine": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "steps": {kind: len(seconds) for kind, seconds in taken.items()},
        "median_ms": {kind: round(value, 3) for kind, value in middle.items()},
        "rested": round(middle["rested"] / middle["unwatched"], 3),
        "told": round(middle["told"] / middle["unwatched"], 3),
        "ratio": round(whole / middle["unwatched"], 3),
    }
    print(json.dumps(result, indent=1))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
