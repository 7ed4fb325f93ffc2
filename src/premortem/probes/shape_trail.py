"""How shapes came about that do not fit: the run is dead, so the failing forward pass can be walked once more.

The traceback still holds the model and what it was given. It is called again without gradients, every layer tells what
comes in and goes out, and so does every operation that only moves numbers about (`permute`, `view`, `flatten`, ...).
"""

from __future__ import annotations

import linecache
import re
import types
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from premortem.events import Passed, RunEnded, ShapesMet, Site
from premortem.points import unseen
from premortem.probes.frame_variables import variables
from premortem.probes.session import Session, is_user_code, tensors_in, user_site

_ERRORS = (RuntimeError, ValueError, IndexError, AssertionError)
_LONGEST = 12  # entries of the trail
_MOVES = frozenset(
    {
        "permute",
        "transpose",
        "swapaxes",
        "movedim",
        "view",
        "reshape",
        "flatten",
        "unflatten",
        "squeeze",
        "unsqueeze",
        "cat",
        "stack",
    }
)
_NAMES = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)?")


class ShapeTrail:
    def __init__(self, session: Session) -> None:
        self.session = session

    def ended(self, error: BaseException | None, ended: RunEnded) -> None:
        """Called when the script has ended with an error that it did not catch."""
        if not isinstance(error, _ERRORS) or type(error).__name__ != ended.error:
            return
        with self.session.looking_at("shape trail"):
            event = walk(error, ended)
            if event is not None:
                event.step = self.session.step
                self.session.emit(event)


def walk(error: BaseException, ended: RunEnded) -> ShapesMet | None:
    frames = list(frames_of(error))
    event = ShapesMet(at=ended.at, names=named_shapes(frames))
    calls = (variables(frame) for frame in frames if frame.f_code.co_name == "_call_impl")
    root = next((call for call in calls if isinstance(call.get("self"), nn.Module)), None)
    if root is not None:
        again(event, root["self"], root.get("args", ()), root.get("kwargs", {}), error)
    return event if event.failed is not None or event.names else None


def frames_of(error: BaseException) -> Iterator[types.FrameType]:
    trace = error.__traceback__
    while trace is not None:
        yield trace.tb_frame
        trace = trace.tb_next


def named_shapes(frames: list[types.FrameType]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Tensors that the failing line of the user's code names."""
    own = [frame for frame in frames if is_user_code(frame.f_code.co_filename)]
    if not own:
        return ()
    frame = own[-1]
    held = variables(frame)
    found: dict[str, tuple[int, ...]] = {}
    for name in _NAMES.findall(linecache.getline(frame.f_code.co_filename, frame.f_lineno)):
        owner, _, attribute = name.partition(".")
        value = held.get(owner, frame.f_globals.get(owner))
        if attribute and isinstance(value, nn.Module):
            value = value._parameters.get(attribute, value._buffers.get(attribute))
        if isinstance(value, torch.Tensor):
            found.setdefault(name if attribute and owner == "self" else owner, tuple(value.shape))
    return tuple(found.items())[:6]


def again(event: ShapesMet, root: nn.Module, args: Any, kwargs: Any, error: BaseException) -> None:
    """Call the model once more, and note what happens on the way to the same error."""
    walker = _Walker(root)
    event.model = type(root).__name__
    event.inputs = tuple(tuple(t.shape) for t in tensors_in([args, kwargs]))[:4]
    try:
        with torch.no_grad(), walker:
            root(*args, **kwargs)
    except Exception as second:  # noqa: BLE001 - that is what is looked for
        if str(second) != str(error) or not walker.open:
            return
        name, module, before = walker.open[-1]
        event.trail = tuple(walker.trail[-_LONGEST:])
        event.failed = Passed(name, type(module).__name__, before, ())
        event.channels, event.features, event.dims = wants(module)
    finally:
        walker.remove()


def wants(module: nn.Module) -> tuple[int | None, int | None, int | None]:
    """(channels in the second dimension, features in the last, dimensions with the batch)."""
    if isinstance(module, nn.modules.conv._ConvNd):
        return module.in_channels, None, len(module.kernel_size) + 2
    if isinstance(module, nn.modules.batchnorm._BatchNorm):
        dims = {"BatchNorm2d": 4, "BatchNorm3d": 5}.get(type(module).__name__)
        return module.num_features, None, dims
    if isinstance(module, nn.Linear):
        return None, module.in_features, None
    if isinstance(module, nn.LayerNorm):
        return None, int(module.normalized_shape[-1]), None
    if isinstance(module, nn.RNNBase):
        return None, module.input_size, None
    return None, None, None


class _Walker(TorchFunctionMode):
    """Only ever on in a run that is over."""

    def __init__(self, root: nn.Module) -> None:
        super().__init__()
        self.trail: list[Passed] = []
        self.open: list[tuple[str, nn.Module, tuple[int, ...]]] = []
        self._hooks: list[Any] = []
        for name, module in root.named_modules():
            self._hooks.append(module.register_forward_pre_hook(self._entering(name), with_kwargs=True))
            self._hooks.append(module.register_forward_hook(self._left))

    def remove(self) -> None:
        for hook in self._hooks:
            hook.remove()

    def _entering(self, name: str) -> Any:
        def entering(module: nn.Module, args: Any, kwargs: Any) -> None:
            self.open.append((name or type(module).__name__, module, first_shape([args, kwargs])))

        return entering

    def _left(self, module: nn.Module, args: Any, output: Any) -> None:
        name, _, before = self.open.pop()
        if next(module.children(), None) is None:
            self.trail.append(Passed(name, type(module).__name__, before, first_shape(output)))

    @unseen
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        name = getattr(func, "__name__", "")
        if name in _MOVES and isinstance(result, torch.Tensor):
            site = user_site()
            if site is not None and is_user_code(site.file):
                self.trail.append(Passed(name, "", first_shape(args), tuple(result.shape), Site(*site)))
        return result


def first_shape(thing: Any) -> tuple[int, ...]:
    tensors = tensors_in(thing, limit=1)
    return tuple(tensors[0].shape) if tensors else ()
