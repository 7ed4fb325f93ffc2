"""Plain values of a module (`LR = 1e-3`, `class Config: lr = 1e-3`) that were edited after it was imported.

The program that was imported is in Python's own cache beside the source, until a process imports the new one. A value
counts as edited where the disk says another one than that cache, and the memory still holds the cached one: what was
set by hand in a notebook is not judged.
"""

import dis
import importlib.util
import marshal
import types
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

_HEADER = 16  # bytes before the program in a cache file
_MISSING = object()


def edited_constants(module: types.ModuleType, disk: types.CodeType) -> Iterator[str]:
    """Names as they are written in the source: `LR`, `Config.lr`."""
    cached = _cached(module)
    if cached is None:
        return
    before, after = _constants(cached), _constants(disk)
    for name, value in before.items():
        if name in after and not _equal(after[name], value) and _equal(_held(module, name), value):
            yield name


def _cached(module: types.ModuleType) -> types.CodeType | None:
    spec = getattr(module, "__spec__", None)
    with suppress(OSError, ValueError, EOFError, TypeError):
        data = Path(spec.cached).read_bytes() if spec is not None else b""
        if data[:4] == importlib.util.MAGIC_NUMBER:
            program = marshal.loads(data[_HEADER:])  # noqa: S302 - what Python itself would run at the next import
            return program if isinstance(program, types.CodeType) else None
    return None


def _constants(program: types.CodeType) -> dict[str, Any]:
    """Values that are written down and given a name once, at the top of a module or of a class in it."""
    found: dict[str, list[Any]] = {}
    for prefix, body in [("", program), *_classes(program)]:
        value: Any = _MISSING
        for step in dis.get_instructions(body):
            if step.opname in {"STORE_NAME", "STORE_GLOBAL"}:
                found.setdefault(f"{prefix}{step.argval}", []).append(value)
            value = step.argval if step.opname in {"LOAD_CONST", "LOAD_SMALL_INT"} else _MISSING
    return {
        name: values[0]
        for name, values in found.items()
        if len(values) == 1 and values[0] is not _MISSING and not name.rpartition(".")[2].startswith("__")
    }


def _classes(program: types.CodeType) -> Iterator[tuple[str, types.CodeType]]:
    for body in program.co_consts:
        if isinstance(body, types.CodeType) and "__qualname__" in body.co_names:  # every class names itself
            yield f"{body.co_name}.", body


def _held(module: types.ModuleType, name: str) -> Any:
    owner, _, inner = name.rpartition(".")
    holder = vars(module).get(owner) if owner else module
    return vars(holder).get(inner, _MISSING) if isinstance(holder, (type, types.ModuleType)) else _MISSING


def _equal(one: Any, two: Any) -> bool:
    return type(one) is type(two) and repr(one) == repr(two)
