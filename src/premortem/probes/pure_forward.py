"""Whether a forward pass can be repeated so that nothing of it is left: what it may write, and how that is put back."""

import contextlib
import dis
import io
import sys
import threading
import types
import warnings
from collections import deque
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from premortem.probes.session import code_kind, version
from premortem.tensors import generators

_SPEAKING = frozenset(
    "print open write input save dump log info debug warning add_scalar add_image wandb logger logging tqdm sleep "
    "sys os subprocess time perf_counter barrier all_reduce all_gather distributed".split()
)
_CHANGING = frozenset(
    "append extend insert update setdefault add pop popleft appendleft clear remove".split()
)
_MOST_CODE = 64  # functions that are read
_MOST_BYTES = 64 << 20  # of buffers and other tensors that are copied
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
_CONTAINERS = (list, dict, set, deque, bytearray)


def may_repeat(module: nn.Module) -> bool:
    """Whether nothing but the module's own attributes can be written by its forward pass, as far as the code says."""
    seen: set[types.CodeType] = set()
    for part in module.modules():
        if isinstance(part, (torch.jit.ScriptModule, nn.parallel.DistributedDataParallel, nn.DataParallel)):
            return False
        if any(getattr(part, hooks, None) for hooks in _HOOKS) or "forward" in vars(part):
            return False  # a hook, or a forward of its own that may be anything
        if any(_knows_others(value) for value in vars(part).values()):
            return False
        kind = type(part)
        if code_kind(getattr(sys.modules.get(kind.__module__), "__file__", "") or "") == 2:
            continue  # torch's own layers
        for value in (value for base in kind.__mro__ for value in vars(base).values()):
            function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
            if isinstance(function, types.FunctionType) and not _plain(function, seen):
                return False
    return True


def _knows_others(value: Any) -> bool:
    """An attribute through which a forward pass can change what is no part of the module: a generator, a function, an
    object that holds modules of its own."""
    if isinstance(value, (nn.Module, torch.Tensor)):
        return False
    if isinstance(value, torch.Generator) or (
        isinstance(value, (types.FunctionType, types.MethodType))
        and code_kind(value.__code__.co_filename) == 0
    ):
        return True
    held = getattr(value, "__dict__", {})
    return not isinstance(value, type) and any(isinstance(each, nn.Module) for each in held.values())


def _plain(function: types.FunctionType, seen: set[types.CodeType]) -> bool:
    """No output, no file, no global state; likewise for the functions of the user's that it names."""
    code = function.__code__
    if code in seen or code_kind(code.co_filename) != 0:
        return True
    seen.add(code)
    if len(seen) > _MOST_CODE:
        return False
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=False))
    instructions = list(_instructions(code))
    writes = any(i.opname == "STORE_SUBSCR" or i.argval in _CHANGING for i in instructions)
    for instruction in instructions:
        name = instruction.argval
        if instruction.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            return False
        if instruction.opname == "STORE_DEREF" and name in cells:
            return False
        if not isinstance(name, str):
            continue
        if "LOAD_ATTR" in instruction.opname or "LOAD_METHOD" in instruction.opname:
            if name in _SPEAKING - {"log", "time", "save"}:
                return False
        elif instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF"):
            if name in _SPEAKING:
                return False
            value = function.__globals__.get(name)
            if name in cells:
                with contextlib.suppress(ValueError):
                    value = cells[name].cell_contents
            if isinstance(value, (torch.Generator, io.IOBase, nn.Module)):
                return False
            if isinstance(value, _CONTAINERS) and writes:
                return False
            if isinstance(value, types.FunctionType) and not _plain(value, seen):
                return False
    return True


def _instructions(code: types.CodeType) -> Iterator[dis.Instruction]:
    yield from dis.get_instructions(code)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _instructions(constant)


