"""How much of a mask is true when its values are not known, but where it comes from is.

Routers, targets and random masks leave their mark: what `topk` or `argmax` chose among eight is each of the eight
equally often, `rand() < 0.15` is true for 0.15 of the elements. Experts that are not used evenly still share the
same tokens, so that the sum over all of them holds.

A mark holds for one version of a tensor: what is written into it, also through a view, ends it.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor

_CHOICES, _SHARE, _UNIFORM = "_premortem_choices", "_premortem_share", "_premortem_uniform"
# The same elements, or some of them, in another order or shape.
_CARRIES = """view reshape _unsafe_view _reshape_alias transpose t permute expand squeeze unsqueeze select slice index
    index_select gather clone detach alias _to_copy contiguous flatten unbind split chunk split_with_sizes repeat
    _unsafe_index lift_fresh narrow as_strided flip roll sort""".split()
_ZEROS = {"zeros", "zeros_like", "new_zeros"}
_OPPOSITE = {"logical_not", "bitwise_not"}
_AND, _OR = {"logical_and", "bitwise_and", "mul"}, {"logical_or", "bitwise_or"}


def choices(tensor: Any) -> int | None:
    """Each element is one of so many numbers, all equally likely."""
    found: int | None = _marked(tensor, _CHOICES)
    return found


def share(tensor: Any) -> float | None:
    """Of the elements, those that are not zero."""
    found: float | None = _marked(tensor, _SHARE)
    return found


def count(mask: Tensor) -> int | None:
    part = share(mask)
    return None if part is None else math.ceil(part * mask.numel())


def spread(total: int, places: int) -> list[int]:
    """As evenly as whole numbers allow."""
    least, more = divmod(total, places)
    return [least + (n < more) for n in range(places)]


def follow(func: Any, name: str, args: Any, kwargs: Any, out: Any) -> None:
    """Mark what an operation made."""
    outs = out if isinstance(out, (list, tuple)) else [out]
    first = args[0] if args else None
    if name in _CARRIES and isinstance(first, Tensor):
        for made in outs:
            for mark in (_CHOICES, _SHARE, _UNIFORM):
                _mark(made, mark, _marked(first, mark), _version(first) if func.is_view else 0)
    rule = _RULES.get(name)
    if rule is not None:
        rule(name, args, kwargs, outs)


def _marked(tensor: Any, mark: str) -> Any:
    what, version = getattr(tensor, mark, (None, 0)) if isinstance(tensor, FakeTensor) else (None, 0)
    return what if what is not None and version == _version(tensor) else None


def _mark(tensor: Any, mark: str, what: Any, version: int = 0) -> None:
    if isinstance(tensor, FakeTensor) and what is not None:
        setattr(tensor, mark, (what, version))


def _version(tensor: Tensor) -> int:
    return 0 if tensor.is_inference() else tensor._version


# --- what chooses ----------------------------------------------------------------------------


def _along(args: Any, kwargs: Any, place: int) -> int | None:
    x, dim = args[0], args[place] if len(args) > place else kwargs.get("dim", -1)
    return int(x.shape[dim]) if isinstance(dim, int) and x.dim() else None


def _of_pair(place: int) -> Callable[..., None]:
    """Values and indices."""

    def rule(_: str, args: Any, kwargs: Any, outs: Any) -> None:
        if len(outs) > 1:
            _mark(outs[1], _CHOICES, _along(args, kwargs, place))

    return rule


def _extreme(_: str, args: Any, kwargs: Any, outs: Any) -> None:
    if len(args) > 1 and args[1] is not None:
        _mark(outs[0], _CHOICES, _along(args, kwargs, 1))


def _multinomial(_: str, args: Any, kwargs: Any, outs: Any) -> None:
    _mark(outs[0], _CHOICES, int(args[0].shape[-1]))


def _randint(name: str, args: Any, kwargs: Any, outs: Any) -> None:
    numbers = [a for a in args if isinstance(a, int)]
    if numbers:
        high, low = numbers[-1], numbers[0] if len(numbers) > 1 else 0
        _mark(outs[0], _CHOICES, max(high - low, 1))


# --- what compares ---------------------------------------------------------------------------


def _equal(name: str, args: Any, kwargs: Any, outs: Any) -> None:
    among = [n for n in map(choices, args[:2]) if n]
    zeros = share(args[0]) if _number(args[1]) and args[1] == 0 else None
    if among:
        part = 1 / max(among)
    elif zeros is not None:
        part = 1 - zeros  # `mask == 0`
    else:
        return
    _mark(outs[0], _SHARE, 1 - part if name == "ne" else part)


def _number(thing: Any) -> bool:
    return isinstance(thing, (int, float)) and not isinstance(thing, bool)


def _ordered(name: str, args: Any, kwargs: Any, outs: Any) -> None:
    x, bound = args[0], args[1]
    if not _number(bound):
        return
    below = None
    if _marked(x, _UNIFORM):
        below = min(max(float(bound), 0.0), 1.0)
    elif choices(x):
        reached = bound + (name in {"le", "gt"})
        below = min(max(reached / (choices(x) or 1), 0.0), 1.0)
    elif share(x) is not None and bound == 0 and name in {"gt", "le"}:
        below = 1 - (share(x) or 0.0)  # `mask > 0`
    if below is not None:
        _mark(outs[0], _SHARE, below if name in {"lt", "le"} else 1 - below)


# --- what combines ---------------------------------------------------------------------------


def _combined(name: str, args: Any, kwargs: Any, outs: Any) -> None:
    parts = [part for part in map(share, args[:2]) if part is not None]
    if not parts:
        return
    if name in _OR:
        _mark(outs[0], _SHARE, min(1.0, sum(parts)) if len(parts) > 1 else None)
    else:
        _mark(outs[0], _SHARE, math.prod(parts))


def _opposite(name: str, args: Any, kwargs: Any, outs: Any) -> None:
    part = share(args[0])
    _mark(outs[0], _SHARE, None if part is None else 1 - part)


def _scattered(name: str, args: Any, kwargs: Any, outs: Any) -> None:
    x, index = args[0], args[2]
    before = share(x)
    if before is None or not x.numel():
        return
    part = min(1.0, before + index.numel() / x.numel())
    if name.endswith("_"):
        _mark(x, _SHARE, part, _version(x) + 1)  # counted when the operation is done
    else:
        _mark(outs[0], _SHARE, part)


def _gathered(name: str, args: Any, kwargs: Any, outs: Any) -> None:
    """`any`, and sums of what is one or zero: of so many, at least one."""
    part, made = share(args[0]), outs[0]
    if part is not None and made.numel():
        _mark(made, _SHARE, min(1.0, part * args[0].numel() / made.numel()))


_RULES: dict[str, Callable[..., None]] = {
    "topk": _of_pair(2),
    "sort": _of_pair(1),
    "max": _of_pair(1),
    "min": _of_pair(1),
    "argmax": _extreme,
    "argmin": _extreme,
    "argsort": lambda name, args, kwargs, outs: _mark(outs[0], _CHOICES, _along(args, kwargs, 1)),
    "multinomial": _multinomial,
    "randint": _randint,
    "eq": _equal,
    "ne": _equal,
    **dict.fromkeys(("lt", "le", "gt", "ge"), _ordered),
    **dict.fromkeys(_AND | _OR, _combined),
    **dict.fromkeys(_OPPOSITE, _opposite),
    **dict.fromkeys(_ZEROS, lambda name, args, kwargs, outs: _mark(outs[0], _SHARE, 0.0)),
    **dict.fromkeys(("scatter", "scatter_"), _scattered),
    **dict.fromkeys(("any", "sum", "amax"), _gathered),
    **dict.fromkeys(("rand", "rand_like"), lambda name, args, kwargs, outs: _mark(outs[0], _UNIFORM, True)),
    "uniform_": lambda name, args, kwargs, outs: _mark(
        args[0], _UNIFORM, tuple(args[1:]) in {(), (0.0, 1.0)} or None, _version(args[0]) + 1
    ),
    "bernoulli_": lambda name, args, kwargs, outs: _mark(
        args[0], _SHARE, args[1] if len(args) > 1 and _number(args[1]) else None, _version(args[0]) + 1
    ),
}


def counted(name: str, args: Any, out: Any) -> Tensor | None:
    """How often each was chosen, where that is counted: sums over a mask, and histograms."""
    x: Any = args[0] if args else None
    part = share(x)
    if name == "sum" and part and not out.is_floating_point() and out.numel():
        total = round(part * x.numel())
    elif name in {"histc", "bincount"} and choices(x):
        total = x.numel()
    else:
        return None
    return torch.tensor(spread(total, out.numel()), dtype=out.dtype).reshape(out.shape)
