"""Libraries that open files in C, where a table of Python's own calls does not see them."""

import functools
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from premortem.scriptrun.sandbox.tree import REAL, Tree
from premortem.startup.import_hook import ImportHook

_URI = "file:"
_THE_SYSTEMS = frozenset({"posix", "_io", "builtins", "importlib._bootstrap_external"})
_WITH_CLASSES = frozenset({"pathlib", "glob"})  # some releases of Python keep calls in classes there
_LONGEST = 100  # bytes of the name of a socket


def cover(tree: Tree) -> None:
    """Each as soon as it is imported; at once when it is already."""
    for name, call in (
        ("sqlite3", _sqlite),
        ("torch", _torch),
        ("h5py", _h5py),
        ("safetensors", _safetensors),
        ("socket", _socket),
    ):
        arrived = functools.partial(_arrived, name, call, tree)
        if name in sys.modules:
            arrived()
        else:
            sys.meta_path.insert(0, ImportHook(name, arrived))


def hand_over(original: Any, opened: Any) -> None:
    """Modules and classes that took `open` and the calls of `os` for themselves, when they were imported, get ours."""
    covered = {
        id(real): getattr(os, name) for name, real in vars(REAL).items() if getattr(os, name) is not real
    }
    covered[id(original)] = opened
    for name, module in list(sys.modules.items()):
        if name.startswith("premortem") or name in _THE_SYSTEMS:
            continue
        for key, value in list(getattr(module, "__dict__", {}).items()):
            if id(value) in covered:
                setattr(module, key, covered[id(value)])
            elif isinstance(value, type) and name.partition(".")[0] in _WITH_CLASSES:
                _hand_over_to(value, covered)
    sources = getattr(sys.modules.get("numpy.lib._datasource"), "_file_openers", None)
    if sources is not None:
        sources._file_openers[None] = opened  # noqa: SLF001


def _hand_over_to(kind: type, covered: dict[int, Any]) -> None:
    for key, value in list(vars(kind).items()):
        plain = value.__func__ if isinstance(value, staticmethod) else value
        if id(plain) in covered:
            with suppress(TypeError):  # a class of the interpreter's own
                setattr(kind, key, staticmethod(covered[id(plain)]))


def _arrived(name: str, call: Callable[[Any, Tree], None], tree: Tree) -> None:
    call(sys.modules[name], tree)


def _is_path(thing: Any) -> bool:
    return isinstance(thing, (str, bytes, os.PathLike))


def _sqlite(module: Any, tree: Tree) -> None:
    original = module.connect

    @functools.wraps(original)
    def connect(database: Any, *args: Any, **kwargs: Any) -> Any:
        name = os.fsdecode(database) if _is_path(database) else ""
        if name and name != ":memory:" and not name.startswith(_URI):
            for side in ("-wal", "-journal"):  # what another process has not written into it yet
                if os.path.exists(name + side):
                    tree.writing(name + side, copy=True)
            database = tree.writing(name, copy=True)
        return original(database, *args, **kwargs)

    module.connect = module.dbapi2.connect = connect


def _torch(module: Any, tree: Tree) -> None:
    save, load, from_file = module.save, module.load, module.from_file

    @functools.wraps(save)
    def saved(obj: Any, f: Any, *args: Any, **kwargs: Any) -> None:
        save(obj, tree.writing(os.fspath(f), copy=False) if _is_path(f) else f, *args, **kwargs)

    @functools.wraps(load)
    def loaded(f: Any, *args: Any, **kwargs: Any) -> Any:
        return load(tree.reading(os.fspath(f)) if _is_path(f) else f, *args, **kwargs)

    @functools.wraps(from_file)
    def mapped(filename: Any, shared: Any = None, *args: Any, **kwargs: Any) -> Any:
        place = tree.writing(filename, copy=True) if shared else tree.reading(filename)
        return from_file(place, shared, *args, **kwargs)

    module.save, module.load, module.from_file = saved, loaded, mapped


def _h5py(module: Any, tree: Tree) -> None:
    original = module.File.__init__

    @functools.wraps(original)
    def __init__(file: Any, name: Any, mode: str = "r", *args: Any, **kwargs: Any) -> None:  # noqa: N807
        if _is_path(name):
            reads = mode == "r"
            name = (
                tree.reading(os.fsdecode(name))
                if reads
                else tree.writing(os.fsdecode(name), copy=mode != "w")
            )
        original(file, name, mode, *args, **kwargs)

    module.File.__init__ = __init__


def _safetensors(module: Any, tree: Tree) -> None:
    opened, written = module.safe_open, module.serialize_file

    @functools.wraps(written)
    def serialize_file(tensors: Any, filename: Any, *args: Any, **kwargs: Any) -> Any:
        return written(tensors, tree.writing(os.fspath(filename), copy=False), *args, **kwargs)

    def safe_open(filename: Any, *args: Any, **kwargs: Any) -> Any:
        return opened(tree.reading(os.fspath(filename)), *args, **kwargs)

    for each in [module, *(m for name, m in sys.modules.items() if name.startswith("safetensors."))]:
        for name, call in (("safe_open", safe_open), ("serialize_file", serialize_file)):
            if hasattr(each, name):
                setattr(each, name, call)


def _socket(module: Any, tree: Tree) -> None:
    """A socket in a folder is a file too."""
    bind, connect = module.socket.bind, module.socket.connect

    def bound(self: Any, address: Any) -> None:
        bind(self, _short(tree.writing(address, copy=False)) if _is_file(address) else address)

    def connected(self: Any, address: Any) -> None:
        connect(self, _short(tree.reading(address)) if _is_file(address) else address)

    module.socket.bind, module.socket.connect = bound, connected


def _is_file(address: Any) -> bool:
    """Of a socket: neither a host and a port nor a name that only the kernel has."""
    return isinstance(address, str) and bool(address) and not address.startswith("\0")


def _short(place: str) -> str:
    """The kernel takes only short names: a long one begins with a descriptor of its folder."""
    if len(os.fsencode(place)) < _LONGEST:
        return place
    folder, _, name = place.rpartition("/")
    return f"/proc/self/fd/{REAL.open(folder, os.O_PATH | os.O_DIRECTORY)}/{name}"
