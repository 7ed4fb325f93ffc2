"""The largest side of images or volumes that fits, where the script's own input can be lengthened.

Convolutional models take any side, or any multiple of what they halve; others are built for one side. Either is
found out by rehearsing: a side counts when the script goes through with it and the model was called with it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from premortem.fit.levers import SIDE, Lever, sides
from premortem.fit.search import Search
from premortem.fit.trials import SHARE, NotRehearsed, Trials

_IMAGE = 4  # dimensions, at least
_STEP = 8  # pixels: finer is of no use to anybody


@dataclass
class Side:
    """`largest` is None when it is not known; `why` says so, or that there may be more."""

    side: int
    largest: int | None = None
    step: int = 0  # between sides that were asked for
    why: str = ""
    lever: Lever | None = None


def spatial(shapes: list[list[int]]) -> tuple[int, int, int]:
    """The first input that is square: its place, its side, and how many dimensions have it. (0, 0, 0) when none is."""
    for place, shape in enumerate(shapes):
        if len(shape) >= _IMAGE and shape[-1] == shape[-2] > 1:
            count = 2
            while count < len(shape) - 2 and shape[-count - 1] == shape[-1]:
                count += 1
            return place, shape[-1], count
    return 0, 0, 0


def steps(side: int) -> list[int]:
    """What may have to be added to the side: powers of two that it is a multiple of, and the side itself."""
    powers = [2**n for n in range(10) if side % 2**n == 0 and 2**n < side]
    return [*([p for p in powers if p >= _STEP] or powers[-1:]), side]


def largest_side(trials: Trials, base: dict[str, Any], fits: Callable[[dict[str, Any]], bool]) -> Side | None:
    """None when the model is not called with anything square."""
    place, side, count = spatial(base["shapes"])
    if not side:
        return None
    found = Side(
        side, why=f"found no argument, no number in the script and no DataLoader that sets its side of {side}"
    )

    def trial(lever: Lever, wanted: int) -> dict[str, Any]:
        result = trials.of(lever=vars(lever), side=wanted)
        shapes = result["shapes"]
        now = shapes[place] if place < len(shapes) else []
        if now[-count:] != [wanted] * count or now[:-count] != base["shapes"][place][:-count]:
            raise NotRehearsed(f"the model is not called with a side of {wanted} then")
        return result | {"batch": wanted, "needed": result["needed"] ** (1 / count)}

    for lever in sides([Lever(**lever) for lever in base["levers"]], side):
        step = _works(trial, lever, side)
        if step:
            found.lever, found.step = lever, step
            break
    else:
        return found
    room = (trials.asked.gpu.memory - trials.asked.gpu.context) * SHARE
    lever, step = found.lever, found.step
    search = Search(
        lambda value: trial(lever, value * step),
        fits,
        room=room ** (1 / count),  # the need grows with the area, or the volume
        value=side // step,
        base=base | {"batch": side, "needed": base["needed"] ** (1 / count)},
        noun=SIDE,
        unit=step,
    )
    found.largest, found.why = search.run(), search.why
    return found


def _works(trial: Callable[[Lever, int], Any], lever: Lever, side: int) -> int:
    """By how much the side can be raised with this lever; 0 when it cannot."""
    try:
        trial(lever, 2 * side)
    except NotRehearsed:
        return 0
    for step in steps(side):
        try:
            trial(lever, side + step)
        except NotRehearsed:
            continue
        return step
    return 0
