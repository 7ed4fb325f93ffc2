"""The audit gear's lens: single operations that cut graphs, scramble shapes, saturate or mask.

The functions are replaced only while a step is audited, so a cruising step never pays for them. They are
plain replacements of attributes, not a dispatch or function mode: a mode would have to be left in the order
it was entered, around code that is not ours, and switches off torch's fast paths.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from premortem.events import Detached, Masked, Reshaped
from premortem.probes.graph import leads_to
from premortem.probes.modules import Models
from premortem.probes.numbers import share
from premortem.probes.session import Session, user_site

_MOST_CUTS = 24  # graph walks per step


class Lens:
    def __init__(self, session: Session, models: Models) -> None:
        self.session = session
        self.models = models
        self.cuts = 0
        self._saved: list[tuple[Any, str, Any, bool]] = []

    def install(self) -> None:
        for owner in (torch, torch.Tensor):
            for name in ("nan_to_num", "nan_to_num_"):
                if hasattr(owner, name):
                    self.session.around(owner, name, before=self._masked)
        self.focus()

    def remove(self) -> None:
        self._set(False)

    def focus(self) -> None:
        """Called at every step: on in the audit gear, off in cruise."""
        self.cuts = 0
        self._set(self.session.auditing and not self.session.compiling_used)

    def _set(self, on: bool) -> None:
        if on == bool(self._saved):
            return
        if not on:
            for owner, name, original, own in reversed(self._saved):
                if own:
                    setattr(owner, name, original)
                else:
                    delattr(owner, name)
            self._saved.clear()
            return
        tensor = torch.Tensor
        for name in ("detach", "numpy", "item", "tolist"):
            self._replace(tensor, name, functools.partial(self._cutting, name))
        for name in ("tensor", "as_tensor"):
            self._replace(torch, name, functools.partial(self._cutting, name))
        self._replace_data()
        for name in ("view", "reshape"):
            self._replace(tensor, name, functools.partial(self._reshaping, name))
        self._replace(torch, "reshape", functools.partial(self._reshaping, "reshape"))
        for owner in (torch, tensor):
            for name in ("tanh", "sigmoid", "relu", "relu_"):
                if hasattr(owner, name):
                    self._replace(owner, name, functools.partial(self._activating, name.rstrip("_")))

    def _replace(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        own = name in vars(owner)
        original = vars(owner)[name] if own else getattr(owner, name)
        setattr(owner, name, make(getattr(owner, name)))
        self._saved.append((owner, name, original, own))

    # -- graphs that are cut --------------------------------------------------------------

    def _cutting(self, op: str, original: Any) -> Any:
        @functools.wraps(original)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if self.session.listening() and not torch.compiler.is_compiling():
                self._cut(op, args[0] if args else None)
            return original(*args, **kwargs)

        return wrapper

    def _replace_data(self) -> None:
        inherited = torch._C.TensorBase.data  # type: ignore[attr-defined]

        def get(tensor: torch.Tensor) -> Any:
            if self.session.listening():
                self._cut("data", tensor)
            return inherited.__get__(tensor)

        def put(tensor: torch.Tensor, value: Any) -> None:
            inherited.__set__(tensor, value)

        self._replace(torch.Tensor, "data", lambda original: property(get, put))

    def _cut(self, op: str, tensor: Any) -> None:
        if not isinstance(tensor, torch.Tensor) or tensor.grad_fn is None or self.cuts >= _MOST_CUTS:
            return
        if not torch.is_grad_enabled():
            return
        with self.session.looking_at("lens"):
            self.cuts += 1
            keys = leads_to(tensor, self.session.parameters.known)
            if keys:
                self.session.emit(
                    Detached(
                        step=self.session.step,
                        at=user_site(),
                        op=op,
                        parameters=keys,
                        shape=tuple(tensor.shape),
                    )
                )

    # -- shapes ---------------------------------------------------------------------------

    def _reshaping(self, op: str, original: Any) -> Any:
        @functools.wraps(original)
        def wrapper(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            result = original(tensor, *args, **kwargs)
            before, after = tuple(tensor.shape), tuple(result.shape)
            if before != after and scrambles(before, after) and self.session.listening():
                with self.session.looking_at("lens"):
                    self.session.emit(
                        Reshaped(step=self.session.step, at=user_site(), op=op, before=before, after=after)
                    )
            return result

        return wrapper

    # -- activations ----------------------------------------------------------------------

    def _activating(self, op: str, original: Any) -> Any:
        @functools.wraps(original)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            if self.models.depth and self.session.listening() and isinstance(result, torch.Tensor):
                with self.session.looking_at("lens"):
                    self.models.activation(op, result, saturation(op, result))
            return result

        return wrapper

    # -- masks (always on: rare, and the fault may come late) ------------------------------

    def _masked(self, tensor: Any, *args: Any, **kwargs: Any) -> None:
        if not isinstance(tensor, torch.Tensor) or not tensor.is_floating_point():
            return
        if tensor.device.type != "cpu" and not self.session.auditing:
            return
        bad = int((~torch.isfinite(tensor.detach())).sum())
        if bad:
            self.session.emit(
                Masked(
                    step=self.session.step, at=user_site(), op="nan_to_num", count=bad, total=tensor.numel()
                )
            )


def scrambles(before: tuple[int, ...], after: tuple[int, ...]) -> bool:
    """The same sizes in another order: a transpose was meant, and the memory was cut anew instead."""
    real = [n for n in before if n != 1]
    return (
        len(before) == len(after)
        and len(set(real)) > 1
        and sorted(before) == sorted(after)
        and [n for n in after if n != 1] != real
    )


def saturation(op: str, value: torch.Tensor) -> float:
    value = value.detach()
    if op == "tanh":
        return share(value.abs() > 0.99)
    if op == "sigmoid":
        return share((value < 0.01) | (value > 0.99))
    return share(value == 0)
