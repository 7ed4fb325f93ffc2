"""What the probes share: who is who, which step it is, which gear, and a way to put things back."""

from __future__ import annotations

import dis
import functools
import os
import sys
import time
import types
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import get_ident
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch.utils._python_dispatch import _disable_current_modes

from premortem.events import Event, NonFinite, Site
from premortem.files.libraries import is_library
from premortem.points import Subscriptions, lifting
from premortem.points.point import Point
from premortem.probes.frame_variables import variables
from premortem.probes.plain_gradients import PlainGradients, PlainWeights
from premortem.probes.sampling import stride_over
from premortem.tensors.sharding import local

if TYPE_CHECKING:
    from premortem.probes.rest import Rest
    from premortem.probes.sample_numbers import Batch

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_DEMO = os.path.join(_OURS, "demo", "")  # scripts that stand for a user's
_TORCH = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep


_PLAIN = (torch.Tensor, torch.nn.Parameter)
COMPILER, COMPILING = vars(torch.compiler), "_is_compiling_flag"  # what `torch.compiler.is_compiling` reads
# Steps in cruise between two looks at a GPU's numbers, when each step is asked whether its gradients are finite.
SPARSELY = 4
_MOST_LOOKS = 32  # a script in which everything is new all the time must not be audited all the time
# What audits may cost once the first steps are over: a share of the time, and so much in each step where steps are short.
_AUDIT_SHARE, _AUDIT_IN_A_STEP, _AUDIT_AT_FIRST = 0.003, 6e-6, 0.15


class Keys:
    """Small integers for objects of the run; the same object always gets the same one."""

    def __init__(self) -> None:
        self._keys: dict[int, tuple[weakref.ref[Any], int]] = {}
        self._objects: dict[int, weakref.ref[Any]] = {}
        self._next = 1

    def of(self, thing: Any) -> int:
        known = self._keys.get(id(thing))
        if known is not None and known[0]() is thing:
            return known[1]
        key, self._next = self._next, self._next + 1
        reference = weakref.ref(thing)
        self._keys[id(thing)] = (reference, key)
        self._objects[key] = reference
        return key

    def also(self, thing: Any, same: Any) -> None:
        """`thing` stands in for `same` now and then: one key for both."""
        self._keys[id(thing)] = (weakref.ref(thing), self.of(same))

    def known(self, thing: Any) -> int | None:
        known = self._keys.get(id(thing))
        return known[1] if known is not None and known[0]() is thing else None

    def object(self, key: int) -> Any:
        reference = self._objects.get(key)
        return reference() if reference is not None else None


@functools.lru_cache(maxsize=1 << 16)
def code_kind(filename: str) -> int:
    """0: the user's own, 1: a library's, 2: torch or premortem or no file at all."""
    path = os.path.abspath(filename)
    if filename.startswith("<frozen") or (path.startswith((_OURS, _TORCH)) and not path.startswith(_DEMO)):
        return 2
    # A project that is itself installed, or lies below the library folders, still has user code;
    # it is taken when nothing better is on the stack.
    return 1 if is_library(path) else 0


def is_user_code(filename: str) -> bool:
    return code_kind(filename) == 0


def user_site(beyond: Any = None) -> Site | None:
    """The innermost line of the user's own code on the stack; with `beyond`, outside of that object's methods."""
    frame: types.FrameType | None = sys._getframe(1)
    second: Site | None = None
    while frame is not None:
        code = frame.f_code
        kind = code_kind(code.co_filename)
        if kind == 0 and (beyond is None or variables(frame).get("self") is not beyond):
            return Site(code.co_filename, frame.f_lineno, code.co_name)
        if kind == 1 and second is None:
            second = Site(code.co_filename, frame.f_lineno, code.co_name)
        frame = frame.f_back
    return second


_DISCARDS: dict[tuple[types.CodeType, int], bool] = {}


def result_discarded() -> bool:
    """Whether the user's statement that is being executed throws its value away: `model(x)` on a line alone."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and code_kind(frame.f_code.co_filename) != 0:
        frame = frame.f_back
    if frame is None:
        return False
    place = (frame.f_code, frame.f_lasti)
    known = _DISCARDS.get(place)
    if known is None:
        after = (i.opname for i in dis.get_instructions(frame.f_code) if i.offset > frame.f_lasti)
        known = _DISCARDS[place] = next((name for name in after if name != "CACHE"), "") == "POP_TOP"
    return known


def user_name(thing: Any) -> str | None:
    """What the user's code calls `thing`: a variable, or `self.attribute`, of a frame on the stack."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if code_kind(frame.f_code.co_filename) == 0:
            names = variables(frame)
            for name, value in names.items():
                if value is thing and name != "self":
                    return name
            owner = names.get("self")
            for name, value in getattr(owner, "__dict__", {}).items():
                if value is thing:
                    return f"self.{name}"
            for name, value in frame.f_globals.items():
                if value is thing:
                    return name
        frame = frame.f_back
    return None


