"""Reads a pickle without making anything it asks for.

A pickle is a program: `torch.load(weights_only=False)` runs whatever it names. This reader follows the same
program, but every name becomes a `Named`, every call a note of the call, every tensor a stub that knows its
shape and where its bytes lie. So a stranger's checkpoint can be listed on a machine without torch, and a
call of `os.system` is found instead of made.

    known      tensors, storages, containers, plain values      understood
    a class    of somebody's package, made and filled           kept as an `Opaque`, told by its name
    a call     of a function, or of the standard library        refused
"""

from __future__ import annotations

import _compat_pickle
import pickle
import sys
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO, Any, ClassVar

from premortem.errors import Refused, VaultError
from premortem.vault import dtypes

# Where functions are not called what a class is called, and where a call does things to this machine.
_TORCH_REBUILD = {"torch._utils", "torch._tensor", "torch.nn.parameter"}
_DATA_CALLS = {
    "argparse.Namespace",
    "array.array",
    "collections.Counter",
    "collections.deque",
    "copyreg.__newobj__",
    "datetime.date",
    "datetime.datetime",
    "datetime.time",
    "datetime.timedelta",
    "datetime.timezone",
    "decimal.Decimal",
    "fractions.Fraction",
    "functools.partial",  # calls nothing until it is called, and nothing here calls it
    "logging.getLogger",
    "pathlib.Path",
    "pathlib.PosixPath",
    "pathlib.PurePosixPath",
    "pathlib.PureWindowsPath",
    "pathlib.WindowsPath",
    "pathlib._local.PosixPath",
    "pathlib._local.WindowsPath",
    "random.Random",
    "re._compile",
    "types.SimpleNamespace",
    "uuid.UUID",
    "zoneinfo.ZoneInfo",
    # Values that numpy and torch write as calls.
    "numpy.dtype",
    "numpy.ndarray",
    "numpy.core.multiarray._reconstruct",
    "numpy._core.multiarray._reconstruct",
    "numpy.core.multiarray.scalar",
    "numpy._core.multiarray.scalar",
    "numpy.core.numeric._frombuffer",
    "numpy._core.numeric._frombuffer",
    "numpy.random._pickle.__bit_generator_ctor",
    "numpy.random._pickle.__generator_ctor",
    "numpy.random._pickle.__randomstate_ctor",
    "torch.device",
    "torch.serialization._get_layout",
    "torch.storage._load_from_bytes",  # only noted here: what it would load is not loaded
}


