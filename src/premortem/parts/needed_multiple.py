"""Which multiple of height and width a model needs."""

from dataclasses import dataclass
from typing import Any

from torch import nn

from premortem.parts.preserved import evaluating, preserved
from premortem.parts.trial_sizes import NotWithFakes, Trials

# Sizes with many divisors, so that what a model needs is among them. Without contents a large size costs as much as a small one.
RICH = (26880, 6720, 20160, 73920, 87360, 2688, 1680, 1344)
SMALL = (672, 448, 224, 384, 512, 256, 518, 336, 192, 128, 96, 64, 1024, 768, 320, 640, 416, 32, 28)
SLIPS = (1, 2, 3)  # how many times a candidate is added: sizes that it says will work


@dataclass(frozen=True, slots=True)
class NeededMultiple:
    """`height` and `width` can be handed to `pad_to_multiple`. `print` shows it in words."""

    height: int
    width: int
    fixed: bool = False  # this very size, and no other
    why: str = ""  # what happens at other sizes

    def __str__(self) -> str:
        if self.fixed:
            return f"the model takes images of {self.height}×{self.width} and no other size. Otherwise: {self.why}"
        if (self.height, self.width) == (1, 1):
            return "the model takes images of any size"
        sides = (
            f"{self.height}"
            if self.height == self.width
            else f"{self.height} in height and {self.width} in width"
        )
        return f"the model needs a multiple of {sides}. Otherwise: {self.why}"


def needed_multiple(model: nn.Module, example: Any) -> NeededMultiple:
    """Tries sizes until it knows. `example` is a batch that the model is called with: a tensor, a tuple or a dictionary.

    ## Why it matters
    The multiple is the least common one of all patches and strides in the model, and is not obvious: with a backbone of 14 pixels and
    a decoder of stride 32 it is 224. A size in between fails in a concatenation somewhere in the middle, or the
    borders are cropped in silence.

    ## Example
    >>> import torch
    >>> from premortem.parts import needed_multiple
    >>> class Net(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.down = torch.nn.Conv2d(3, 8, 3, stride=2, padding=1)
    ...         self.deeper = torch.nn.Conv2d(8, 8, 3, stride=2, padding=1)
    ...         self.up = torch.nn.Upsample(scale_factor=2)
    ...     def forward(self, x):
    ...         half = self.down(x)
    ...         return self.up(torch.cat([half, self.up(self.deeper(half))], dim=1))
    >>> needed = needed_multiple(Net(), torch.rand(1, 3, 50, 50))
    >>> needed.height, needed.width
    (4, 4)

    ## How
    The forward pass is run in eval mode on tensors without contents, so that hundreds of sizes cost little; then once for real. What
    cannot run without contents is tried for real throughout, on smaller sizes. A size is right if the model runs, and what comes out
    grows in step with what goes in: a map that is smaller than that has lost rows, one of the input's resolution must match it. A
    patch embedding that leaves out the last pixels counts as cropping. Modes, buffers and random generators are as before.
    """
    with preserved(model), evaluating(model):
        try:
            trials = Trials(model, example, fake=True)
            found = _search(trials, (*RICH, *trials.sides, *SMALL))
            if Trials(model, example, fake=False).runs(found):
                return found
        except (NotWithFakes, ValueError):  # it runs at no size: ask again for real before believing that
            pass
        trials = Trials(model, example, fake=False)
        return _search(trials, (*trials.sides, *SMALL))


def _search(trials: Trials, sizes: tuple[int, ...]) -> NeededMultiple:
    start = _first_that_runs(trials, sizes)
    down = not trials.works(2 * start, 2 * start, start)
    sides = []
    for axis in (0, 1):
        need = start
        for prime in _primes(start):
            if all(
                trials.works(*_at(axis, start, size), start)
                for size in _sizes(start, need // prime, down=down)
            ):
                need //= prime
        sides.append(need)
    fixed = down and start in sides
    return NeededMultiple(sides[0], sides[1], fixed=fixed, why=trials.why(start, sides))


def _first_that_runs(trials: Trials, sizes: tuple[int, ...]) -> int:
    runs = [size for size in dict.fromkeys(sizes) if size and trials.shapes(size, size) is not None]
    lawful = (size for size in runs if trials.works(2 * size, 2 * size, size))
    if (size := next(lawful, next(iter(runs), None))) is None:
        raise ValueError(
            f"the model runs at none of {len(set(sizes))} sizes; with the example it says: {trials.complaint(*trials.example)}"
        )
    return size


def _sizes(start: int, need: int, *, down: bool) -> list[int]:
    steps = [-slip for slip in SLIPS] if down else [*SLIPS, -1]
    return [start + step * need for step in steps if start + step * need >= need]


def _at(axis: int, start: int, size: int) -> tuple[int, int]:
    return (size, start) if axis == 0 else (start, size)


def _primes(number: int) -> list[int]:
    found, prime = [], 2
    while number > 1:
        while number % prime == 0:
            found.append(prime)
            number //= prime
        prime += 1
    return found
