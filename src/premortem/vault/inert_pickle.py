"""Reads a pickle without making anything it asks for.

A pickle is a program: `torch.load(weights_only=False)` runs whatever it names. This reader follows the same
program, but every name becomes a `Named`, every call a note of the call, every tensor a stub that knows its
shape and where its bytes lie. So a stranger's checkpoint can be listed on a machine without torch, and a
call of `os.system` is found instead of made.

    known      tensors, storages, containers, plain values      understood
    a class    of another package, made and filled              kept as an `Opaque`, shown by its name
    a call     of a function, or of the standard library        refused

It is a program whose length, size and time are limited too, whatever it asks for.
"""

from __future__ import annotations

import _compat_pickle
import io
import itertools
import pickle
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import IO, Any, ClassVar

from premortem.errors import Refused, VaultError
from premortem.vault import dtypes
from premortem.vault.calls import (
    KNOWN,
    TORCH,
    check_key,
    check_name,
    in_standard_library,
    is_data,
    is_function,
    rebuilt,
)
from premortem.vault.stubs import Named, Opaque, Storage, TensorStub

MOST_OPCODES = 20_000_000  # a large checkpoint has a hundred thousand
MOST_BYTES = 2 << 30  # of one pickle; tensors lie outside of it
_LONGEST_LINE = 64 << 20  # bytes
_SLOW_KEY = 50e-6  # seconds; a dictionary needs a hundredth of that, unless its keys were made to collide
_MOST_SECONDS = 3.0  # for slow keys


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
_Reader: Any = vars(pickle)["_Unpickler"]


class _Counted(dict[int, Callable[..., None]]):
    """The opcodes. Each that is looked up is about to be run."""

    def __init__(self, known: dict[int, Callable[..., None]]) -> None:
        super().__init__(known)
        self._count = itertools.count(1)

    def __getitem__(self, code: int) -> Callable[..., None]:
        if next(self._count) > MOST_OPCODES:
            raise Refused(f"has more than {MOST_OPCODES:,} steps; it is made to keep its reader busy")
        known = self.get(code)
        if known is None:
            raise pickle.UnpicklingError(f"{code:#04x} is not an opcode of a pickle")
        return known


