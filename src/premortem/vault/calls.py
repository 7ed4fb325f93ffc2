"""The calls that belong in a checkpoint, and what each leaves behind here instead of being made."""

import sys
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from premortem.errors import Refused, VaultError
from premortem.vault import dtypes
from premortem.vault.stubs import Named, Opaque, Storage, TensorStub, sizes_of

TORCH = {"torch._utils", "torch._tensor", "torch.nn.parameter"}
_DATA_CALLS = {
    f"{module}.{name}"
    for module, names in {
        "argparse": "Namespace",
        "array": "array",
        "collections": "ChainMap Counter UserDict UserList deque",
        "copyreg": "__newobj__",
        "datetime": "date datetime time timedelta timezone",
        "decimal": "Decimal",
        "fractions": "Fraction",
        "functools": "partial",  # calls nothing until it is called, and nothing here calls it
        "logging": "getLogger",
        "pathlib": "Path PosixPath PurePosixPath PureWindowsPath WindowsPath",
        "pathlib._local": "PosixPath WindowsPath",
        "random": "Random",
        "re": "_compile",
        "types": "GenericAlias SimpleNamespace",
        "uuid": "UUID",
        "zoneinfo": "ZoneInfo",
        # Values that pandas, numpy and torch write as calls.
        "pandas._libs.internals": "_unpickle_block",
        "pandas.core.indexes.base": "_new_Index",
        "numpy": "dtype ndarray",
        "numpy.core.multiarray": "_reconstruct scalar",
        "numpy._core.multiarray": "_reconstruct scalar",
        "numpy.core.numeric": "_frombuffer",
        "numpy._core.numeric": "_frombuffer",
        "numpy.random._pickle": "__bit_generator_ctor __generator_ctor __randomstate_ctor",
        "torch": "device",
        "torch.serialization": "_get_layout",
        "torch.storage": "_load_from_bytes",  # only noted here: what it would load is not loaded
        "torch.torch_version": "TorchVersion",
    }.items()
    for name in names.split()
}


_MOST_LEVELS = 16  # of a key
_MOST_PARTS = 1000
_PACKAGES = {
    "asyncio", "collections", "concurrent", "ctypes", "distutils", "email", "encodings", "html", "http", "importlib",
    "json", "logging", "multiprocessing", "os", "pathlib", "re", "sqlite3", "sys", "tkinter", "unittest", "urllib",
    "xml", "xmlrpc", "zoneinfo",
}  # fmt: skip
# Not even their names belong in a checkpoint: what the file itself does not call, a user of it may call.
_NEVER = {
    "ctypes", "importlib", "nt", "os", "posix", "pty", "pydoc", "runpy", "shutil", "socket", "subprocess", "sys",
    "timeit", "webbrowser",
}  # fmt: skip
_NEVER_BUILT_IN = {
    "__import__", "breakpoint", "compile", "delattr", "eval", "exec", "globals", "input", "open", "setattr", "vars",
}  # fmt: skip


def check_name(name: Named) -> None:
    """Raises Refused."""
    top = name.module.partition(".")[0]
    if (top in _NEVER and in_standard_library(name.module)) or (
        name.module in {"builtins", "io"} and name.name in _NEVER_BUILT_IN
    ):
        raise Refused(f"holds `{name}`, which has no place in a checkpoint; do not load this file")


def check_key(key: Any) -> None:
    """Raises Refused for a key that takes long, or the whole stack, to be looked up."""
    level = [key] if isinstance(key, tuple) else []
    count = 0
    for _ in range(_MOST_LEVELS):
        if not level:
            return
        count += sum(map(len, level))
        if count > _MOST_PARTS:
            break
        level = [inner for each in level for inner in each if isinstance(inner, tuple)]
    raise Refused("has a key that is nested without end; it is made to fill the memory or the time")


def is_data(maker: Named) -> bool:
    """Plain data: dates, paths, numpy's numbers and random states, and the like."""
    if maker.module.startswith("numpy.random.") and maker.name.startswith("__pyx_unpickle_"):
        return True
    if maker.module == "numpy.dtypes":
        return True
    return str(maker) in _DATA_CALLS


def is_function(maker: Named) -> bool:
    """Whatever the standard library offers beyond plain data, and what is not named like a class elsewhere."""
    if in_standard_library(maker.module):
        return True
    return not maker.name.rpartition(".")[2].lstrip("_")[:1].isupper()


def in_standard_library(module: str) -> bool:
    """`code` is a standard module; `code.models` is not, because the standard `code` has no submodules."""
    top, _, below = module.partition(".")
    return top in sys.stdlib_module_names and (not below or top in _PACKAGES)


def rebuilt(maker: Named, args: tuple[Any, ...]) -> Any:
    if maker.name == "_rebuild_from_type_v2":
        return _subclass(*args)
    rebuild = _REBUILD.get(maker.name)
    if rebuild is not None:
        return rebuild(*args)
    if maker.name.startswith("_rebuild"):
        found = [arg for arg in args if isinstance(arg, TensorStub)]
        return found[0] if found else Opaque(maker, args)
    if maker.name[:1].isupper():
        return Opaque(maker, args)
    raise Refused(f"would call `{maker}` when it is loaded; do not load this file")


def _tensor(storage: Any, offset: Any, size: Any, stride: Any, *_rest: Any) -> TensorStub:
    if not isinstance(storage, Storage):
        raise VaultError("a tensor has no storage")
    shape, steps = _whole(size), _whole(stride)
    if len(shape) != len(steps) or not isinstance(offset, int) or not 0 <= offset < 1 << 63:
        raise VaultError("the shape and the strides of a tensor do not fit together")
    # Conjugated and negated views are kept as a mark on the bytes of the original.
    marks = [key for each in _rest if isinstance(each, dict) for key, value in each.items() if value is True]
    return TensorStub(storage, storage.dtype, shape, steps, offset, note=" ".join(map(str, marks)))


