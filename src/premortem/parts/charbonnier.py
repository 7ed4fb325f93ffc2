"""The Charbonnier loss."""

import torch
from torch import Tensor


class Charbonnier(torch.nn.Module):
    """The mean of `sqrt(difference² + epsilon²) - epsilon`: L1 for large errors, smooth at zero.

    ## Why it matters
    The common form, `sqrt(difference² + 1e-12)` or with no epsilon at all, has a gradient that is infinite times zero
    where prediction and target agree, and in half precision both the square and the epsilon vanish. Here the root is a
    hypotenuse, which neither overflows nor underflows, and half precision is computed in float32.

    The epsilon is taken off again, so that a perfect prediction costs exactly 0.

    ## Example
    >>> import torch
    >>> from premortem.parts import Charbonnier
    >>> same = torch.ones(2, 3, 8, 8, requires_grad=True)
    >>> loss = Charbonnier()(same, torch.ones(2, 3, 8, 8))
    >>> loss.backward()
    >>> loss.item(), same.grad.abs().max().item()
    (0.0, 0.0)
    """

    def __init__(self, epsilon: float = 1e-3) -> None:
        super().__init__()
        if not epsilon > 0:
            raise ValueError(f"Charbonnier needs an epsilon above 0, not {epsilon}: at 0 its gradient is NaN")
        self.epsilon = epsilon

    def forward(self, prediction: Tensor, target: Tensor) -> Tensor:
        if prediction.shape != target.shape:
            raise ValueError(
                f"Charbonnier compares equal shapes; the prediction is {tuple(prediction.shape)} "
                f"and the target {tuple(target.shape)}"
            )
        with torch.autocast(prediction.device.type, enabled=False):
            difference = wide(prediction) - wide(target)
            return (torch.hypot(difference, difference.new_tensor(self.epsilon)) - self.epsilon).mean()


def wide(images: Tensor) -> Tensor:
    """In float32, or float64 where it already is: half precision and integers cannot hold a square."""
    return images if images.dtype in (torch.float32, torch.float64) else images.float()
