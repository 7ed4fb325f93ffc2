"""Numbers that a script reads from its tensors (`.item()`, `if mask.any()`, `x[mask]`) although nothing is computed.

What came from the host as integers or truths (labels, lengths, masks) is carried along for real: it is small. All else
is assumed, and the answer lists what was assumed.
"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._pytree import tree_flatten, tree_map

from premortem.fit import shares

_MOST = 1 << 20  # elements of a tensor that is carried along
_MOST_FLOATS = 1 << 12
_RANDOM = torch.Tag.nondeterministic_seeded
_FINITE = {"isnan": False, "isinf": False, "isfinite": True}
_KEEPS = {"_amp_foreach_non_finite_check_and_unscale_"}  # gradients are taken to be finite


class Values:
    def __init__(self) -> None:
        self.assumed: Counter[str] = Counter()

    # -- what is known --------------------------------------------------------------------

    def known(self, tensor: Any) -> Tensor | None:
        if not isinstance(tensor, FakeTensor):
            return tensor if isinstance(tensor, Tensor) else None
        return getattr(tensor, "_premortem_value", None)

    def learn(self, fake: Any, value: Any) -> None:
        if isinstance(fake, FakeTensor) and isinstance(value, Tensor) and fake.shape == value.shape:
            fake._premortem_value = value  # type: ignore[attr-defined]

    def forget(self, tensor: Any) -> None:
        if isinstance(tensor, FakeTensor):
            tensor._premortem_value = None  # type: ignore[attr-defined]

    def follow(self, func: Any, name: str, args: Any, kwargs: Any, out: Any) -> None:
        """Do the same with the known values, when all are known and the result is small."""
        shares.follow(func, name, args, kwargs, out)
        if name in _KEEPS:
            return
        outs = [t for t in tree_flatten(out)[0] if isinstance(t, Tensor)]
        if not outs or not all(map(_small, outs)):
            if func._schema.is_mutable:
                self._forget_written(func, args)
            return
        finite = _asks_whether_finite(name, args)
        if finite is not None:
            self.learn(out, torch.full(out.shape, finite))
            return
        if name == "all":
            out._premortem_all = True
        given = [t for t in tree_flatten((args, kwargs))[0] if isinstance(t, Tensor)]
        if _RANDOM in func.tags and outs[0].is_floating_point():
            return
        if any(self.known(t) is None or not _small(t) for t in given):
            if func._schema.is_mutable:
                self._forget_written(func, args)
            self.learn(out, shares.counted(name, args, out))
            return
        args, kwargs = tree_map(lambda t: self.known(t) if isinstance(t, Tensor) else t, (args, kwargs))
        try:
            found = func(*args, **kwargs)
        except Exception:  # noqa: BLE001 - then it is not known
            return
        for fake, value in zip(tree_flatten(out)[0], tree_flatten(found)[0], strict=False):
            self.learn(fake, value)

    def _forget_written(self, func: Any, args: Sequence[Any]) -> None:
        for argument, given in zip(func._schema.arguments, args, strict=False):
            if argument.alias_info is not None and argument.alias_info.is_write:
                for tensor in tree_flatten(given)[0]:
                    self.forget(tensor)

    # -- what is assumed ------------------------------------------------------------------

    def number(self, tensor: Tensor, place: str) -> Any:
        value = self.known(tensor)
        if value is not None:
            return value.item()
        if tensor.dtype is torch.bool:
            # `assert (x > 0).all()` and `if (x < 0).any(): raise`: the script is taken to be content.
            even = shares.count(tensor)
            truth = bool(even) if even is not None else getattr(tensor, "_premortem_all", False)
            self._assume(f"a truth read at {place} is taken to be {truth}")
            return truth
        answer = 1.0 if tensor.is_floating_point() else 1
        self._assume(f"a number read at {place} is taken to be {answer}")
        return answer

    def chosen(self, mask: Tensor, place: str) -> int:
        """How many elements of a mask are true."""
        value = self.known(mask)
        if value is not None:
            return int(value.count_nonzero())
        even = shares.count(mask)
        if even is not None:
            self._assume(
                f"the mask at {place} is taken to select {even} of its {mask.numel()} elements, an even share"
            )
            return even
        self._assume(f"the mask at {place} is taken to select all of its {mask.numel()} elements")
        return mask.numel()

    def content(self, tensor: Tensor, place: str) -> Tensor:
        """A real tensor on the host, for `.numpy()` and `.tolist()`."""
        value = self.known(tensor)
        if value is not None:
            return value
        self._assume(f"the values read at {place} are taken to be zero")
        return torch.zeros(tuple(tensor.shape), dtype=tensor.dtype)

    def _assume(self, sentence: str) -> None:
        self.assumed[sentence] += 1


def _asks_whether_finite(name: str, args: Sequence[Any]) -> bool | None:
    """The healthy answer to `isnan`, `isinf` and `isfinite`, also in the way torch writes them out."""
    if name in _FINITE:
        return _FINITE[name]
    if name in {"eq", "ne"} and (args[0] is args[1] or _is_infinite(args[1])):
        return (name == "eq") is (args[0] is args[1])
    return None


def _is_infinite(thing: Any) -> bool:
    return isinstance(thing, float) and math.isinf(thing)


def _small(tensor: Tensor) -> bool:
    most = _MOST_FLOATS if tensor.is_floating_point() or tensor.is_complex() else _MOST
    return tensor.layout is torch.strided and tensor.numel() <= most
