"""Clipping at what is usual for this run."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from premortem.parts.clip_record import ClipRecord
from premortem.parts.safe_clip import scale_down, total_norm

CALM = 0.05  # the least spread of log norms that is believed: 5 % up or down is not a spike


class AdaptiveClip:
    """Clips a gradient norm that stands out from the recent ones, and no other.

    ## Why it matters
    A fixed `max_norm` is right for one phase of a run: too high for its end, and at its start it cuts every step,
    which is a second learning rate. Spikes are what clipping is for. The logarithms of the norms have a
    running mean and spread; a norm more than `z` spreads above the mean is cut to that height. What is learnt from
    a spike is the height it was cut to, so a series of them does not become the new normal in a few steps.

    Until `warmup` norms have been seen nothing is known, and `max_norm` is the limit; it also is one later, if given.
    A norm that is not finite leaves gradients and statistics as they are. Nothing waits for the device.

    ## Example
    >>> import torch
    >>> from premortem.parts import AdaptiveClip
    >>> clip, weight = AdaptiveClip(warmup=20), torch.nn.Parameter(torch.zeros(1))
    >>> for step in range(40):
    ...     weight.grad = torch.tensor([1000.0 if step == 30 else 1.0 + step % 3])
    ...     norm = clip([weight])
    ...     if step == 30:
    ...         print(norm.item(), weight.grad.item() < 10)
    1000.0 True
    >>> clip.record.clipped
    1
    """

    def __init__(
        self, *, z: float = 3.0, decay: float = 0.97, warmup: int = 25, max_norm: float | None = None
    ) -> None:
        if not (z > 0 and 0 < decay < 1 and warmup >= 2):
            raise ValueError(
                f"AdaptiveClip needs z above 0, decay between 0 and 1 and a warmup of 2 or more, "
                f"not z={z}, decay={decay}, warmup={warmup}"
            )
        self.z, self.decay, self.warmup = z, decay, warmup
        self.max_norm = torch.inf if max_norm is None else max_norm
        self.record = ClipRecord()
        self._learnt = False  # anything at all
        # Finite norms so far; with mean and spread it lives beside the gradients.
        self._seen = torch.zeros(())
        self._mean = torch.zeros(())
        self._variance = torch.zeros(())

    def __call__(self, parameters: Iterable[Tensor] | Tensor) -> Tensor:
        """Clips in place and returns the norm before that, as `clip_grad_norm_` does."""
        owners = [parameters] if isinstance(parameters, Tensor) else list(parameters)
        norm = total_norm(owners, 2.0)
        self._move_to(norm.device)
        limit = self._limit()
        # torch's scaling wants a plain number as the limit, which would be a wait: so 1, and the norm in units of it.
        scale_down(owners, 1.0, norm.float() / limit)
        self.record.add(norm, limit)
        self._learn(norm.float(), limit)
        return norm

    def state_dict(self) -> dict[str, Any]:
        """What it has learnt, for the checkpoint."""
        return {"seen": self._seen, "mean": self._mean, "variance": self._variance}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._seen, self._mean, self._variance = (
            state[key].detach().clone() for key in ("seen", "mean", "variance")
        )
        self._learnt = True

    def _limit(self) -> Tensor:
        usual = (self._mean + self.z * self._variance.sqrt().clamp(min=CALM)).exp()
        fixed = torch.full_like(usual, self.max_norm)
        return torch.where(self._seen >= self.warmup, torch.minimum(usual, fixed), fixed)

    def _learn(self, norm: Tensor, limit: Tensor) -> None:
        self._learnt = True
        usable = norm.isfinite() & (norm > 0)
        height = torch.minimum(norm, limit).log()
        seen = self._seen + 1
        # A plain mean while there are few, a running one later.
        share = (1 / seen).clamp(min=1 - self.decay)
        step = height - self._mean
        variance = (1 - share) * (self._variance + share * step * step)
        self._mean = torch.where(usable, self._mean + share * step, self._mean)
        self._variance = torch.where(usable, variance, self._variance)
        self._seen = torch.where(usable, seen, self._seen)

    def _move_to(self, device: torch.device) -> None:
        if self._mean.device != device:
            self._seen, self._mean, self._variance = (
                # Made on the device where it is needed, so that no copy is waited for.
                each.to(device) if self._learnt else torch.zeros_like(each, device=device)
                for each in (self._seen, self._mean, self._variance)
            )
