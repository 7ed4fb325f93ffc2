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
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any, ClassVar

from premortem.errors import Refused, VaultError
from premortem.vault import dtypes
from premortem.vault.calls import KNOWN, TORCH, check_name, in_standard_library, is_data, is_function, rebuilt
from premortem.vault.stubs import Named, Opaque, Storage, TensorStub


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


class _Inert(_Reader):  # type: ignore[misc] # the base has no types
    dispatch: ClassVar[dict[int, Callable[..., None]]] = dict(_Reader.dispatch)

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file, encoding="utf-8", errors="surrogateescape")
        self.foreign: list[str] = []

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
        if in_standard_library(maker.module) and not is_data(maker):
            raise Refused(f"makes a `{maker}`; that belongs to no checkpoint, so do not load this file")
        if not is_data(maker):
            self.foreign.append(str(maker))
        return Opaque(maker, tuple(args))

    def _called(self, maker: Any, args: Any) -> Any:
        if not isinstance(maker, Named):
            raise Refused(f"calls {_told(maker)}, which it put together itself; do not load this file")
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


def _told(value: Any) -> str:
    return f"`{value}`" if isinstance(value, Named) else f"an object (`{type(value).__name__}`)"
