"""What the script's own variables say: how many epochs, what is accumulated, how many workers."""

import argparse
import ast
import dataclasses
import linecache
import re
import sys
import types
from collections.abc import Iterator, Mapping
from typing import Any

from premortem.files.syntax import last_name
from premortem.probes.frame_variables import variables as of_frame
from premortem.probes.loop_counters import loops_around
from premortem.probes.session import is_user_code

_KINDS = {
    "accumulation": re.compile(
        r"(grad(ient)?_?)?accum(ulation|ulate|ulat)?(_?(grad|batch(es)?|steps?|iters?|every|freq|n|num|factor))+"
        r"|(grad(ient)?_)?accumulation|accumulate_grad_batches",
        re.IGNORECASE,
    ),
    "workers": re.compile(r"(num_?|n_?|data_?|dataloader_num_)?workers|num_worker", re.IGNORECASE),
    "epochs": re.compile(r"(num_?|n_?|max_?|total_?)?(train_?)?epochs", re.IGNORECASE),
    "amp": re.compile(r"(use_?)?(amp|mixed_precision|fp16|bf16|autocast)", re.IGNORECASE),
}
_SAVING = re.compile(r"\bsave|\bdump\b|checkpoint", re.IGNORECASE)
_RESUMING = re.compile(r"\bload(ed)?\b|\bload_|torch\.load|resume|restore", re.IGNORECASE)
_MOST_FILES = 200
_BAGS = (argparse.Namespace, types.SimpleNamespace)


def saves_and_resumes() -> tuple[bool, bool]:
    """Whether the script, or a module of its project that it has imported, mentions either."""
    files = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    own = [file for file in files if isinstance(file, str) and is_user_code(file)][:_MOST_FILES]
    texts = ["".join(linecache.getlines(file)) for file in own]
    return any(map(_SAVING.search, texts)), any(map(_RESUMING.search, texts))


def stated(frames: list[types.FrameType]) -> dict[str, Any]:
    """One value for each kind of setting; a kind that has several values in the script is left out."""
    found: dict[str, set[Any]] = {}
    for name, value in variables(frames):
        for kind, pattern in _KINDS.items():
            if pattern.fullmatch(name) and isinstance(value, (bool, int)):
                found.setdefault(kind, set()).add(value)
    return {kind: values.pop() for kind, values in found.items() if len(values) == 1}


def variables(frames: list[types.FrameType]) -> Iterator[tuple[str, Any]]:
    seen: set[int] = set()
    for frame in frames:
        own = of_frame(frame)
        places: list[Mapping[str, Any]] = [own]
        if id(frame.f_globals) not in seen:
            seen.add(id(frame.f_globals))
            places.append(frame.f_globals)
        owner = own.get("self")
        if owner is not None and hasattr(owner, "__dict__"):
            places.append(vars(owner))
        for place in places:
            for name, value in list(place.items()):
                yield name, value
                yield from inside(value)


def inside(value: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """What a bag of settings holds: a namespace, a dataclass, a dictionary."""
    if isinstance(value, _BAGS) or (dataclasses.is_dataclass(value) and not isinstance(value, type)):
        held: Mapping[Any, Any] = getattr(value, "__dict__", {})
    elif isinstance(value, dict) and len(value) <= 200:
        held = value
    else:
        return
    for name, one in list(held.items()):
        if isinstance(name, str):
            yield name, one
            if depth < 2:
                yield from inside(one, depth + 1)


def planned(frames: list[types.FrameType]) -> tuple[int | None, int | None]:
    """(epochs, steps): how often the loop around the loop over batches turns, and that loop if it counts itself."""
    turns: list[int | None] = []
    for frame in reversed(frames):
        for loop in loops_around(frame.f_code.co_filename, frame.f_lineno):
            turns += [turns_of(loop, frame)]
    if not turns:
        return None, None
    if turns[-1] is None:
        return next((n for n in reversed(turns[:-1]) if n is not None), 1 if len(turns) == 1 else None), None
    if len(turns) == 1:
        return None, turns[0]
    return turns[-2], turns[-1]


def turns_of(loop: ast.For | ast.While, frame: types.FrameType) -> int | None:
    """Of `for _ in range(...)`, also inside a progress bar."""
    if not isinstance(loop, ast.For):
        return None
    call = loop.iter
    while isinstance(call, ast.Call) and last_name(call) in {"tqdm", "track", "enumerate"} and call.args:
        call = call.args[0]
    if not isinstance(call, ast.Call) or last_name(call) not in {"range", "trange"}:
        return None
    numbers = [value_of(each, frame) for each in call.args]
    if any(type(n) is not int for n in numbers) or not 1 <= len(numbers) <= 3:
        return None
    return len(range(*numbers))


def value_of(node: ast.expr, frame: types.FrameType) -> Any:
    """Of constants, names, attributes and sums of them; None for everything else, which would be to run code."""
    match node:
        case ast.Constant():
            return node.value
        case ast.Name():
            return of_frame(frame).get(node.id, frame.f_globals.get(node.id))
        case ast.Attribute():
            return getattr(value_of(node.value, frame), "__dict__", {}).get(node.attr)
        case ast.Subscript(slice=ast.Constant(value=key)):
            bag = value_of(node.value, frame)
            return bag.get(key) if isinstance(bag, dict) else None
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.FloorDiv() as op):
            left, right = value_of(node.left, frame), value_of(node.right, frame)
            if type(left) is not int or type(right) is not int:
                return None
            match op:
                case ast.Add():
                    return left + right
                case ast.Sub():
                    return left - right
                case ast.Mult():
                    return left * right
                case _:
                    return left // right if right else None
    return None