class _Limited:
    """What a pickle reads from. It says how long a value is before it comes, and memory is not given on its word."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        here = file.tell()
        self._left = file.seek(0, io.SEEK_END) - here
        file.seek(here)
        self._most = min(self._left, MOST_BYTES)
        self._long = self._left > MOST_BYTES

    def read(self, count: int) -> bytes:
        self._take(count)
        return self._file.read(count)

    def readinto(self, buffer: Any) -> int:
        self._take(len(buffer))
        return self._file.readinto(buffer)  # type: ignore[attr-defined, no-any-return]

    def readline(self) -> bytes:
        line = self._file.readline(min(self._most, _LONGEST_LINE))
        self._take(len(line))
        if not line.endswith(b"\n"):
            raise EOFError("a line in it does not end")
        return line

    def _take(self, count: int) -> None:
        if count > self._most:
            if self._long and count <= self._left:
                raise Refused(f"holds more than {MOST_BYTES:,} bytes besides its tensors")
            raise EOFError("it ends in the middle of a value")
        self._most -= count
        self._left -= count


class _Inert(_Reader):  # type: ignore[misc] # the base has no types
    dispatch: ClassVar[dict[int, Callable[..., None]]] = dict(_Reader.dispatch)

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(_Limited(file), encoding="utf-8", errors="surrogateescape")
        self.dispatch = _Counted(type(self).dispatch)  # type: ignore[misc]
        self.foreign: list[str] = []
        self._slow = 0.0  # seconds spent on keys that are hard to put away

    # --- names -------------------------------------------------------------------------------

    def find_class(self, module: str, name: str) -> Any:
        if self.proto < 3:  # written under the names of Python 2, by torch to this day
            module, name = _compat_pickle.NAME_MAPPING.get((module, name), (module, name))
            module = _compat_pickle.IMPORT_MAPPING.get(module, module)
        found = Named(str(module), str(name))
        check_name(found)
        return found

    def persistent_load(self, saved_id: Any) -> Any:
        """("storage", FloatStorage, "0", "cpu", 4000), and in old files a view as a sixth."""
        if not isinstance(saved_id, tuple) or len(saved_id) < 5 or saved_id[0] != "storage":
            if isinstance(saved_id, tuple) and saved_id and saved_id[0] == "module":
                return saved_id[1]  # very old files keep the source of a class beside it
            raise VaultError("it names a storage in a way that no torch writes")
        _storage, kind, key, _place, elements = saved_id[:5]
        if not isinstance(elements, int) or not 0 <= elements < 1 << 63:
            raise VaultError("a storage has no size")
        if not isinstance(key, (str, int)) or not isinstance(kind, (str, Named)):
            raise VaultError("a storage has no name")
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
            raise Refused(f"changes the attributes of {_shown(target)}, which no checkpoint needs")

    def load_bytearray8(self) -> None:
        self.append(bytearray(self.read(int.from_bytes(self.read(8), "little"))))

    def load_ext(self, *_given: Any) -> None:
        raise Refused("uses names that only a registry of the machine that wrote it knows")

    # --- keys: a tuple that holds others is added up from all of them, each time it is looked for ---------

    def _put(self, target: Any, pairs: Iterable[tuple[Any, Any]]) -> None:
        left = iter(pairs)
        while batch := list(itertools.islice(left, 256)):
            began = time.perf_counter()
            for key, value in batch:
                check_key(key)
                target[key] = value
            spent = time.perf_counter() - began
            self._slow += spent if spent > len(batch) * _SLOW_KEY else 0.0
            if self._slow > _MOST_SECONDS:
                raise Refused("has keys that were made to keep its reader busy")

    def load_setitem(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self._put(self.stack[-1], [(key, value)])

    def load_setitems(self) -> None:
        items = self.pop_mark()
        self._put(self.stack[-1], zip(items[::2], items[1::2], strict=True))

    def load_dict(self) -> None:
        items = self.pop_mark()
        made: dict[Any, Any] = {}
        self._put(made, zip(items[::2], items[1::2], strict=True))
        self.append(made)

    def load_additems(self) -> None:
        items = self.pop_mark()
        into = self.stack[-1]
        if not isinstance(into, set):
            raise VaultError("it adds to a set where there is none")
        self._put(_Adding(into), ((item, None) for item in items))

    def load_frozenset(self) -> None:
        made: set[Any] = set()
        self._put(_Adding(made), ((item, None) for item in self.pop_mark()))
        self.append(frozenset(made))

    dispatch[pickle.SETITEM[0]] = load_setitem
    dispatch[pickle.SETITEMS[0]] = load_setitems
    dispatch[pickle.DICT[0]] = load_dict
    dispatch[pickle.ADDITEMS[0]] = load_additems
    dispatch[pickle.FROZENSET[0]] = load_frozenset
    dispatch[pickle.REDUCE[0]] = load_reduce
    dispatch[pickle.NEWOBJ[0]] = load_newobj
    dispatch[pickle.NEWOBJ_EX[0]] = load_newobj_ex
    dispatch[pickle.INST[0]] = load_inst
    dispatch[pickle.OBJ[0]] = load_obj
    dispatch[pickle.BUILD[0]] = load_build
    dispatch[pickle.BYTEARRAY8[0]] = load_bytearray8
    dispatch[pickle.EXT1[0]] = dispatch[pickle.EXT2[0]] = dispatch[pickle.EXT4[0]] = load_ext

    # --- what stands for their results ------------------------------------------------------------

    def _made(self, maker: Any, args: Any) -> Any:
        """An object of a class, empty until it is filled."""
        if not isinstance(maker, Named):
            raise Refused(f"makes an object of {_shown(maker)}, which is not a class")
        if str(maker) == "collections.OrderedDict":
            return OrderedDict()
        if in_standard_library(maker.module) and not is_data(maker):
            raise Refused(f"makes a `{maker}`; that belongs to no checkpoint, so do not load this file")
        if not is_data(maker):
            self.foreign.append(str(maker))
        return Opaque(maker, tuple(args))

    def _called(self, maker: Any, args: Any) -> Any:
        if not isinstance(maker, Named):
            raise Refused(f"calls {_shown(maker)}, which it put together itself; do not load this file")
        if not isinstance(args, tuple):
            raise VaultError("a call has no arguments")
        name = str(maker)
        if (known := KNOWN.get(name)) is not None:
            return known(*args)
        if maker.module in TORCH:
            return rebuilt(maker, args)
        if name == "copyreg._reconstructor":  # how the oldest protocols make an empty object
            return self._made(args[0] if args else None, ())
        if is_data(maker):
            return Opaque(maker, args)
        if is_function(maker):
            known_harm = in_standard_library(maker.module) or name.startswith("torch.")
            advice = "do not load this file" if known_harm else "load it only if you trust whoever wrote it"
            raise Refused(f"would call `{name}` when it is loaded; {advice}")
        self.foreign.append(name)
        return Opaque(maker, args)


class _Adding:
    """A set that is filled like a dictionary."""

    def __init__(self, into: set[Any]) -> None:
        self._into = into

    def __setitem__(self, key: Any, value: None) -> None:
        self._into.add(key)


def _shown(value: Any) -> str:
    return f"`{value}`" if isinstance(value, Named) else f"an object (`{type(value).__name__}`)"