class Kept:
    """All that a forward pass of a module may write, as it was; `put_back` says whether nothing had been written."""

    clean = True  # after `apart`: there was nothing to put back

    def __init__(self, module: nn.Module) -> None:
        self.parts = list(module.modules())
        self.attributes = [dict(vars(part)) for part in self.parts]
        self.tables: list[tuple[dict[str, Any], dict[str, Any]]] = [
            (table, dict(table))
            for part in self.parts
            for table in (part._parameters, part._buffers, part._modules)
        ]
        self.containers = [
            (value, value.copy())
            for attributes in self.attributes
            for name, value in attributes.items()
            if isinstance(value, _CONTAINERS) and not name.startswith("_")
        ]
        tensors = {
            id(t): t for _, table in self.tables for t in table.values() if isinstance(t, torch.Tensor)
        }
        for attributes in self.attributes:
            tensors |= {id(t): t for t in attributes.values() if isinstance(t, torch.Tensor)}
        self.versions = [(tensor, version(tensor)) for tensor in tensors.values()]
        small = [t for t in tensors.values() if not isinstance(t, nn.Parameter)]
        self.too_large = sum(t.numel() * t.element_size() for t in small) > _MOST_BYTES
        self.copies = {} if self.too_large else {id(t): t.detach().clone() for t in small}

    def written(self) -> set[str]:
        """Plain attributes that are other objects now, by their paths."""
        names = {id(part): path for path, part in self.parts[0].named_modules()}
        return {
            f"{names.get(id(part), '')}.{key}".lstrip(".")
            for part, attributes in zip(self.parts, self.attributes, strict=True)
            for key, value in vars(part).items()
            if key != "training" and value is not attributes.get(key)
        }

    def put_back(self) -> bool:
        clean = True
        for part, attributes in zip(self.parts, self.attributes, strict=True):
            now = vars(part)
            if now.keys() != attributes.keys() or any(now[k] is not attributes[k] for k in now):
                clean = clean and {k for k in now if now[k] is not attributes.get(k)} <= {"training"}
                now.clear()
                now.update(attributes)
        for table, then in self.tables:
            if table.keys() != then.keys() or any(table[k] is not then[k] for k in table):
                clean = False
                table.clear()
                table.update(then)
        for container, held in self.containers:
            if len(container) != len(held):
                clean = False
                _refill(container, held)
        for tensor, number in self.versions:
            copy = self.copies.get(id(tensor))
            # Norms write their statistics without counting that as a write.
            if version(tensor) != number or (copy is not None and not torch.equal(tensor, copy)):
                clean = False
                if copy is not None:
                    tensor.data.copy_(copy)
        return clean


def _refill(container: Any, then: Any) -> None:
    container.clear()
    (container.extend if isinstance(container, (list, deque, bytearray)) else container.update)(then)


class Hushed(io.TextIOBase):
    """What this thread writes is not written; others go on as before."""

    def __init__(self, real: Any, said: list[str]) -> None:
        self._real, self._said, self._thread = real, said, threading.get_ident()

    def write(self, text: str) -> int:
        if threading.get_ident() != self._thread:
            return int(self._real.write(text))
        self._said.append(text)
        return len(text)

    def flush(self) -> None:
        if threading.get_ident() != self._thread:
            self._real.flush()


@contextlib.contextmanager
def apart(module: nn.Module) -> Iterator[Kept]:
    """Forward passes in here run in eval mode, and leave nothing behind: attributes, buffers, random generators, output,
    warnings."""
    kept = Kept(module)
    drawn = generators.now()
    out, err, warn = sys.stdout, sys.stderr, warnings.warn
    fast = torch.backends.mha.get_fastpath_enabled()
    said: list[str] = []
    try:
        sys.stdout, sys.stderr = Hushed(out, said), Hushed(err, said)
        warnings.warn = lambda *_args, **_kwargs: None
        torch.backends.mha.set_fastpath_enabled(False)  # its nested tensors warn
        for part in kept.parts:
            vars(part)["training"] = False
        yield kept
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
        sys.stdout, sys.stderr, warnings.warn = out, err, warn
        drawn.put_back()
        kept.clean = kept.put_back() and not said
