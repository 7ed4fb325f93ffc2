"""Images padded to a size that a model takes, and its output cut back."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import torch
from torch import Tensor

Mode = Literal["reflect", "replicate", "constant"]


@dataclass(frozen=True, slots=True)
class Padding:
    """What `unpad` needs: height and width, before and after."""

    size: tuple[int, int]
    padded: tuple[int, int]

    def __bool__(self) -> bool:
        return self.size != self.padded


def pad_to_multiple(
    images: Tensor, multiple: Any, *, mode: Mode = "reflect", value: float = 0.0
) -> tuple[Tensor, Padding]:
    """Pads height and width, the last two dimensions, at their ends to a multiple. Images may be 3-D, 4-D or 5-D.

    ## Why it matters
    A model that halves its input five times needs a multiple of 32, one with patches of 14 pixels a multiple of 14, and one that has both a multiple
    of 224, the least common one. Padded to 32 it fails in the first epoch, or crops, and prediction and target do not lie on each
    other any more. `needed_multiple` finds the number, this pads, and `unpad` cuts the output back, also one of another resolution.

    ## Example
    >>> import torch
    >>> from premortem.parts import pad_to_multiple, unpad
    >>> clip = torch.rand(1, 3, 5, 180, 250)
    >>> padded, padding = pad_to_multiple(clip, 32)
    >>> tuple(padded.shape)
    (1, 3, 5, 192, 256)
    >>> torch.equal(unpad(padded, padding), clip)
    True
    >>> twice = torch.nn.functional.interpolate(padded[:, :, 0], scale_factor=2)
    >>> tuple(unpad(twice, padding).shape)
    (1, 3, 360, 500)

    ## What it takes
    `multiple`: a number, a pair for height and width, or what `needed_multiple` returned. `mode`: `reflect` (also where there is more to pad
    than there is image), `replicate`, or `constant` with `value`. Gradients pass. An image that fits is returned as it is.
    """
    if images.dim() < 3:
        raise ValueError(f"pad_to_multiple takes images of 3 to 5 dimensions, not {tuple(images.shape)}")
    size = (images.shape[-2], images.shape[-1])
    if not all(size):
        raise ValueError(f"pad_to_multiple: there is nothing to pad in images of {size[0]}×{size[1]}")
    padded = tuple(-(-side // each) * each for side, each in zip(size, _pair(multiple), strict=True))
    padding = Padding(size, (padded[0], padded[1]))
    if not padding:
        return images, padding
    if mode == "constant":
        whole = images.new_full((*images.shape[:-2], *padded), value)
        whole[..., : size[0], : size[1]] = images
        return whole, padding
    for dim, old, new in ((-2, size[0], padded[0]), (-1, size[1], padded[1])):
        if old != new:
            images = images.index_select(dim, _places(old, new, mode).to(images.device))
    return images, padding


def unpad(output: Tensor, padding: Padding, *, scale: float | Fraction | None = None) -> Tensor:
    """Cuts the output for padded images back to what belongs to the images.

    `scale` is the height of the output over that of the input; left out, it is read from the shapes. Where a
    pixel of a coarser output belongs to image and padding, it stays.

    ## Why it matters
    Border pixels that were made up must not count in a loss or a metric.

    ## Example
    >>> import torch
    >>> from premortem.parts import pad_to_multiple, unpad
    >>> padded, padding = pad_to_multiple(torch.rand(1, 3, 100, 100), 14)
    >>> tuple(padded.shape), tuple(unpad(torch.rand(1, 384, 8, 8), padding).shape)
    ((1, 3, 112, 112), (1, 384, 8, 8))
    """
    sides = tuple(output.shape[-2:])
    factors = [Fraction(side, new) for side, new in zip(sides, padding.padded, strict=True)]
    if scale is not None:
        wanted = Fraction(scale).limit_denominator(4096)
        if any(factor != wanted for factor in factors):
            raise ValueError(
                f"unpad: with a scale of {scale} an input of {_by(padding.padded)} gives an output of "
                f"{_by([float(wanted * new) for new in padding.padded])}, and this one is {_by(sides)}"
            )
    elif factors[0] != factors[1]:
        raise ValueError(
            f"unpad: an output of {_by(sides)} has another shape than the padded input of {_by(padding.padded)}; the last "
            "two dimensions must be height and width"
        )
    height, width = (-(-side * factor // 1) for side, factor in zip(padding.size, factors, strict=True))
    return output[..., :height, :width]


def _pair(multiple: Any) -> tuple[int, ...]:
    pair: tuple[int, ...]
    if hasattr(multiple, "height"):
        pair = (multiple.height, multiple.width)
    else:
        pair = (multiple, multiple) if isinstance(multiple, int) else tuple(multiple)
    if len(pair) != 2 or not all(int(each) == each > 0 for each in pair):
        raise ValueError(f"pad_to_multiple needs a multiple above 0, or two, not {multiple!r}")
    return pair


def _places(old: int, new: int, mode: str) -> Tensor:
    """Which row each row of the padded image is a copy of."""
    rows = torch.arange(new)
    if mode == "replicate":
        return rows.clamp(max=old - 1)
    if mode != "reflect":
        raise ValueError(f"pad_to_multiple has the modes reflect, replicate and constant, not {mode!r}")
    period = max(2 * (old - 1), 1)
    return (old - 1) - ((rows % period) - (old - 1)).abs()


def _by(sides: Any) -> str:
    return "×".join(f"{side:g}" for side in sides)
