"""Random functions of torch: whether a line draws the very same numbers again and again."""

import functools
import weakref
from collections import deque
from typing import Any

import torch

from premortem.events import RandomRepeated, Shuffled, Site
from premortem.probes.session import Session, sampled, user_site

WATCHED = (
    "randperm",
    "randint",
    "rand",
    "randn",
    "rand_like",
    "randn_like",
    "normal",
    "multinomial",
    "bernoulli",
)
_TELLING = 3  # times in a row from which it is reported
_MOST_SITES = 1024
_NORMAL = frozenset(("randn", "randn_like", "normal"))
_NOISE = _NORMAL | {"rand", "rand_like"}


class Draws:
    def __init__(self, session: Session) -> None:
        self.session = session
        self._last: dict[tuple[str, Site | None], tuple[Any, int]] = {}
        # Numbers from normal distributions, and the step in which they were drawn.
        self._noise: deque[tuple[int, weakref.ref[torch.Tensor]]] = deque(maxlen=16)

    def is_noise(self, tensor: torch.Tensor) -> bool:
        """Whether these numbers were drawn in this step."""
        whole = tensor._base if tensor._base is not None else tensor
        return any(step == self.session.step and drawn() is whole for step, drawn in self._noise)

    def install(self) -> None:
        for name in WATCHED:
            self.session.layer(torch, name, functools.partial(self._wrap, name), quiet=None)

    def _wrap(self, name: str, original: Any) -> Any:
        session = self.session

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            grad, explicit = torch.is_grad_enabled(), kwargs.get("generator") is not None
            with session.looking_at("draws"):
                self._drawn(name, result, grad, explicit)
            return result

        return wrapper

    def _drawn(self, name: str, result: Any, grad: bool, explicit: bool) -> None:
        if not isinstance(result, torch.Tensor) or result.device.type != "cpu" or result.numel() < 2:
            return
        if name in _NORMAL and grad and result.numel() > 1:
            whole = result._base if result._base is not None else result
            self._noise.append((self.session.step, weakref.ref(whole)))
        at = user_site()
        if name == "randperm":
            self.session.emit(Shuffled(step=self.session.step, at=at, size=result.numel()))
        key = (name, at)
        if key not in self._last and len(self._last) >= _MOST_SITES:
            return
        few = tuple(sampled(result))
        if name in _NOISE and not self.session.step and len(self.session.noise) < _MOST_SITES:
            self.session.noise.add(hash(few))
        values = (tuple(result.shape), few)
        before, times = self._last.get(key, (None, 0))
        times = times + 1 if values == before and len(set(values[1])) > 1 else 0
        self._last[key] = (values, times)
        if times >= _TELLING:
            self.session.emit(
                RandomRepeated(
                    step=self.session.step,
                    at=at,
                    fn=name,
                    times=times,
                    size=result.numel(),
                    grad=grad,
                    explicit=explicit,
                )
            )
