"""How much memory CUDA's reductions (sum, mean, norm, …) borrow while they run.

A reduction over few outputs and many inputs is split among thread blocks, which meet in a buffer. The bias gradient of
a linear layer is such a reduction: the buffer is often larger than what is summed up, and no tensor shows it.
Follows how torch's reduction kernel chooses its launch.
"""

import math
from collections.abc import Sequence

from premortem.fit.gpus import Gpu

_MOST_THREADS = 512
_WARP = 32
_FEW, _MANY = 16, 256  # values for one thread


def buffer(
    shape: Sequence[int],
    strides: Sequence[int],
    reduced: Sequence[int],
    *,
    gpu: Gpu,
    accumulator: int = 4,
) -> int:
    """Bytes borrowed by a reduction of a tensor over the dimensions `reduced`."""
    sizes = [(strides[d], shape[d], d in reduced) for d in range(len(shape)) if shape[d] != 1]
    inner = _merged([(stride, size) for stride, size, gone in sizes if gone])
    outer = _merged([(stride, size) for stride, size, gone in sizes if not gone])
    if not inner:
        return 0
    outputs = math.prod(size for _, size in outer)
    inputs = math.prod(size for _, size in inner)
    along = not outer or inner[0][0] < outer[0][0]
    width, height = (inputs, outputs) if along else (outputs, inputs)
    vector = 1
    if along and inner[0][0] == 1 and width >= 128 and len(inner) == 1:
        width //= 4
    elif not along and outer[0][0] == 1:
        vector = _vector(outer[0][1], [stride for stride, _ in (*inner, *outer[1:])])
        width //= vector
    block_x, block_y = _block(width, height, _MOST_THREADS // vector)
    step_in, step_out = (block_x, 1) if along else (1, block_x)
    per_thread = -(-inputs // step_in)
    if per_thread < min(block_y * 16, _MANY):
        return 0
    per_thread = -(-inputs // (step_in * block_y))
    grid = -(-(outputs // vector) // step_out)
    target = gpu.processors * (gpu.threads // (block_x * block_y))
    if per_thread < _MANY or grid > target:
        return 0
    parts = max(min(-(-target // grid), -(-per_thread // _FEW)), -(-per_thread // _MANY))
    if parts <= 1:
        return 0
    return accumulator * outputs * parts * (1 if along else block_x * vector)


def _merged(dims: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """(stride, size) from the fastest to the slowest; neighbours in memory are one dimension."""
    found: list[tuple[int, int]] = []
    for stride, size in sorted(dims):
        if found and found[-1][0] * found[-1][1] == stride:
            found[-1] = (found[-1][0], found[-1][1] * size)
        else:
            found.append((stride, size))
    return found


def _vector(fastest: int, strides: Sequence[int]) -> int:
    vector = 4
    for number in (fastest, *strides):
        while number % vector:
            vector //= 2
    return vector


def _block(width: int, height: int, most: int) -> tuple[int, int]:
    wide = _power_below(width) if width < most else most
    high = _power_below(height) if height < most else most
    block_x = min(wide, _WARP)
    block_y = min(high, most // block_x)
    return min(wide, most // block_y), block_y


def _power_below(number: int) -> int:
    return 1 << max(number.bit_length() - 1, 0)


def rounded_up(number: int, step: int) -> int:
    """To a multiple of the step."""
    return -(-number // step) * step
