"""Where an operation comes from: the user's line, the module it runs in, and who holds which tensor."""

import sys
import types
import weakref
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.optim.optimizer import Optimizer

from premortem.events import Site
from premortem.probes.frame_variables import variables
from premortem.probes.session import code_kind, user_name
from premortem.tensors.memory import storage

CALL = nn.Module._call_impl.__code__
_ENGINE = "_engine_run_backward"


class Place(NamedTuple):
    site: Site | None
    module: nn.Module | None = None  # the innermost one whose forward is running
    root: nn.Module | None = None  # the outermost one
    inside_engine: bool = False  # the line was called by autograd: a custom backward, a hook, a recomputation


def here() -> Place:
    """The place of the operation that is being executed."""
    frame: types.FrameType | None = sys._getframe(1)
    site = second = None
    module = root = None
    running = within = False
    while frame is not None:
        code = frame.f_code
        if code is CALL:
            root = variables(frame).get("self")
            if module is None:
                module = root
        elif site is None:
            kind = code_kind(code.co_filename)
            if kind == 0:
                site, within = Site(code.co_filename, frame.f_lineno, code.co_name), not running
            elif kind == 1 and second is None:
                second = Site(code.co_filename, frame.f_lineno, code.co_name)
            elif code.co_name == _ENGINE:
                running = True
        elif code.co_name == _ENGINE and not running:
            return Place(site, module, root, inside_engine=True)
        frame = frame.f_back
    return Place(site or second, module, root, inside_engine=within and running)


def stepping() -> Optimizer | None:
    """The optimizer whose `step` is being executed."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "step" and isinstance(owner := variables(frame).get("self"), Optimizer):
            return owner
        frame = frame.f_back
    return None


def torch_function() -> str:
    """The Python function of torch's that a line of the user's has called, "" when the line called an operation itself."""
    frame: types.FrameType | None = sys._getframe(1)
    name = ""
    while frame is not None and code_kind(frame.f_code.co_filename) == 2:
        of_torch = str(frame.f_globals.get("__name__")).startswith("torch.")
        name = frame.f_code.co_name if of_torch and not frame.f_code.co_name.startswith("_") else name
        frame = frame.f_back
    return name


def variable_holding(tensor: torch.Tensor) -> str:
    """The user's variable that holds this memory, "" when none does."""
    mine = storage(tensor)
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if code_kind(frame.f_code.co_filename) == 0:
            for name, value in variables(frame).items():
                if type(value) is torch.Tensor and value.layout == torch.strided and storage(value) == mine:
                    return name
        frame = frame.f_back
    return ""


class Item(NamedTuple):
    """A sample that its dataset is making."""

    owner: Any
    number: int

    @property
    def name(self) -> str:
        return f"{type(self.owner).__name__}[{self.number}]"


def item_of() -> Item | None:
    """`Readings[77]` while the dataset's `__getitem__` runs, else None."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if code.co_name == "__getitem__" and code.co_argcount == 2 and code_kind(code.co_filename) == 0:
            owner, index = map(variables(frame).get, code.co_varnames[:2])
            if isinstance(index, int):
                return Item(owner, index)
        frame = frame.f_back
    return None


class Directory:
    """What the modules and parameters that were seen are called."""

    def __init__(self) -> None:
        self._roots: dict[int, tuple[weakref.ref[nn.Module], str]] = {}

    def meet(self, root: nn.Module | None) -> None:
        if root is not None and not self._knows(root):
            self._roots[id(root)] = (weakref.ref(root), user_name(root) or type(root).__name__)

    def path(self, place: Place) -> str:
        if place.root is None or place.module is None:
            return ""
        self.meet(place.root)
        name = self._roots[id(place.root)][1]
        if place.module is place.root:
            return name
        inner = next((path for path, part in place.root.named_modules() if part is place.module), "")
        return f"{name}.{inner}" if inner else type(place.module).__name__

    def holder(self, tensor: torch.Tensor) -> str:
        """The parameter or buffer that this memory belongs to, or the gradient that an earlier backward pass left to
        it; "" when it is none."""
        mine = storage(tensor)
        for reference, name in self._roots.values():
            root = reference()
            for own, value in [*root.named_parameters(), *root.named_buffers()] if root is not None else ():
                held = [value] if value.grad is None else [value, value.grad]
                if any(one.layout == torch.strided and storage(one) == mine for one in held):
                    return f"{name}.{own}"
        return ""

    def _knows(self, root: nn.Module) -> bool:
        known = self._roots.get(id(root))
        return known is not None and known[0]() is root


def owner_of(tensors: list[torch.Tensor], optimizer: Optimizer) -> torch.Tensor | None:
    """The first parameter of the optimizer that one of these tensors is, or is the state of."""
    wanted = {storage(tensor) for tensor in tensors}
    parameters: list[torch.Tensor] = [p for group in optimizer.param_groups for p in group["params"]]
    for parameter in parameters:
        own: list[Any] = [parameter, *optimizer.state.get(parameter, {}).values()]
        held = [t for t in own if isinstance(t, torch.Tensor) and t.layout == torch.strided]
        if any(storage(t) in wanted for t in held):
            return parameter
    return None
