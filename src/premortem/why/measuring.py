"""What is measured in a trial: the loss of each backward pass, and how well predictions follow their targets.

Both lie above the change, so that they are the measures of the script as it is: the loss before a change turns its sign,
labels before a change shuffles them.
"""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from premortem.points import OVER, Subscriptions, after_optimizer_steps, before_optimizer_steps
from premortem.probes.losses import WATCHED
from premortem.probes.session import user_site
from premortem.why.order import Order

Apart = Callable[[], AbstractContextManager[Any]]
_CLASSES = ("cross_entropy", "nll_loss")
_YES_OR_NO = ("binary_cross_entropy", "binary_cross_entropy_with_logits")
_MOST = 1 << 16  # numbers of a prediction that are compared
_FEW_ROWS = 2  # samples that may be alike by chance
_WAITS = 2.0  # times the processor's time that a trial may take: the script waits for its loaders, or others use the machine
_PASSES = 20  # the last losses that decide whether a trial is hopeless


class Enough(SystemExit):
    """The trial is long enough."""


class Measuring:
    def __init__(self, order: Order, ours: Callable[[], bool], apart: Apart = nullcontext) -> None:
        self.order = order
        self.ours = ours
        self.apart = apart  # around its own use of torch
        self.losses: dict[str, list[float]] = {}
        self.fits: dict[str, list[float]] = {"train": [], "eval": []}
        self.norms: list[float] = []
        self.targets: list[float] = []  # how large they are, where they are numbers
        self.backwards = self.steps = 0
        self._judged = self._equal = 0  # losses, and those whose predictions are the same for all samples
        self.cut = self.hopeless = False
        self._hopeless = {int(at): above for at, above in order.hopeless}
        self.began: float | None = None  # processor's time at the first backward pass
        self._made = time.monotonic()
        self._began = math.nan  # the clock there
        self.on_first: Callable[[], None] = lambda: None
        self.on_backward: list[Callable[[torch.Tensor], None]] = []
        self._given: torch.Tensor | None = None
        self._inside = False

    def install(self) -> None:
        points = Subscriptions()
        points.add(torch.Tensor, "backward", self._around_method, order=OVER)
        points.add(torch.autograd, "backward", self._around_backward, order=OVER)
        for name in WATCHED:
            if hasattr(functional, name):
                points.add(functional, name, partial(self._around_loss, name), order=OVER)
        after_optimizer_steps(self._stepped)
        before_optimizer_steps(self._stepping)

    @property
    def constant(self) -> float:
        return self._equal / max(1, self._judged)

    @property
    def start_seconds(self) -> float:
        """Until the first backward pass."""
        return self._began - self._made if self.began is not None else 0.0

    @property
    def step_seconds(self) -> float:
        return self._spent() / max(1, self.backwards)

    def _spent(self) -> float:
        """Since the first backward pass: of the processor's time, or of the clock's where that is much more."""
        if self.began is None:
            return 0.0
        return max(time.process_time() - self.began, (time.monotonic() - self._began) / _WAITS)

    # -- losses ---------------------------------------------------------------------------

    def _around_method(self, call: Any) -> Any:
        def backward(loss: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            if self.ours():
                return call(loss, *args, **kwargs)
            self._given = loss  # as the script has made it, whatever a change makes of it
            try:
                return call(loss, *args, **kwargs)
            finally:
                self._given = None

        return backward

    def _around_backward(self, call: Any) -> Any:
        def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            if self.ours():
                return call(tensors, *args, **kwargs)
            loss = self._given if self._given is not None else tensors
            if self.began is None:
                self.began, self._began = time.process_time(), time.monotonic()
                self.on_first()
            self._check_limits()
            if isinstance(loss, torch.Tensor) and loss.numel() == 1:
                site = user_site()
                key = f"{site.file}:{site.line}" if site is not None else "?"
                with self.apart():
                    self.losses.setdefault(key, []).append(float(loss.detach()))
                    for hear in self.on_backward:
                        hear(loss)
            self.backwards += 1
            return call(tensors, *args, **kwargs)

        return backward

    def _check_limits(self) -> None:
        order = self.order
        if order.backwards:
            over = self.backwards >= order.backwards
        else:
            over = bool(order.seconds) and self._spent() > order.seconds
        above = self._hopeless.get(self.backwards)
        if above is not None and len(self.losses) == 1:
            (series,) = self.losses.values()
            self.hopeless = all(not value < above for value in series[-_PASSES:])
        if over or self.hopeless:
            self.cut = True
            raise Enough(0)

    def _stepping(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        held = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        dense = [each for each in held if each.layout == torch.strided]
        if dense and not self.ours():
            with self.apart():
                norms = torch.stack([torch.linalg.vector_norm(each.detach().float()).cpu() for each in dense])
                self.norms.append(float(norms.norm()))

    def _stepped(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self.steps += 1

    # -- predictions ----------------------------------------------------------------------

    def _around_loss(self, name: str, call: Any) -> Any:
        signature = inspect.signature(call)

        def compared(*args: Any, **kwargs: Any) -> Any:
            if not self._inside and not self.ours():
                self._inside = True
                try:
                    given = signature.bind(*args, **kwargs).arguments
                    self._judge(name, given.get("input"), given.get("target"))
                except (TypeError, ValueError, RuntimeError, IndexError):
                    pass  # of a kind that has no such measure
                finally:
                    self._inside = False
            return call(*args, **kwargs)

        return compared

    def _judge(self, name: str, made: Any, wanted: Any) -> None:
        if not isinstance(made, torch.Tensor) or not isinstance(wanted, torch.Tensor):
            return
        graded = torch.is_grad_enabled()
        with self.apart(), torch.no_grad():
            value = follows(name, made.detach(), wanted.detach())
            if graded and wanted.is_floating_point():
                self.targets.append(float(wanted.detach().float().square().mean().sqrt()))
            if graded and made.dim() and len(made) > _FEW_ROWS:
                self._judged += 1
                self._equal += bool((made == made[:1]).all())
        if value is not None:
            kind = "train" if graded else "eval"
            self.fits[kind].append(value if math.isfinite(value) else 0.0)


def follows(name: str, made: torch.Tensor, wanted: torch.Tensor) -> float | None:
    """How well a prediction follows its target, whatever the loss makes of it: the share of right classes, or correlation."""
    if name in _CLASSES and not wanted.is_floating_point():
        if made.dim() < 2:
            return None
        counted = wanted >= 0
        return float((made.argmax(1) == wanted)[counted].float().mean())
    if made.numel() != wanted.numel() or not 1 < made.numel() <= _MOST:
        return None
    left, right = made.flatten().float(), wanted.flatten().float()
    if name in _YES_OR_NO and bool(((right == 0) | (right == 1)).all()):
        border = 0.5 if name == "binary_cross_entropy" else 0.0
        # The mean over both classes: where one is rare, always saying the other is no success.
        yes, no = right == 1, right == 0
        shares = [((left > border) == yes)[kind].float().mean() for kind in (yes, no) if bool(kind.any())]
        return float(torch.stack(shares).mean())
    if bool((right == right[0]).all()):
        return None
    return float(torch.corrcoef(torch.stack([left, right]))[0, 1])


def is_sensitive(module: nn.Module) -> bool:
    """Whether a model does something else in training than in evaluation."""
    kinds = (nn.modules.batchnorm._BatchNorm, nn.modules.dropout._DropoutNd)  # noqa: SLF001 - it has no other name
    return any(isinstance(part, kinds) for part in module.modules())