class Pausing(Protocol):
    """What sees every operation of the user's code must not see ours."""

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def certificate(self, of: torch.Tensor | None = None) -> NonFinite | None: ...


class Look:
    """A moment in which premortem itself uses torch: without gradients, unseen by itself, never fatal.

    A class of its own because it is entered a dozen times in a step, where a generator would be felt."""

    __slots__ = ("_functions", "_grad", "_locally", "_modes", "_scope", "_session", "_since", "_unit")

    def __init__(self, session: Session, unit: str, pieces: bool) -> None:
        self._session = session
        self._unit = unit
        self._locally = session.locally if pieces else None

    def __enter__(self) -> None:
        nested, self._session.looking = self._session.looking, True
        resting = self._session.resting
        self._since = 0.0 if resting or not self._session.auditing else time.perf_counter()
        if self._locally is not None:
            self._locally.__enter__()
        self._scope = self._session.scope
        if self._scope is not None:
            self._scope.pause()
        # A tensor of a class of the user's own, or a mode of theirs, does not hear of our operations.
        self._functions = torch._C.DisableTorchFunction()
        self._functions.__enter__()
        self._session.modes = torch._C._len_torch_dispatch_stack()
        alone = self._session.modes and self._locally is None
        self._modes = _disable_current_modes() if alone else None
        if self._modes is not None:
            self._modes.__enter__()
        self._grad = torch.is_grad_enabled()
        if not nested:
            self._session.grad = self._grad
        torch._C._set_grad_enabled(False)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: types.TracebackType | None
    ) -> bool:
        torch._C._set_grad_enabled(self._grad)
        if self._modes is not None:
            self._modes.__exit__(None, None, None)
        self._functions.__exit__(None, None, None)
        if self._scope is not None:
            self._scope.resume()
        if self._locally is not None:
            self._locally.__exit__(kind, error, trace)
        self._session.looking = False
        if self._since:
            self._session.audited += time.perf_counter() - self._since
        if isinstance(error, Exception):
            self._session.fault(self._unit, error)
            return True
        return False


class LookElsewhere:
    """The same in a thread that does not train: what is on in the training thread (its modes, `looking`) stays as it is."""

    __slots__ = ("_functions", "_grad", "_session", "_unit")

    def __init__(self, session: Session, unit: str) -> None:
        self._session = session
        self._unit = unit

    def __enter__(self) -> None:
        self._functions = torch._C.DisableTorchFunction()
        self._functions.__enter__()
        self._grad = torch.is_grad_enabled()
        torch._C._set_grad_enabled(False)

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        torch._C._set_grad_enabled(self._grad)
        self._functions.__exit__(None, None, None)
        if isinstance(error, Exception):
            self._session.fault(self._unit, error)
            return True
        return False


_SESSIONS: weakref.WeakSet[Any] = weakref.WeakSet()


def _forked() -> None:
    """A child (a loader's worker) is not the run: its copies of the probes stay silent."""
    for session in _SESSIONS:
        session.on = False


os.register_at_fork(after_in_child=_forked)


