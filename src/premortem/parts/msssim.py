"""Multi-scale structural similarity."""

import warnings
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from premortem.errors import MissingExtra
from premortem.parts.charbonnier import wide

WINDOW = 11  # pixels; the window of the paper, and of every implementation
WEIGHTS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)  # of the paper, finest scale first
FLOOR = 1e-3  # a contrast below this is continued, see `_log`
LIMIT = 1e3  # times the data range: a prediction further out overflows when it is squared


class MSSSIM(torch.nn.Module):
    """The similarity of two batches of images (N, C, H, W), 1 for equal ones. `MSSSIM().loss` is 1 minus that.

    ## Why it matters
    MS-SSIM raises the contrast of each scale to a fractional power. The contrast of images that are unlike is negative,
    and a negative number to the power of 0.2856 is NaN. Cutting it off at 0 instead makes the product 0 and its gradient
    0, too: the worst predictions learn nothing. Here a contrast below 0.001 is continued by an exponential: positive,
    rising, with a gradient. Above it, the value is the usual one.

    ## What is checked
    - The side. With a window of 11 pixels, five scales need 176 pixels. By default as many scales are used as fit, and
      that is reported once; with `scales=5` a smaller image is an error.
    - The range. `data_range=1.0` means images from 0 to 1; say `data_range=(-1, 1)` for those. A target outside of it is
      an error. This is looked at in the first calls, then at every power of two; not in a compiled graph.
    - The precision. It is computed in float32, also inside autocast.

    For finite images value and gradient are finite. An image with NaN or infinity gives NaN: that must not be hidden.

    The windows come from torchmetrics: `pip install 'premortem[losses]'`.

    ## Example
    >>> import torch
    >>> from premortem.parts import MSSSIM
    >>> image = torch.rand(2, 3, 192, 192, generator=torch.Generator().manual_seed(0))
    >>> similarity = MSSSIM(data_range=1.0)
    >>> round(similarity(image, image).item(), 4)
    1.0
    >>> bool(similarity(1 - image, image) > 0)
    True
    """

    def __init__(self, data_range: float | tuple[float, float] = 1.0, *, scales: int | None = None) -> None:
        super().__init__()
        self._ssim = _ssim()
        self.low, self.high = data_range if isinstance(data_range, tuple) else (0.0, float(data_range))
        if not self.high > self.low:
            raise ValueError(f"MSSSIM: a data range from {self.low:g} to {self.high:g} is empty")
        if scales is not None and not 1 <= scales <= len(WEIGHTS):
            raise ValueError(f"MSSSIM has 1 to {len(WEIGHTS)} scales, not {scales}")
        self.scales = scales
        self._calls = 0
        self._brightest = 0.0  # share of the range that targets have used
        self._warned: set[str] = set()

    def forward(self, prediction: Tensor, target: Tensor) -> Tensor:
        scales = self._fitting(prediction, target)
        if not torch.compiler.is_compiling():
            self._look_at(target)
        with torch.autocast(prediction.device.type, enabled=False):
            return self._similarity(wide(prediction), wide(target), scales).mean()

    def loss(self, prediction: Tensor, target: Tensor) -> Tensor:
        """1 minus the similarity, which is what a training loop adds up."""
        similarity: Tensor = self(prediction, target)
        return 1 - similarity

    def _similarity(self, prediction: Tensor, target: Tensor, scales: int) -> Tensor:
        span = self.high - self.low
        # From 0 on, where the comparison of brightness makes sense. What is infinite stays visible as NaN.
        near = (prediction - self.low).clamp(-LIMIT * span, LIMIT * span)
        one = near.where(prediction.isfinite(), torch.nan)
        other = (target - self.low).to(one.dtype)
        logarithm = one.new_zeros(one.shape[0])
        for scale, weight in enumerate(_weights(scales)):
            whole, contrast = self._ssim(
                one,
                other,
                kernel_size=WINDOW,
                reduction="none",
                data_range=span,
                return_contrast_sensitivity=True,
            )
            last = scale == scales - 1
            logarithm = logarithm + weight * _log(whole if last else contrast)
            if not last:
                one, other = F.avg_pool2d(one, 2), F.avg_pool2d(other, 2)
        return logarithm.exp()

    def _fitting(self, prediction: Tensor, target: Tensor) -> int:
        if prediction.shape != target.shape or prediction.ndim != 4:
            raise ValueError(
                f"MSSSIM compares images of one shape (N, C, H, W); the prediction is {tuple(prediction.shape)} "
                f"and the target {tuple(target.shape)}"
            )
        height, width = prediction.shape[-2:]
        most = (min(height, width) // WINDOW).bit_length()
        wanted = self.scales or len(WEIGHTS)
        if most >= wanted:
            return wanted
        needed = f"{wanted} scales with a window of {WINDOW} need a side of {WINDOW << (wanted - 1)} pixels"
        if most < 1:
            raise ValueError(
                f"MSSSIM: a window of {WINDOW} pixels does not fit into images of {height}×{width}"
            )
        if self.scales is not None:
            raise ValueError(
                f"MSSSIM: {needed}; these images are {height}×{width}. Pass scales={most}, or use larger crops."
            )
        self._say_once(f"MSSSIM: {needed}; for images of {height}×{width} it uses {most}.")
        return most

    def _look_at(self, target: Tensor) -> None:
        """The extent of the target. On a GPU this waits for it, so it is done ever more rarely."""
        self._calls += 1
        if self._calls > 8 and self._calls & (self._calls - 1):
            return
        low, high = torch.stack(torch.aminmax(wide(target.detach()))).tolist()
        span = self.high - self.low
        slack = 0.01 * span  # resampling overshoots
        if low < self.low - slack or high > self.high + slack:
            raise ValueError(
                f"MSSSIM was built for images from {self.low:g} to {self.high:g}, but this target reaches "
                f"from {low:g} to {high:g}. Pass data_range=({low:.3g}, {high:.3g}) or what the format allows."
            )
        self._brightest = max(self._brightest, (high - self.low) / span)
        if self._calls == 8 and self._brightest < 1 / 64:
            self._say_once(
                f"MSSSIM was built for images up to {self.high:g}, but the brightest pixel of 8 batches is "
                f"{self.low + self._brightest * span:.3g}. With so wide a data range everything looks alike."
            )

    def _say_once(self, sentence: str) -> None:
        if not torch.compiler.is_compiling() and sentence not in self._warned:
            self._warned.add(sentence)
            warnings.warn(sentence, stacklevel=2)


def _weights(scales: int) -> list[float]:
    """Those of the paper; of fewer scales, in the same proportions."""
    chosen = WEIGHTS[:scales]
    return list(chosen) if scales == len(WEIGHTS) else [weight / sum(chosen) for weight in chosen]


def _log(similarity: Tensor) -> Tensor:
    """The logarithm; below the floor, where it would plunge or not exist, a line of slope 1."""
    return similarity.clamp(min=FLOOR).log() + (similarity - FLOOR).clamp(max=0)


def _ssim() -> Any:
    try:
        from torchmetrics.functional.image import structural_similarity_index_measure
    except ModuleNotFoundError:
        raise MissingExtra("MSSSIM", "losses") from None
    return structural_similarity_index_measure
