"""Modules of a long-lived process whose source has been edited since: what runs is not what is on the disk."""

import ast
import inspect
import os
import sys
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from premortem.preflight.environment.constants import edited_constants

_LIBRARIES = ("site-packages", "dist-packages")


@dataclass(frozen=True)
class Stale:
    """A module in memory, and what of it reads differently on the disk."""

    name: str
    file: str
    changed: tuple[str, ...]  # functions and plain values; "" names the module as a whole


def stale_modules(
    modules: Mapping[str, types.ModuleType] | None = None, folder: Path | None = None
) -> list[Stale]:
    """Of the modules in this process, those of `folder` (default: the working folder) that have changed on the disk.

    Functions are compared by what they do, so that an added comment or a moved line is no change.
    """
    top = Path(os.path.realpath(folder or Path.cwd()))
    found = []
    for name, module in sorted((sys.modules if modules is None else modules).items()):
        file = getattr(module, "__file__", None)
        if name == "__main__" or not isinstance(file, str) or not file.endswith(".py"):
            continue
        if not Path(file).is_absolute():
            continue  # not from an import: `torch.ops` calls itself a module, and its file `_ops.py`
        path = Path(os.path.realpath(file))
        if not path.is_relative_to(top) or any(part in _LIBRARIES for part in path.parts):
            continue
        changed = _changed(module, path)
        if changed:
            found.append(Stale(name, str(path), changed))
    return found


def _changed(module: types.ModuleType, path: Path) -> tuple[str, ...]:
    try:
        text = path.read_bytes()
        disk = compile(text, str(path), "exec", dont_inherit=True)
    except FileNotFoundError:
        return ("",)
    except (OSError, SyntaxError, ValueError):
        return ()  # being written at this moment
    there: dict[str, list[types.CodeType]] = {}
    for name, code in _functions(disk):
        there.setdefault(name, []).append(code)  # `if fast: def step(): … else: def step(): …`
    here = {
        name: function.__code__
        for name, function in _live(module)
        # A function that was made by another one, or under another name, is not found again by its name.
        if os.path.realpath(function.__code__.co_filename) == str(path)
    }
    gone = [name for name in here if name not in there]
    edited = [n for n, code in here.items() if n in there and not any(_same(code, one) for one in there[n])]
    return tuple(sorted({*gone, *edited, *_added(text, module), *edited_constants(module, disk)}))


def _added(text: bytes, module: types.ModuleType) -> Iterator[str]:
    """Functions and classes that the module would have by now, whatever happens when it is imported."""
    tree = ast.parse(text)
    deleted = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Delete)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            if node.name not in deleted and not hasattr(module, node.name):
                yield node.name


def _live(module: types.ModuleType) -> Iterator[tuple[str, types.FunctionType]]:
    """Functions and methods that this module defines at its top level, by their qualified names."""
    for name, value in list(vars(module).items()):
        if isinstance(value, type) and value.__module__ == module.__name__ and value.__qualname__ == name:
            for inner, method in list(vars(value).items()):
                plain = _plain(method)
                if plain is not None and plain.__qualname__ == f"{name}.{inner}":
                    yield f"{name}.{inner}", plain
        else:
            plain = _plain(value)
            if plain is not None and plain.__module__ == module.__name__ and plain.__qualname__ == name:
                yield name, plain


def _plain(value: object) -> types.FunctionType | None:
    if isinstance(value, (staticmethod, classmethod)):
        value = value.__func__
    if isinstance(value, property):
        value = value.fget
    if not callable(value):
        return None
    try:
        inner = inspect.unwrap(value)
    except ValueError:
        return None
    return inner if isinstance(inner, types.FunctionType) else None


def _functions(code: types.CodeType, prefix: str = "") -> Iterator[tuple[str, types.CodeType]]:
    """The functions of a module and the methods of its classes: bodies of classes are code too."""
    for one in code.co_consts:
        if isinstance(one, types.CodeType) and not one.co_name.startswith("<"):
            if _is_function(one):
                yield f"{prefix}{one.co_name}", one
            elif not prefix:
                yield from _functions(one, f"{one.co_name}.")


def _is_function(code: types.CodeType) -> bool:
    return bool(code.co_flags & inspect.CO_NEWLOCALS)


def _same(one: types.CodeType, two: types.CodeType) -> bool:
    if one.co_code != two.co_code or one.co_names != two.co_names or one.co_varnames != two.co_varnames:
        return False
    if len(one.co_consts) != len(two.co_consts):
        return False
    for here, there in zip(one.co_consts, two.co_consts, strict=True):
        if isinstance(here, types.CodeType) and isinstance(there, types.CodeType):
            if not _same(here, there):
                return False
        elif type(here) is not type(there) or repr(here) != repr(there):
            return False
    return True
