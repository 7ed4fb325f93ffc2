"""PSNR and SSIM, image by image, with the window arithmetic of torchmetrics."""

from typing import Any

import torch
from torch import Tensor

from premortem.errors import MissingExtra
from premortem.parts.charbonnier import wide

GRID = 255  # steps of an image that was stored in 8 bits


class PSNR:
    """The peak signal-to-noise ratio of each image of a batch, in dB, for `Evaluation`.

    ## Why it matters
    The ratio is infinite where prediction and target agree in every pixel. That is a perfect result, or the target has
    leaked into the prediction, or the arithmetic is broken; and one such image makes the mean of all infinite. `why_infinite` tells the
    three apart: *leaked* when both are the same memory, or the same floats that no network hits one by one; *perfect* when both
    are integers, on the 8-bit grid, or of one colour; *broken* when they differ and their difference is lost in rounding.

    ## Example
    >>> import torch
    >>> from premortem.parts import PSNR
    >>> psnr = PSNR(data_range=1.0)
    >>> target = torch.rand(2, 3, 16, 16, generator=torch.Generator().manual_seed(0))
    >>> [round(value, 2) for value in psnr(target + 0.1, target).tolist()]
    [20.0, 20.0]
    >>> psnr(target, target).tolist(), psnr.why_infinite(target[0], target[0])[0]
    ([inf, inf], 'leaked')
    """

    def __init__(self, data_range: float = 1.0) -> None:
        self.data_range = _positive(data_range, "PSNR")
        self._measure = _torchmetrics("peak_signal_noise_ratio", "PSNR")

    def __call__(self, prediction: Tensor, target: Tensor) -> Tensor:
        _same_shape(prediction, target, "PSNR")
        dims = tuple(range(1, prediction.dim()))
        found: Tensor = self._measure(
            prediction.double(), target.double(), data_range=self.data_range, reduction="none", dim=dims
        )
        return found.reshape(-1)

    def why_infinite(self, prediction: Tensor, target: Tensor) -> tuple[str, str]:
        """`perfect`, `leaked` or `broken`, and a sentence. For one image whose ratio is infinite."""
        if prediction.untyped_storage().data_ptr() == target.untyped_storage().data_ptr():
            return "leaked", "the prediction is the target: both are the same memory"
        if not torch.equal(prediction, target.to(prediction.dtype)):
            return (
                "broken",
                "prediction and target differ, and the square of the difference is lost in rounding",
            )
        levels = target.double() * GRID / self.data_range
        if not target.is_floating_point() or torch.equal(levels.round(), levels.round(decimals=4)):
            return "perfect", "prediction and target agree in every pixel, in steps of 8 bits"
        if bool((target == target.flatten()[0]).all()):
            return "perfect", "prediction and target are of one and the same colour"
        return "leaked", "the prediction has the target's bits, which no network computes by itself"


class SSIM:
    """The structural similarity of each image of a batch (N, C, H, W), for `Evaluation`.

    ## Why it matters
    A mean over batches weighs the images of a short last batch more than the others. Here each image has its own value.

    ## Example
    >>> import torch
    >>> from premortem.parts import SSIM
    >>> image = torch.rand(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    >>> [round(value, 3) for value in SSIM(data_range=1.0)(image, image).tolist()]
    [1.0, 1.0]
    """

    def __init__(self, data_range: float = 1.0) -> None:
        self.data_range = _positive(data_range, "SSIM")
        self._measure = _torchmetrics("structural_similarity_index_measure", "SSIM")

    def __call__(self, prediction: Tensor, target: Tensor) -> Tensor:
        _same_shape(prediction, target, "SSIM")
        one, other = wide(prediction), wide(target)
        found: Tensor = self._measure(one, other.to(one.dtype), data_range=self.data_range, reduction="none")
        return found.reshape(-1)


def _positive(data_range: float, name: str) -> float:
    if not data_range > 0:
        raise ValueError(f"{name} needs a data range above 0, not {data_range}")
    return float(data_range)


def _same_shape(prediction: Tensor, target: Tensor, name: str) -> None:
    if prediction.shape != target.shape or prediction.dim() < 3:
        raise ValueError(
            f"{name} compares batches of images of one shape; the prediction is {tuple(prediction.shape)} "
            f"and the target {tuple(target.shape)}"
        )


def _torchmetrics(function: str, name: str) -> Any:
    try:
        from torchmetrics.functional import image
    except ModuleNotFoundError:
        raise MissingExtra(name, "losses") from None
    return getattr(image, function)