class Session:
    """The run as the probes see it. Holds facts only; each probe knows its own part of torch."""

    def __init__(self, emit: Callable[[Event], None], fault: Callable[[str, BaseException], None]) -> None:
        self._emit = emit
        self._fault = fault
        self._faults: dict[str, int] = {}
        self.points = Subscriptions(self.listening)
        self.passing: list[Subscriptions] = []  # of a probe's own, silent in rested steps as well
        lifting.follow(self.points, self.apart)
        self.step = 0  # finished optimizer steps
        self.on = True
        self.rest: Rest  # the third gear; set by the attachment
        # The batches that were drawn for a step, the first and the last of them; counted from 1 in their epoch.
        self.drawn: Callable[[int], tuple[int, int] | None] = lambda _step: None
        self.scaled = False  # a scaler that has found the gradients finite is making this step
        self.left_out: Callable[[Any], int] = lambda _loader: 0  # samples that a loader is not given
        self.batch: Batch | None = (
            None  # the one that is being made, or was handed out last (probes/sample_numbers.py)
        )
        self.resting = False  # this step is like those before it: counted, and not reported (probes/rest.py)
        # premortem itself is using torch right now, or must not look (probes/capturing.py)
        self.grad = True  # gradients were on where the last look began: in the script
        self.looking = False
        self.compiling_used = False  # the script uses torch.compile: op-level audits stay out of its way
        self.passes = 0  # backward passes, and calls of `autograd.grad`
        self.in_backward = False  # autograd is running: what is computed now are gradients
        self.scope: Pausing | None = None  # a dispatch mode of ours that is on
        self.plain_gradients, self.plain_weights = PlainGradients(), PlainWeights()  # that it follows
        self.locally: AbstractContextManager[Any] | None = (
            None  # keeps our own looks away from collectives (probes/shards.py)
        )
        self.modes = 0  # dispatch modes of the user's that are on, around our own look
        self.alarm_until = 0  # audit up to this step, because something looked wrong
        self._looks = 0
        self.audited = 0.0  # seconds that audits have taken
        self._began = time.perf_counter()
        self._due = True  # an audit at this step, by the calendar
        self.next_call: dict[
            int, Callable[[bool], None]
        ] = {}  # module key -> to be called with its mode after its next call
        self.loaded: set[int] = set()  # keys of parameters that came from a state dict
        # ... those whose numbers came from a file, and their version since
        self.noise: set[int] = set()  # numbers that torch drew before the first step, by sampled ones
        self.from_file: dict[int, int] = {}
        self.parameters = Keys()
        self.modules = Keys()
        self.optimizers = Keys()
        self.schedulers = Keys()
        self.loaders = Keys()
        self.serial = 0  # order in which modules and optimizers came into being
        self.thread = get_ident()
        _SESSIONS.add(self)

    # -- gears ----------------------------------------------------------------------------

    @property
    def auditing(self) -> bool:
        """Audit gear: the first steps, then ever more rarely as far as it can be afforded, and after an alarm."""
        return self._due or self.step < 8 or self.step < self.alarm_until

    def advance(self) -> bool:
        """One more step is over. Whether the next one is audited."""
        self.step = step = self.step + 1
        self._due = (step & (step - 1) == 0 or step % 500 == 0) and (step <= 64 or self._affordable())
        return self._due or step < 8 or step < self.alarm_until

    def _affordable(self) -> bool:
        spent, elapsed = self.audited, time.perf_counter() - self._began
        return spent < _AUDIT_AT_FIRST + _AUDIT_SHARE * elapsed + _AUDIT_IN_A_STEP * self.step

    def look_closer(self, steps: int = 4) -> None:
        """Something is new (a model, an optimizer, which parameters get gradients): audit what follows."""
        if self._looks < _MOST_LOOKS:
            self._looks += self.step >= 8
            self.alarm_until = max(self.alarm_until, self.step + steps)

    def listening(self) -> bool:
        """Whether a call is the run's own: not in a forked child, another thread, our own calls, or what a compiler or
        a capture records. The guard of every layer of ours."""
        return self.on and not self.looking and get_ident() == self.thread and not COMPILER.get(COMPILING)

    # -- saying things --------------------------------------------------------------------

    def emit(self, event: Event) -> None:
        self.rest.hears(event)
        self._emit(event)

    def tick(self) -> int:
        self.serial += 1
        return self.serial

    @contextmanager
    def apart(self) -> Iterator[None]:
        """The user's code runs, and nothing of it is looked at."""
        scope, before = self.scope, self.looking
        self.looking = True
        if scope is not None:
            scope.pause()
        try:
            yield
        finally:
            if scope is not None:
                scope.resume()
            self.looking = before

    def looking_at(self, unit: str, *, pieces: bool = True) -> Look | LookElsewhere:
        """Around everything a probe does: a bug of ours is written down, never raised. Without `pieces` it must use no
        tensor that may be in pieces, or what is here of it only (`sharding.local`): the mode that sees to it is spared."""
        if get_ident() != self.thread:
            return LookElsewhere(self, unit)
        return Look(self, unit, pieces)

    def fault(self, unit: str, error: BaseException) -> None:
        self._faults[unit] = self._faults.get(unit, 0) + 1
        if self._faults[unit] <= 3:  # one bug on every step must not fill the journal
            self._fault(unit, error)

    # -- narrow wrappers ------------------------------------------------------------------

    def patch(self, owner: Any, name: str, make: Callable[[Any], Any]) -> Point:
        """A layer that hears every call, in whichever thread, and our own as well."""
        return self.points.add(owner, name, make)

    def layer(
        self,
        owner: Any,
        name: str,
        make: Callable[[Any], Any],
        quiet: Callable[[Any], Any] | bool | None = True,
        *,
        asks: bool = False,
    ) -> Point:
        """A layer that hears the run's own calls. In a rested step it is there as ever, unless `quiet` says what is there
        then: None, nothing. That one may ask itself (`asks`) whether it is the run's own call."""
        return self.points.add(owner, name, make, quiet=quiet, guarded=True, asks=asks)

    def around(
        self,
        owner: Any,
        name: str,
        *,
        before: Callable[..., Any] | None = None,
        after: Callable[..., None] | None = None,
        quiet: Callable[..., None] | bool | None = True,
        pieces: bool = True,
    ) -> None:
        """Around a function: `before(*args, **kwargs)` gives a note, `after(note, result, *args, **kwargs)`.

        Neither can change arguments, result or exception. In a rested step `quiet(*args, **kwargs)`, which must not raise,
        stands for both; None: nothing does. For `pieces` see `looking_at`."""
        unit = f"{getattr(owner, '__name__', owner)}.{name}"

        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def wrapper(*args: Any, **kwargs: Any) -> Any:
                note = None
                if before is not None:
                    with self.looking_at(unit, pieces=pieces):
                        note = before(*args, **kwargs)
                result = original(*args, **kwargs)
                if after is not None:
                    with self.looking_at(unit, pieces=pieces):
                        after(note, result, *args, **kwargs)
                return result

            return wrapper

        def counted(original: Callable[..., Any]) -> Callable[..., Any]:
            def wrapper(*args: Any, **kwargs: Any) -> Any:
                # As `listening`, in which one more call would be felt.
                if not self.looking and self.on and get_ident() == self.thread:
                    quiet(*args, **kwargs)  # type: ignore[operator, misc]
                return original(*args, **kwargs)

            return wrapper

        self.layer(owner, name, make, quiet=counted if callable(quiet) else quiet, asks=callable(quiet))

    def silence(self, silent: bool) -> None:
        """All layers are on the short paths of a rested step, or no longer."""
        self.points.silence(silent)
        for each in self.passing:
            each.silence(silent)

    def restore(self) -> None:
        self.points.end()


