"""Whether a model's samples influence each other, tried out before a batch is run in parts.

    the outputs of the parts     must be those of the whole, with chance switched off
    other samples in the batch   must not move the outputs of the first ones, with chance as it is in training
    what the model keeps         must not change: a loss on an attribute, a queue, a running average

A few samples are enough for that. A model that returns a mean is tried on the whole batch, each time: whether its parts
weigh the same depends on the data.
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as tree

from premortem.actions.batch_parts import Call, Given, Unlike, is_mean, join

_FEW = 8  # samples that are tried
_MOST_BUFFER_BYTES = 256 << 20
_TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-4}
_COARSE = 2e-2  # 16 bits
_DROPOUTS = frozenset(
    {
        nn.functional.dropout,
        nn.functional.dropout1d,
        nn.functional.dropout2d,
        nn.functional.dropout3d,
        nn.functional.alpha_dropout,
        nn.functional.feature_alpha_dropout,
    }
)


def obstacle(module: nn.Module) -> str:
    """What rules it out without trying; "" when nothing does."""
    for name, part in module.named_modules():
        place = f"`{name}`" if name else "the model"
        if isinstance(part, _BatchNorm) and (part.training or not part.track_running_stats):
            return f"{place} is a batch norm in training mode, whose result depends on the whole batch"
        if part._forward_hooks:
            return f"{place} has a forward hook, which would see parts of the batch"
        if _sharded(part):
            return f"{place} is sharded over several processes"
    return ""


def _sharded(part: nn.Module) -> bool:
    kinds = ("torch.distributed.", "torch.nn.parallel.")
    return any(cls.__module__.startswith(kinds) for cls in type(part).__mro__)


def dependence(module: nn.Module, run: Call, given: Given) -> tuple[str, bool]:
    """Why the batch cannot be run in parts, "" when it can; and whether that is true of this batch only.

    Leaves the model and the generators as they were."""
    if given.samples < 2:
        return (
            "there is only one sample in the batch" if given.samples else "it is given no plain tensors",
            True,
        )
    before = Attributes(module)
    if before.too_large:
        return "the model has too many buffers to try it out", True
    why, means = "", False
    try:
        with torch.no_grad(), fixed_chance() as restart, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is tried out is none of the script's doing
            few = given.cut(0, min(given.samples, _FEW))
            means = any(map(is_mean, tree.tree_leaves(few.call(run))))
            chance = restart()
            why = _differs(module, run, given if means else few, restart, chance=chance)
    except torch.cuda.OutOfMemoryError:
        why = "there is not enough memory to try it out"
    except Unlike as error:
        why = str(error)
    except Exception as error:  # noqa: BLE001 - a model that cannot take fewer samples, in its own words
        words = str(error).strip().splitlines() or [""]
        why = f"the model fails on a part of the batch ({type(error).__name__}: {words[0][:120]})"
    finally:
        changed = before.put_back()
    return why or (f"the model keeps `{changed}` from its last call" if changed else ""), means


def _differs(module: nn.Module, run: Call, few: Given, restart: Callable[[], bool], *, chance: bool) -> str:
    own = max(1, 3 * few.samples // 8)  # uneven, so that a mean of means differs from a mean
    for calm in (_as_it_is,) if not chance else (without_dropout, in_evaluation):
        with calm(module), in_full_precision(module):
            restart()
            whole = few.call(run)
            if restart():
                continue  # still drawing random numbers
            parts = [few.cut(0, own).call(run), few.cut(own, few.samples).call(run)]
            if not alike(whole, join(parts, [own, few.samples - own])):
                return "the outputs of its parts are not those of the whole batch"
            break
    else:
        return "the model draws random numbers even in evaluation, so that it cannot be tried out"
    # As in training: what comes after the first samples must not reach them.
    restart()
    mine = few.call(run)
    restart()
    with_others = few.others(own).call(run)
    restart()
    if not alike(_rows(mine, own), _rows(with_others, own)):
        return "the output of a sample depends on the others in its batch"
    return ""


def _rows(output: Any, count: int) -> list[Any]:
    return [
        leaf[:count] for leaf in tree.tree_leaves(output) if isinstance(leaf, torch.Tensor) and leaf.dim()
    ]


def alike(one: Any, other: Any) -> bool:
    """Equal up to rounding, measured against the largest value."""
    first, second = tree.tree_leaves(one), tree.tree_leaves(other)
    return len(first) == len(second) and all(
        _close(a, b) for a, b in zip(first, second, strict=True) if isinstance(a, torch.Tensor)
    )


def _close(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if not one.is_floating_point():
        return torch.equal(one, other)
    # Where neither is finite there is nothing to compare (a mask of minus infinity); NaN is never trusted.
    if not torch.equal(torch.isfinite(one), torch.isfinite(other)) or bool(torch.isnan(one).any()):
        return False
    allowed = _TOLERANCE.get(one.dtype, _COARSE)
    if one.is_cuda and one.dtype == torch.float32 and _shortened():
        allowed = 5e-3
    one, other = (torch.where(torch.isfinite(each), each, 0.0) for each in (one, other))
    if not one.numel():
        return True
    return bool((one - other).abs().max() <= allowed * one.abs().max().clamp(min=1e-12))


def _shortened() -> bool:
    """Whether products of float32 may be computed with fewer bits (TF32), as convolutions are by default."""
    with suppress(RuntimeError):  # the script mixes the old and the new way of asking
        return bool(torch.get_float32_matmul_precision() != "highest" or torch.backends.cudnn.allow_tf32)
    return True


# --- chance ----------------------------------------------------------------------------------


@contextmanager
def fixed_chance() -> Iterator[Callable[[], bool]]:
    """Hands out a function that sets torch's generators back, and says whether anybody had drawn from them."""
    cuda = torch.cuda.is_initialized()
    start = (torch.get_rng_state(), torch.cuda.get_rng_state() if cuda else None)

    def restart() -> bool:
        drawn = not torch.equal(torch.get_rng_state(), start[0])
        torch.set_rng_state(start[0])
        if start[1] is not None:
            drawn = drawn or not torch.equal(torch.cuda.get_rng_state(), start[1])
            torch.cuda.set_rng_state(start[1])
        return drawn

    try:
        yield restart
    finally:
        restart()