def _tensor_v3(*given: Any) -> TensorStub:
    storage, offset, size, stride, _grad, _hooks, dtype = given[:7]
    stub = _tensor(storage, offset, size, stride)
    stub.dtype = dtypes.of_torch(str(getattr(dtype, "name", dtype)))
    return stub


def _parameter(data: Any, *_rest: Any) -> Any:
    return data


def _qtensor(storage: Any, offset: Any, size: Any, stride: Any, *_rest: Any) -> TensorStub:
    stub = _tensor(storage, offset, size, stride)
    stub.note = "quantized"
    return stub


def _sparse(layout: Any, data: Any) -> TensorStub:
    parts = tuple(part for part in data if isinstance(part, TensorStub))
    if any(part.parts for part in parts) or len(parts) > _MOST_LEVELS:
        raise VaultError("a sparse tensor is made of sparse tensors")
    sizes = [part for part in data if isinstance(part, tuple)]
    values = parts[-1] if parts else None
    shape = _whole(sizes[-1]) if sizes else ()
    return TensorStub(None, values.dtype if values else "float32", shape, parts=parts, note=_layout(layout))


def _layout(layout: Any) -> str:
    return str(layout.given[0]) if isinstance(layout, Opaque) and layout.given else "sparse"


def _meta(dtype: Any, size: Any, *_rest: Any) -> TensorStub:
    return TensorStub(None, dtypes.of_torch(str(getattr(dtype, "name", dtype))), _whole(size), note="meta")


def _subclass(function: Any, _kind: Any, args: Any, *_state: Any) -> Any:
    """A tensor of a class of its own, around a plain one."""
    if not isinstance(function, Named) or function.module not in TORCH:
        raise Refused(f"would call `{function}` when it is loaded; do not load this file")
    return rebuilt(function, tuple(args))


def _whole(sizes: Any) -> tuple[int, ...]:
    return sizes_of(sizes, "a tensor")


def _method(target: Any, name: Any, *_rest: Any) -> Opaque:
    """How a method is written. Of an object or a class that was not made, nothing can be got."""
    getter = Named("builtins", "getattr")
    harmless = isinstance(target, Opaque) or (
        isinstance(target, Named) and not in_standard_library(target.module)
    )
    if not harmless or not isinstance(name, str) or name.startswith("__"):
        raise Refused(f"would call `{getter}` when it is loaded; do not load this file")
    return Opaque(getter, (target, name))


def _type_of(*given: Any) -> Opaque:
    """`type(None)` is how the type of None is written. With more, a new class would be made."""
    if len(given) != 1:
        raise Refused("would make a new class when it is loaded; do not load this file")
    return Opaque(Named("builtins", "type"), given)


def _of_typing(target: Any, _key: Any) -> Opaque:
    """`Optional[int]`, as configurations hold it."""
    if not isinstance(target, Named) or target.module not in {"typing", "builtins", "collections.abc"}:
        raise Refused("would call `operator.getitem` when it is loaded; do not load this file")
    return Opaque(target)


def _ordered(pairs: Any = ()) -> OrderedDict[Any, Any]:
    made: OrderedDict[Any, Any] = OrderedDict()
    for key, value in pairs.items() if isinstance(pairs, dict) else pairs:
        check_key(key)
        made[key] = value
    return made


def _encoded(text: Any, coding: Any = "latin1") -> bytes:
    """How the second protocol writes bytes."""
    if not isinstance(text, str) or str(coding).replace("-", "").lower() not in {"latin1", "utf8", "ascii"}:
        raise VaultError("bytes are written in an unknown way")
    return text.encode(coding)


def _set(items: Any = ()) -> set[Any]:
    kept = [item for item in items if not isinstance(item, (list, dict, set))]
    for item in kept:
        check_key(item)
    return set(kept)


def _bytes(*given: Any) -> bytes:
    # `bytearray(10**12)` is a request for memory, not data.
    if given and isinstance(given[0], int):
        raise Refused("asks for empty memory by its size")
    if given and isinstance(given[0], str):
        return _encoded(*given[:2])
    return bytes(given[0]) if given and isinstance(given[0], (bytes, list)) else b""


def _size(sizes: Any = ()) -> tuple[int, ...]:
    return _whole(sizes)


KNOWN: dict[str, Callable[..., Any]] = {
    "collections.OrderedDict": _ordered,
    "collections.defaultdict": lambda *_factory: {},
    "_codecs.encode": _encoded,
    "builtins.getattr": _method,
    "builtins.type": _type_of,
    "operator.getitem": _of_typing,
    "_operator.getitem": _of_typing,
    "builtins.set": _set,
    "builtins.frozenset": _set,
    "builtins.bytearray": _bytes,
    "builtins.bytes": _bytes,
    "builtins.complex": lambda real=0.0, imag=0.0: complex(real, imag),
    "builtins.range": lambda *bounds: tuple(bounds),
    "builtins.slice": lambda *bounds: tuple(bounds),
    "torch.Size": _size,
}
_REBUILD: dict[str, Callable[..., Any]] = {
    "_rebuild_tensor": _tensor,
    "_rebuild_tensor_v2": _tensor,
    "_rebuild_tensor_v3": _tensor_v3,
    "_rebuild_parameter": _parameter,
    "_rebuild_parameter_with_state": _parameter,
    "_rebuild_qtensor": _qtensor,
    "_rebuild_sparse_tensor": _sparse,
    "_rebuild_sparse_csr_tensor": _sparse,
    "_rebuild_meta_tensor_no_storage": _meta,
}
