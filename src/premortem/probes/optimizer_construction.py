"""Optimizers being built: with which groups of parameters and which settings, or why they could not be."""

from __future__ import annotations

import math
import numbers
from typing import TYPE_CHECKING, Any

import torch
from torch.optim.optimizer import Optimizer

from premortem.events import Group, OptimizerBuilt, Site
from premortem.probes.session import Session, user_site

if TYPE_CHECKING:
    from premortem.probes.optimizers import Optimizers


class OptimizerConstruction:
    """Wraps the constructors of optimizers, and `add_param_group`."""

    def __init__(self, session: Session, optimizers: Optimizers) -> None:
        self.session = session
        self.optimizers = optimizers
        self._failed: set[int] = set()  # optimizers whose constructor raised

    def install(self) -> None:
        session = self.session
        session.patch(Optimizer, "__init__", self._wrap_init)
        for cls in vars(torch.optim).values():
            if isinstance(cls, type) and issubclass(cls, Optimizer) and cls is not Optimizer:
                if "__init__" in vars(cls):
                    session.patch(cls, "__init__", self._wrap_arguments)
        session.around(Optimizer, "add_param_group", after=self._group_added)

    def _wrap_init(self, original: Any) -> Any:
        def __init__(optimizer: Optimizer, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            try:
                original(optimizer, *args, **kwargs)
            except Exception as error:
                self._not_built(optimizer, error, beyond=optimizer)
                raise
            if self.session.listening():
                with self.session.looking_at("optimizer built"):
                    self.built(optimizer, user_site(beyond=optimizer))

        return __init__

    def _wrap_arguments(self, original: Any) -> Any:
        """torch's own optimizers check their arguments before `Optimizer.__init__` is reached."""

        def __init__(optimizer: Optimizer, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            try:
                original(optimizer, *args, **kwargs)
            except Exception as error:
                self._not_built(optimizer, error, lr=kwargs.get("lr", args[1] if len(args) > 1 else None))
                raise

        return __init__

    def _not_built(self, optimizer: Optimizer, error: Exception, beyond: Any = None, lr: Any = None) -> None:
        if self.session.listening():
            with self.session.looking_at("optimizer built"):
                self.built(optimizer, user_site(beyond=beyond), error=str(error), lr=lr)

    def built(
        self, optimizer: Optimizer, at: Site | None, again: bool = False, error: str = "", lr: Any = None
    ) -> None:
        key = self.session.optimizers.of(optimizer)
        if error:
            if key in self._failed:  # reported where it was raised first
                return
            self._failed.add(key)
        if not error and not again:
            self.optimizers.follow(optimizer, key, at)
            self.session.look_closer()
        elif again:
            self.optimizers.tracks[key].choose()
        groups = getattr(optimizer, "param_groups", [])
        defaults = getattr(optimizer, "defaults", {})
        rates = (lr, defaults.get("lr"), *(group.get("lr") for group in groups))
        self.session.emit(
            OptimizerBuilt(
                step=self.session.step,
                at=at,
                optimizer=key,
                kind=type(optimizer).__name__,
                groups=tuple(self._group(group) for group in groups),
                fused=bool(defaults.get("fused")),
                maximize=bool(defaults.get("maximize")),
                lr_text=next((rate for rate in rates if isinstance(rate, str)), ""),
                frozen=tuple(
                    self.session.parameters.of(p)
                    for group in groups
                    for p in group["params"]
                    if isinstance(p, torch.Tensor) and not p.requires_grad
                ),
                again=again,
                error=error,
            )
        )

    def _group(self, group: dict[str, Any]) -> Group:
        return Group(
            number(group.get("lr")),
            number(group.get("weight_decay", 0.0)),
            number(group.get("momentum", (group.get("betas") or (0.0,))[0])),
            tuple(self.session.parameters.of(p) for p in group["params"] if isinstance(p, torch.Tensor)),
            eps if isinstance(eps := group.get("eps"), float) else 0.0,
            sum(isinstance(p, torch.Tensor) and p.dim() > 1 for p in group["params"]),
        )

    def _group_added(self, note: Any, result: Any, optimizer: Optimizer, *args: Any, **kwargs: Any) -> None:
        # Optimizer.__init__ itself adds its groups through this method.
        key = self.session.optimizers.known(optimizer)
        if key in self.optimizers.tracks:
            self.built(optimizer, user_site(), again=True)


def stray_rate(optimizer: Optimizer) -> float | None:
    """A learning rate that was assigned to an attribute or key that torch's own optimizers do not have."""
    if not type(optimizer).__module__.startswith("torch.optim"):
        return None
    given = vars(optimizer).get("lr", vars(optimizer).get("learning_rate"))
    if given is None:
        given = next(
            (group["learning_rate"] for group in optimizer.param_groups if "learning_rate" in group), None
        )
    return float(given) if isinstance(given, (int, float)) else None


def broken_rate(optimizer: Optimizer) -> float | None:
    """A rate that is NaN or infinite, and not only unknown to us."""
    rates = [group.get("lr") for group in optimizer.param_groups]
    known = [
        float(rate)
        for rate in rates
        if isinstance(rate, numbers.Real)
        or (isinstance(rate, torch.Tensor) and rate.device.type == "cpu" and rate.numel() == 1)
    ]
    return next((rate for rate in known if not math.isfinite(rate)), None)


def number(value: Any) -> float:
    """A hyper-parameter as a float, without waiting for a device (a tensor rate on CUDA is nan)."""
    if isinstance(value, torch.Tensor):
        return float(value) if value.device.type == "cpu" and value.numel() == 1 else float("nan")
    return float(value) if isinstance(value, (int, float)) else float("nan")