class _NoDropout(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in _DROPOUTS:
            return args[0] if args else kwargs["input"]
        if func is nn.functional.scaled_dot_product_attention:
            args = (*args[:4], 0.0, *args[5:]) if len(args) > 4 else args
            kwargs = {**kwargs, "dropout_p": 0.0} if "dropout_p" in kwargs else kwargs
        return func(*args, **kwargs)


@contextmanager
def _as_it_is(module: nn.Module) -> Iterator[None]:
    yield


@contextmanager
def without_dropout(module: nn.Module) -> Iterator[None]:
    layers = [part for part in module.modules() if isinstance(part, _DropoutNd) and part.training]
    for layer in layers:
        layer.training = False
    try:
        with _NoDropout():
            yield
    finally:
        for layer in layers:
            layer.training = True


@contextmanager
def in_evaluation(module: nn.Module) -> Iterator[None]:
    training = [part for part in module.modules() if part.training]
    for part in training:
        part.training = False
    try:
        with _NoDropout():
            yield
    finally:
        for part in training:
            part.training = True


@contextmanager
def in_full_precision(module: nn.Module) -> Iterator[None]:
    """Without autocast, where rounding would hide a small influence."""
    with ExitStack() as stack:
        if all(p.dtype in _TOLERANCE for p in module.parameters() if p.is_floating_point()):
            for device in ("cpu", "cuda"):
                if torch.is_autocast_enabled(device):
                    stack.enter_context(torch.autocast(device, enabled=False))
        yield


# --- what a model keeps ----------------------------------------------------------------------


class Attributes:
    """Buffers and other values that modules hold, to see whether a call changes them."""

    def __init__(self, module: nn.Module) -> None:
        self._module = module
        buffers = dict(module.named_buffers())
        self.too_large = sum(b.numel() * b.element_size() for b in buffers.values()) > _MOST_BUFFER_BYTES
        self._buffers = {} if self.too_large else {name: b.detach().clone() for name, b in buffers.items()}
        self._values = self._now()

    def _now(self) -> dict[tuple[str, str], Any]:
        return {
            (path, name): _glance(value)
            for path, part in self._module.named_modules()
            for name, value in vars(part).items()
            if name not in _OWN
        }

    def put_back(self) -> str:
        """The name of something that was changed, "" when nothing was. Buffers get their values back."""
        now = self._now()
        changed = [place for place, seen in now.items() if self._values.get(place, _MISSING) != seen]
        names = [".".join(part for part in place if part) for place in changed]
        for name, buffer in self._module.named_buffers():
            kept = self._buffers.get(name)
            if kept is None or kept.shape != buffer.shape or not torch.equal(kept, buffer):
                names.append(name)
                with suppress(RuntimeError), torch.no_grad():
                    if kept is not None:
                        buffer.copy_(kept)
        return names[0] if names else ""


_MISSING = object()
_OWN = frozenset(vars(nn.Module())) | {"_compiled_call_impl"}


def _glance(value: Any, depth: int = 0) -> Any:
    """Equal as long as nothing was put there: numbers by value, tensors by identity and version."""
    if isinstance(value, torch.Tensor):
        return (id(value), -1 if value.is_inference() else value._version)
    if isinstance(value, (bool, int, float, str, type(None))):
        return value
    if isinstance(value, (list, tuple)) and depth < 2:
        return tuple(_glance(item, depth + 1) for item in value)
    if isinstance(value, dict) and depth < 2:
        return tuple((str(key), _glance(item, depth + 1)) for key, item in value.items())
    return id(value)
