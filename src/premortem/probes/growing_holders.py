"""Which variables hold more and more tensors: a list of losses, a sum that carries its graph; and the line where it grows."""

import ast
import inspect
import itertools
import sys
import types
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import nn

from premortem.events import Kept, Site
from premortem.probes.frame_variables import variables
from premortem.probes.graph import past_steps
from premortem.probes.session import code_kind
from premortem.probes.source import tree_of

_MANY = 8  # tensors in one variable
_MOST_LOOKED_AT = 20_000
_LARGE = 64 << 20  # bytes
_NEAR = 64  # nodes between a loss and the outputs it was computed from
_FAR = 4096
_GROWS = frozenset({"append", "extend", "add", "appendleft", "insert", "update", "setdefault"})


def keepers(now: int, error: BaseException | None = None) -> tuple[Kept, ...]:
    """Variables of the user's code on the stack (or in the traceback of `error`) that hold results of steps before
    `now`, or much memory of the device; the worst first."""
    found: dict[int, Kept] = {}
    for frame in _frames(error):
        for name, value in _variables(frame):
            if id(value) in found:
                continue
            kept = _sum(value, now) if isinstance(value, torch.Tensor) else _many(value, now)
            if kept is not None:
                found[id(value)] = kept._replace(name=name, at=_grows_at(frame, name))
    return tuple(sorted(found.values(), key=lambda kept: (-kept.graphs, -kept.bytes))[:4])


def _many(value: Any, now: int) -> Kept | None:
    tensors = list(itertools.islice(_tensors(value), _MOST_LOOKED_AT))
    if len(tensors) < _MANY:
        return None
    graphs = sum(1 for t in tensors if t.grad_fn is not None and past_steps(t, now, _NEAR))
    size = sum(t.numel() * t.element_size() for t in tensors if t.is_cuda)
    if graphs < _MANY and size < _LARGE:
        return None
    return Kept("", len(tensors), graphs if graphs >= _MANY else 0, size)


def _sum(value: torch.Tensor, now: int) -> Kept | None:
    """`total += loss` leads to the models of all steps so far."""
    if value.grad_fn is None or isinstance(value, nn.Parameter):
        return None
    graphs = len(past_steps(value, now, _FAR))
    return Kept("", 1, graphs, 0) if graphs >= _MANY else None


def _frames(error: BaseException | None) -> Iterator[types.FrameType]:
    trace = error.__traceback__ if error is not None else None
    while trace is not None:
        if code_kind(trace.tb_frame.f_code.co_filename) == 0:
            yield trace.tb_frame
        trace = trace.tb_next
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if code_kind(frame.f_code.co_filename) == 0:
            yield frame
        frame = frame.f_back


def _variables(frame: types.FrameType) -> Iterator[tuple[str, Any]]:
    own = variables(frame)
    yield from own.items()
    owner = own.get("self")
    if owner is not None:
        for name, value in list(getattr(owner, "__dict__", {}).items()):
            if not (isinstance(owner, nn.Module) and name.startswith("_")):
                yield f"self.{name}", value
    if frame.f_code.co_flags & inspect.CO_OPTIMIZED:  # else these were all
        yield from list(frame.f_globals.items())


def _tensors(value: Any, depth: int = 0) -> Iterator[torch.Tensor]:
    """Tensors that are results: parameters and what an optimizer holds stay on purpose."""
    items: Iterable[Any] = ()
    if isinstance(value, (list, tuple, set, deque)):
        items = value
    elif isinstance(value, dict):
        items = value.values()
    for item in itertools.islice(items, _MOST_LOOKED_AT):
        if isinstance(item, torch.Tensor):
            if not isinstance(item, nn.Parameter) and not item.is_nested:
                yield item
        elif depth < 2 and not isinstance(item, type):
            yield from _tensors(item, depth + 1)


def _grows_at(frame: types.FrameType, name: str) -> Site | None:
    """The line of the frame's own file at which something is put into the variable."""
    code = frame.f_code
    for node in ast.walk(tree_of(code.co_filename)):
        if _grows(node, name):
            line: int = getattr(node, "lineno", code.co_firstlineno)
            return Site(code.co_filename, line, code.co_name)
    return None


def _grows(node: ast.AST, name: str) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=owner, attr=attribute)) if attribute in _GROWS:
            return name in (ast.unparse(owner), ast.unparse(owner).partition("[")[0])
        case ast.AugAssign(target=target, op=ast.Add()):
            return ast.unparse(target) == name
        case ast.Assign(targets=[target], value=ast.BinOp(op=ast.Add()) as value):
            return ast.unparse(target) == name and name in {ast.unparse(value.left), ast.unparse(value.right)}
        case ast.Assign(targets=[ast.Subscript(value=owner)]):
            return ast.unparse(owner) == name
    return False