@dataclass(frozen=True, slots=True)
class Named:
    """A name that the pickle asked for. It is never imported."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


@dataclass(eq=False, slots=True)
class Opaque:
    """An object that was not made: its class, what it was given, and what it was filled with."""

    made_by: Named
    given: tuple[Any, ...] = ()
    state: Any = None
    items: list[Any] = field(default_factory=list)
    pairs: dict[Any, Any] = field(default_factory=dict)

    # Lists and dicts of one's own class are filled through these.
    def append(self, item: Any) -> None:
        self.items.append(item)

    def extend(self, items: list[Any]) -> None:
        self.items.extend(items)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.pairs[key] = value


@dataclass(frozen=True, slots=True)
class Storage:
    """Bytes in the file that tensors are cut from."""

    key: str
    dtype: str
    elements: int


@dataclass(eq=False, slots=True)
class TensorStub:
    """A tensor that was not made."""

    storage: Storage | None  # None: there are no bytes, or they are not plainly laid out
    dtype: str
    shape: tuple[int, ...]
    stride: tuple[int, ...] = ()
    offset: int = 0  # in elements
    parts: tuple[TensorStub, ...] = ()  # what a sparse or quantized tensor is made of
    note: str = ""


def read(file: IO[bytes], what: str = "the pickle") -> Loaded:
    """One pickle from `file`, which then stands right behind it. Raises Refused or VaultError."""
    machine = _Inert(file)
    try:
        value = machine.load()
    except Refused as refused:
        raise Refused(f"{what} {refused}") from None
    except VaultError:
        raise
    except MemoryError:
        raise Refused(f"{what} asks for more memory than there is") from None
    except RecursionError:
        raise Refused(f"{what} is nested without end") from None
    except Exception as error:
        raise VaultError(f"{what} is damaged ({type(error).__name__}: {error})", record=what) from error
    return Loaded(value, tuple(dict.fromkeys(machine.foreign)))


@dataclass(frozen=True, slots=True)
class Loaded:
    value: Any
    foreign: tuple[str, ...]  # classes that only a full, unsafe load would make


# The reader that is written in Python: its memo is a dict, so a huge index in the file costs nothing, and what an
# opcode does can be replaced.
_Reader: Any = pickle._Unpickler  # type: ignore[attr-defined] # noqa: SLF001


class _Inert(_Reader):
    dispatch: ClassVar[dict[int, Callable[..., None]]] = dict(_Reader.dispatch)

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file, encoding="utf-8", errors="surrogateescape")
        self.foreign: list[str] = []

    # --- names -------------------------------------------------------------------------------

    def find_class(self, module: str, name: str) -> Any:
        if self.proto < 3:  # written under the names of Python 2, by torch to this day
            module, name = _compat_pickle.NAME_MAPPING.get((module, name), (module, name))
            module = _compat_pickle.IMPORT_MAPPING.get(module, module)
        return Named(str(module), str(name))

    def persistent_load(self, saved_id: Any) -> Any:
        """("storage", FloatStorage, "0", "cpu", 4000), and in old files a view as a sixth."""
        if not isinstance(saved_id, tuple) or len(saved_id) < 5 or saved_id[0] != "storage":
            if isinstance(saved_id, tuple) and saved_id and saved_id[0] == "module":
                return saved_id[1]  # very old files keep the source of a class beside it
            raise VaultError("it names a storage in a way that no torch writes")
        _storage, kind, key, _place, elements = saved_id[:5]
        if not isinstance(elements, int) or elements < 0:
            raise VaultError("a storage has no size")
        view = saved_id[5] if len(saved_id) > 5 else None
        if view is not None:  # (view key, offset, size)
            raise VaultError(
                "it is of a torch older than 0.4, whose storages may be views; load and save it again"
            )
        return Storage(str(key), dtypes.of_storage(str(getattr(kind, "name", kind))), elements)

    # --- the opcodes that would run something -----------------------------------------------------

    def load_reduce(self) -> None:
        args = self.stack.pop()
        self.stack[-1] = self._called(self.stack[-1], args)

    def load_newobj(self) -> None:
        args = self.stack.pop()
        self.stack[-1] = self._made(self.stack[-1], args)

    def load_newobj_ex(self) -> None:
        _keywords = self.stack.pop()
        args = self.stack.pop()
        self.stack[-1] = self._made(self.stack[-1], args)

    def load_inst(self) -> None:
        module = self.readline()[:-1].decode("ascii")
        name = self.readline()[:-1].decode("ascii")
        self.append(self._called(self.find_class(module, name), tuple(self.pop_mark())))

    def load_obj(self) -> None:
        maker, *args = self.pop_mark()
        self.append(self._called(maker, tuple(args)))

    def load_build(self) -> None:
        state = self.stack.pop()
        target = self.stack[-1]
        if isinstance(target, Opaque):
            target.state = state
        # An OrderedDict may carry attributes (a state_dict's `_metadata`); they hold no weights.
        elif not isinstance(target, (OrderedDict, TensorStub)):
            raise Refused(f"changes the attributes of {_told(target)}, which no checkpoint needs")

    def load_ext(self, *_given: Any) -> None:
        raise Refused("uses names that only a registry of the machine that wrote it knows")

    dispatch[pickle.REDUCE[0]] = load_reduce
    dispatch[pickle.NEWOBJ[0]] = load_newobj
    dispatch[pickle.NEWOBJ_EX[0]] = load_newobj_ex
    dispatch[pickle.INST[0]] = load_inst
    dispatch[pickle.OBJ[0]] = load_obj
    dispatch[pickle.BUILD[0]] = load_build
    dispatch[pickle.EXT1[0]] = dispatch[pickle.EXT2[0]] = dispatch[pickle.EXT4[0]] = load_ext

    # --- what stands for their results ------------------------------------------------------------

    def _made(self, maker: Any, args: Any) -> Any:
        """An object of a class, empty until it is filled."""
        if not isinstance(maker, Named):
            raise Refused(f"makes an object of {_told(maker)}, which is no class")
        if str(maker) == "collections.OrderedDict":
            return OrderedDict()
        if maker.module.partition(".")[0] in sys.stdlib_module_names and not _is_data(maker):
            raise Refused(f"makes a `{maker}`; that belongs to no checkpoint, so do not load this file")
        if not _is_data(maker):
            self.foreign.append(str(maker))
        return Opaque(maker, tuple(args))

    def _called(self, maker: Any, args: Any) -> Any:
        if not isinstance(maker, Named):
            raise Refused(f"calls {_told(maker)}, which it put together itself; do not load this file")
        if not isinstance(args, tuple):
            raise VaultError("a call has no arguments")
        name = str(maker)
        if (known := _KNOWN.get(name)) is not None:
            return known(*args)
        if maker.module in _TORCH_REBUILD:
            return _rebuilt(maker, args)
        if name in {"torch._tensor._rebuild_from_type_v2", "copyreg._reconstructor"}:
            return self._made(args[0], ()) if name.startswith("copyreg") else _subclass(*args)
        if _is_data(maker):
            return Opaque(maker, args)
        if _is_function(maker):
            raise Refused(f"would call `{name}` when it is loaded; do not load this file")
        self.foreign.append(name)
        return Opaque(maker, args)


def _told(value: Any) -> str:
    return f"`{value}`" if isinstance(value, Named) else f"an object (`{type(value).__name__}`)"


def _is_data(maker: Named) -> bool:
    return str(maker) in _DATA_CALLS


def _is_function(maker: Named) -> bool:
    """Whatever the standard library offers beyond plain data, and what is not named like a class elsewhere."""
    if maker.module.partition(".")[0] in sys.stdlib_module_names and maker.module != "__main__":
        return True
    return not maker.name.rpartition(".")[2].lstrip("_")[:1].isupper()


# --- torch's own calls -----------------------------------------------------------------------------


def _rebuilt(maker: Named, args: tuple[Any, ...]) -> Any:
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
    if len(shape) != len(steps) or not isinstance(offset, int) or offset < 0:
        raise VaultError("the shape and the strides of a tensor do not fit together")
    return TensorStub(storage, storage.dtype, shape, steps, offset)


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
    sizes = [part for part in data if isinstance(part, tuple)]
    values = parts[-1] if parts else None
    shape = _whole(sizes[-1]) if sizes else ()
    return TensorStub(None, values.dtype if values else "float32", shape, parts=parts, note="sparse")


def _meta(dtype: Any, size: Any, *_rest: Any) -> TensorStub:
    return TensorStub(None, dtypes.of_torch(str(getattr(dtype, "name", dtype))), _whole(size), note="meta")


def _subclass(_function: Any, kind: Any, args: Any, state: Any) -> Any:
    """A tensor of a class of its own, around a plain one."""
    function = _function if isinstance(_function, Named) else Named("torch._utils", "")
    if function.module not in _TORCH_REBUILD:
        raise Refused(f"would call `{function}` when it is loaded; do not load this file")
    return _rebuilt(function, tuple(args))


def _whole(sizes: Any) -> tuple[int, ...]:
    if not isinstance(sizes, (tuple, list)) or not all(isinstance(n, int) and n >= 0 for n in sizes):
        raise VaultError("a tensor has a size that is no number")
    return tuple(sizes)


def _ordered(pairs: Any = ()) -> OrderedDict[Any, Any]:
    return OrderedDict(pairs)


def _encoded(text: Any, coding: Any = "latin1") -> bytes:
    """How the second protocol writes bytes."""
    if not isinstance(text, str) or str(coding).replace("-", "").lower() not in {"latin1", "utf8", "ascii"}:
        raise VaultError("bytes are written in an unknown way")
    return text.encode(coding)


def _set(items: Any = ()) -> set[Any]:
    return {item for item in items if not isinstance(item, (list, dict, set))}


def _bytes(*given: Any) -> bytes:
    # `bytearray(10**12)` is a request for memory, not data.
    if given and isinstance(given[0], int):
        raise Refused("asks for empty memory by its size")
    if given and isinstance(given[0], str):
        return _encoded(*given[:2])
    return bytes(given[0]) if given and isinstance(given[0], (bytes, list)) else b""


def _size(sizes: Any = ()) -> tuple[int, ...]:
    return _whole(sizes)


_KNOWN: dict[str, Callable[..., Any]] = {
    "collections.OrderedDict": _ordered,
    "collections.defaultdict": lambda *_factory: {},
    "_codecs.encode": _encoded,
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
