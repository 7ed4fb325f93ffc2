"""Parameters in pieces (FSDP2, `DTensor`): each rank looks at its own piece and never asks for the others.

An ordinary operation on a sharded tensor can be a collective: a norm, a comparison, printing it. A rank that makes one
alone waits for ever. So whenever premortem itself uses torch, a mode stands before the tensor's own dispatch and
hands on the piece that is on this rank. There is no way from a probe to a collective.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from premortem.points import unseen
from premortem.tensors.sharding import freed, local

if TYPE_CHECKING:
    from premortem.probes.modules import Models
    from premortem.probes.session import Session

_TENSOR = "torch.distributed.tensor"
_WIDE = {float: torch.float64}
_HARMLESS = frozenset({torch.ops.aten.detach.default, torch.ops.aten.alias.default})
_FSDP = (
    "torch.distributed.fsdp._fully_shard._fsdp_param_group",
    "torch.distributed._composable.fsdp._fsdp_param_group",  # before 2.6
)


class Locally(TorchDispatchMode):
    """Every operation on a sharded tensor is made on this rank's piece."""

    supports_higher_order_operators = True

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else the first operation imports the compiler

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        return True

    @unseen
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if types and any(hasattr(each, "_local_tensor") for each in types):
            args, kwargs = unwrapped(args), unwrapped(kwargs)
        for each in args:
            if isinstance(each, torch.Tensor) and freed(each) and func not in _HARMLESS:
                raise RuntimeError(f"{func} of a tensor whose memory FSDP has given back for now")
        if args and isinstance(args[0], (int, float)) and wants_tensor(func):
            # A number that stands in for a tensor in a graph; torch hands it to a mode as a bare number.
            args = (torch.tensor(args[0], dtype=_WIDE.get(type(args[0]))), *args[1:])
        return func(*args, **kwargs)


def wants_tensor(func: Any) -> bool:
    return str(func._schema.arguments[0].type) == "Tensor"


def unwrapped(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return local(value)
    if isinstance(value, (list, tuple)):
        return type(value)([unwrapped(each) for each in value])
    if isinstance(value, dict):
        return {key: unwrapped(each) for key, each in value.items()}
    return value


def as_they_are(session: Session) -> AbstractContextManager[Any]:
    """For a look that asks sharded tensors for names, shapes and places, and never for numbers."""
    return nullcontext() if session.locally is None else _disable_current_modes()


def anywhere(kind: type) -> bool:
    """Whether the process holds such an object. The mode costs every look at a run something, and a run under
    `DistributedDataParallel` alone, where torch has merely imported all of this, has no use for it."""
    unseen = gc.get_freeze_count() > 0  # frozen objects are not listed
    return unseen or any(issubclass(type(each), kind) for each in gc.get_objects())


class Shards:
    """Notices that the run may hold sharded tensors, and which whole parameter stands for which sharded one."""

    def __init__(self, session: Session, models: Models) -> None:
        self.session = session
        self.models = models
        self.began: list[Callable[[], None]] = []  # called when there may be pieces from now on
        self._followed = False

    def install(self) -> None:
        if not torch.distributed.is_available():
            return
        from torch.distributed.device_mesh import DeviceMesh

        if _TENSOR in sys.modules and torch.distributed.is_initialized() and anywhere(DeviceMesh):
            self._begin()  # premortem came later
        self.session.around(DeviceMesh, "__init__", before=self._begin)  # no sharded tensor without a mesh

    def _begin(self, *args: Any, **kwargs: Any) -> None:
        if self.session.locally is None:
            self.session.locally = Locally()  # type: ignore[no-untyped-call]
            self.models.before_forward.append(self._follow)
            for hears in self.began:
                hears()

    def _follow(self) -> None:
        """FSDP2 lets other objects stand in for its parameters from a layer's call to the end of its backward pass."""
        if self._followed:
            return
        for name in _FSDP:
            fsdp = getattr(sys.modules.get(name), "FSDPParamGroup", None)
            if fsdp is not None and hasattr(fsdp, "_to_unsharded"):
                self._followed = True
                self.session.patch(fsdp, "_to_unsharded", self._wrap_unshard)
                return

    def _wrap_unshard(self, original: Any) -> Any:
        keys = self.session.parameters

        def _to_unsharded(group: Any) -> None:
            original(group)
            # All of a group come at once, and stay the same objects: the first one tells whether they are known.
            first = next(iter(group.fsdp_params), None)
            if (
                first is None
                or torch.compiler.is_compiling()
                or keys.known(first._unsharded_param) is not None
            ):
                return
            for parameter in group.fsdp_params:
                keys.also(parameter._unsharded_param, parameter.sharded_param)

        return _to_unsharded