def tensors_in(thing: Any, limit: int = 8) -> list[torch.Tensor]:
    """The tensors in nested arguments, first ones first."""
    found: list[torch.Tensor] = []
    queue = [thing]
    while queue and len(found) < limit:
        item = queue.pop(0)
        if isinstance(item, torch.Tensor):
            if not item.is_nested:  # has no shape that others could ask for
                found.append(item)
        elif isinstance(item, (list, tuple)):
            queue[:0] = item[:limit]
        elif isinstance(item, dict):
            queue[:0] = list(item.values())[:limit]
    return found


def tensors_given(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[torch.Tensor]:
    """As `tensors_in((args, kwargs))`, quick where a function is called with one plain tensor."""
    if len(args) == 1 and not kwargs and type(args[0]) is torch.Tensor and not args[0].is_nested:
        return [args[0]]
    return tensors_in((args, kwargs))


def version(tensor: torch.Tensor) -> int:
    """Goes up with every write. Tensors made in inference mode have none."""
    return -1 if tensor.is_inference() else tensor._version


def sampled(tensor: torch.Tensor, most: int = 16) -> list[float]:
    """Up to `most` values, evenly spread. Reads memory: only for tensors on the CPU."""
    here = local(tensor)
    size = here.numel()
    stride = stride_over(size, most) if size > most else 1
    if type(here) in _PLAIN and here.is_contiguous() and size:
        # One operation for all: where the run holds pieces each of them goes through a mode of ours.
        few = here.as_strided((min(most, -(-size // stride)),), (stride,), here.storage_offset())
    else:
        few = here.detach().reshape(-1)[::stride][:most]
    values: list[float] = few.tolist()
    return values


def fingerprint(tensors: list[torch.Tensor]) -> int | None:
    """A hash of sampled values, None when they are not on the CPU (a look would wait for the device)."""
    parts: list[Any] = []
    telling = False
    for tensor in tensors:
        if tensor.device.type != "cpu" or tensor.layout != torch.strided or tensor.is_complex():
            return None
        values = tuple(sampled(tensor))
        telling = telling or any(value != values[0] for value in values)
        parts.append(tuple(tensor.shape))
        parts.append(values)
    # All zeros is no content: such batches are equal without being the same.
    return hash(tuple(parts)) if telling else None
