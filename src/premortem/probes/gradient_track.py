"""What happened to the gradients of one optimizer since its last step."""

import weakref
from typing import Any

import torch
from torch.optim.optimizer import Optimizer

from premortem.events import Site
from premortem.probes.numbers import on_host
from premortem.probes.session import sampled

MOST_SENTINELS = 48  # in the audit gear
FEW_SENTINELS = 4  # in cruise, where six looks a step at each of them would be felt
_GLANCES = 3


class Track:
    """What happened to one optimizer's gradients since its last step."""

    __slots__ = (
        "__weakref__",
        "after_backward",
        "after_step",
        "after_zero",
        "backwards",
        "built",
        "built_at",
        "cleared",
        "counted",
        "counts",
        "emptied",
        "first_rates",
        "glances",
        "key",
        "most",
        "nonzero",
        "one_group",
        "optimizer",
        "pending",
        "rates",
        "reused",
        "scaled",
        "sentinels",
        "sites",
        "steps",
        "touched",
        "untold",
        "values",
        "weighed",
        "written",
    )

    def __init__(self, optimizer: Optimizer, key: int, built: int, at: Site | None) -> None:
        self.optimizer = weakref.ref(optimizer)
        self.key = key
        self.built = built
        self.built_at = at
        self.steps = 0
        self.untold = 0  # of them, since the last reported one
        self.written = self.weighed = 0  # versions, at the last step: of a gradient, and of its weight
        self.pending = 0  # backward calls whose gradients are in the sum: since the last clearing
        self.counted = (0, 0)  # trainable parameters, and how many of them had a gradient at the last step
        self.emptied = self.touched = self.reused = False
        self.nonzero = False  # the last backward left a gradient that is not zero (audit)
        self.counts: set[tuple[int, int]] = set()
        self.glances: list[Any] = []
        self.rates: list[Any] = []  # the very objects its groups held as learning rates at the last step
        self.first_rates: tuple[float, ...] = ()  # of its groups, as they are now
        # The line of the script that writes the rate of one group, and its number, once that was asked
        self.one_group: tuple[tuple[Site, int] | None] | None = None
        self.most = MOST_SENTINELS
        self.choose()
        self.reset()

    def look_at(self, most: int) -> None:
        """Between two steps: how many sentinels the next one is watched by."""
        if most != self.most:
            self.most = most
            self.choose()

    def choose(self) -> None:
        """A few parameters stand for all: every one of a small optimizer, an even spread of a large one."""
        optimizer = self.optimizer()
        held = [p for group in optimizer.param_groups for p in group["params"]] if optimizer else []
        held = [p for p in held if isinstance(p, torch.Tensor)]
        stride = max(1, len(held) // self.most)
        self.sentinels = [weakref.ref(p) for p in held[::stride]]
        self.after_step: list[Any] = [None] * len(self.sentinels)
        self.after_backward: list[Any] = [None] * len(self.sentinels)
        self.after_zero: list[Any] | None = None  # set while nothing came after a clearing

    def keep_up(self) -> None:
        """Before its gradients are looked at: an engine may have put other parameters into the groups, such as DeepSpeed its
        share of a flat copy. The first one stands for all."""
        optimizer = self.optimizer()
        groups = optimizer.param_groups if optimizer is not None else []
        held = groups[0]["params"] if groups else []
        if held and self.sentinels and held[0] is not self.sentinels[0]():
            self.choose()

    def rewritten(self, rates: list[Any]) -> bool:
        """Whether every rate is another object than at the last step: it was assigned, if only the same value."""
        before, self.rates = self.rates, rates
        return bool(before) and all(old is not new for old, new in zip(before, rates, strict=False))

    def reset(self) -> None:
        self.backwards = 0
        self.scaled = False
        self.sites: list[Site] = []
        self.values: list[float | None] = []
        self.cleared = False

    def ended(self) -> None:
        """A step is over: what follows is measured from here."""
        self.after_step = now = self.marks()
        self.reset()
        if all(mark is None for mark in now):  # it clears its gradients itself
            self.cleared = True
            self.pending = 0

    def marks(self) -> list[Any]:
        """Identity and version of each sentinel's gradient: changes when it is written or replaced."""
        return [
            None if (p := reference()) is None or (grad := p.grad) is None else (id(grad), grad._version)
            for reference in self.sentinels
        ]

    def trace(self) -> tuple[int, int]:
        """Right before a step: how often a gradient, and its weight, were written since the last one. Whoever accumulates,
        clips, does not clear, or sets weights by hand shows in these two numbers."""
        p = self.sentinels[0]() if self.sentinels else None
        if p is None:
            return 0, 0
        grad = p.grad
        written, weighed = -1 if grad is None else grad._version, p._version
        trace = written - self.written if written > self.written else written, weighed - self.weighed
        self.written, self.weighed = written, weighed
        return trace

    def count(self) -> None:
        optimizer = self.optimizer()
        groups = optimizer.param_groups if optimizer is not None else []
        held = [p for group in groups for p in group["params"] if p.requires_grad]
        self.counted = (len(held), len([p for p in held if p.grad is not None]))

    def glance(self) -> list[Any]:
        """A few values of a few sentinels (versions where a look would wait for the device)."""
        found = [p for reference in self.sentinels[:_GLANCES] if (p := reference()) is not None]
        return [(p._version, sampled(p, 2) if p.device.type == "cpu" else None) for p in found]

    def values_moved(self) -> bool:
        """Whether the weights were written since the last backward pass."""
        return bool(self.glances) and self.glance() != self.glances

    def all_zero(self) -> bool:
        """Whether every gradient is zero. Reads memory: for the audit gear."""
        optimizer = self.optimizer()
        held = [p for group in optimizer.param_groups for p in group["params"]] if optimizer else []
        return not any(
            p.grad is not None and (p.grad.layout != torch.strided or bool(on_host(p.grad).any()))
            for p in held
        )

    def left_empty(self, now: list[Any]) -> bool:
        """Every gradient that the last backward pass left was cleared since, and not put back by hand."""
        zeroed = self.after_zero or [None] * len(now)
        pairs = [
            (n, z) for n, z, had in zip(now, zeroed, self.after_backward, strict=False) if had is not None
        ]
        return bool(self.backwards and pairs) and all(n is None or n == z for n, z in pairs)


def same_gradients(now: list[Any], then: list[Any]) -> bool:
    """The very gradients of the last step: not one was written or replaced."""
    pairs = list(zip(now, then, strict=False))
    return any(n is not None for n, _ in pairs) and all(n == old for n, old in pairs)
