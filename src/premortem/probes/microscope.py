"""The microscope: every operation of a step, forward, backward and update, until one makes NaN or infinity.

    with Microscope() as scope:
        loss = model(x).log().mean()
        loss.backward()
    scope.certificate()  # NonFinite(op="log", at=train.py:41, rows=(17,), ...), or None

The origin is the first operation whose result is not finite although its operands are. Not every such result is a
fault: masks are meant to be -inf, and what a mask hides does no harm. So each one is only a candidate; which results
descend from which candidate is followed through all later operations (by memory, so views and in-place writes are
covered), and the certificate names the earliest candidate that arrives at the loss, at a gradient, or in a weight.

A look reads every result, so on a GPU it waits for the device at each operation: nothing for cruise.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.optim.optimizer import Optimizer
from torch.utils import _python_dispatch
from torch.utils._python_dispatch import TorchDispatchMode

from premortem.events import NonFinite, NonFiniteComputed
from premortem.points import Subscriptions, unseen
from premortem.probes import operation_words
from premortem.probes.birth_certificates import BirthCertificates
from premortem.probes.graph import walk
from premortem.probes.lineage import Lineage
from premortem.probes.numbers import on_host
from premortem.probes.operations import Executed, Kind, State, kind_of, readable, state
from premortem.probes.places import Directory, Place, here, owner_of, stepping
from premortem.probes.plain_gradients import PlainGradients, PlainWeights
from premortem.probes.session import Session, tensors_in

# Where -inf is meant: a mask is added to scores, filled in, or chosen.
_MASKING = frozenset({"add", "masked_fill", "where", "softmax", "log_softmax", "index_put", "copy"})
# One number is taken out; the second for tensors of inference mode.
_ITEM = (torch.ops.aten._local_scalar_dense.default, torch.ops.aten.item.default)


class Microscope(TorchDispatchMode):
    """Look at every operation while the block is open. Never changes a result, never raises into the run."""

    supports_higher_order_operators = True  # they are passed on; without this torch refuses them under a mode

    def __init__(
        self,
        session: Session | None = None,
        samples: Callable[[], int | None] = lambda: None,  # the size of the batch, when it is known
        directory: Directory | None = None,  # names that are known already
        outside: Callable[[torch.Tensor], NonFinite | None] = lambda _tensor: (
            None
        ),  # how it was made before torch
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._session = session
        self._grad = True  # gradients are enabled in the user's code right now
        self._paused = False
        self._busy = False  # we are using torch ourselves
        self._cover = Subscriptions()
        self.faults: list[BaseException] = []  # bugs of ours
        self.blind = False  # closed: by a bug of ours, or because it is not needed any more
        self.directory = directory or Directory()
        self._outside = outside
        self._registrar = BirthCertificates(
            self.directory, samples, lambda: session.batch if session is not None else None
        )
        self.forget()

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else the first operation imports the compiler

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        return True  # compiled code stays compiled

    def forget(self) -> None:
        """A new step: what was seen so far says nothing about it."""
        self._lineage = Lineage()
        if self._session is not None:
            self._session.plain_gradients = PlainGradients()
            self._session.plain_weights = PlainWeights()
        self._places: dict[int, Place] = {}  # number of an autograd node -> where it was made
        self._leaves: list[torch.Tensor] = []  # that the backward pass is about to give gradients
        self._found: NonFinite | None = None
        self.vanished: NonFinite | None = None  # the first that made nothing but 0 of other numbers
        self.decay_lost: tuple[NonFinite, float, float] | None = (
            None  # with the factor, and the share of the numbers
        )
        self._hidden: tuple[NonFinite, str] | None = None  # on the way to a loss that arrived finite

    def step_passed(self) -> None:
        """Of a look at a whole run: the step is over, but what it made non-finite may live on."""
        self._lineage.prune()
        self._places.clear()
        self._leaves, self._found = [], None

    def living(self) -> dict[int, tuple[StorageWeakRef, NonFinite]]:
        """What it has seen come into being, in memory that is still in use."""
        return self._lineage.living()

    def lost(self, gradients: list[torch.Tensor]) -> tuple[NonFinite, str] | None:
        """Of a step in which everything arrived finite, these gradients too: numbers that grew too large, and became 0 in
        a division; or that the script replaced. What was divided or replaced teaches nothing, and nothing shows it."""
        if self._found is not None:
            return None
        divided = self._lineage.lost()
        return (divided, "div") if divided is not None else self._hidden or self._lineage.hidden(gradients)

    def certificate(self, of: torch.Tensor | None = None) -> NonFinite | None:
        """How the first non-finite loss, gradient or update came into being; or this very tensor."""
        found = None
        if of is not None:
            with self._look():
                found = self._lineage.origin([of])
        elif self._leaves:  # of the backward pass that is ending
            with self._look():
                self._arrived([leaf.grad for leaf in self._leaves if leaf.grad is not None])
        return found or self._found

    def first_made(self) -> NonFinite | None:
        """The first NaN that an operation made of finite numbers, whether or not it has arrived anywhere."""
        made = (each.event for each in self._lineage.candidates if each.computed and each.event.made == "nan")
        return next(made, None)

    # -- coming and going -----------------------------------------------------------------

    def __enter__(self) -> Microscope:  # noqa: PYI034 - `Self` is not in Python 3.10
        self._cover.add(torch.autograd, "backward", self._around_backward)
        super().__enter__()  # type: ignore[no-untyped-call]
        if self._session is not None:
            self._session.scope = self
        return self

    def __exit__(self, *error: object) -> None:
        self._cover.end()
        if self._session is not None:
            self._session.scope = None
        super().__exit__(*error)  # type: ignore[no-untyped-call]

    @property
    def on_top(self) -> bool:
        """No mode of the user's was entered since, so this one can be left."""
        height = torch._C._len_torch_dispatch_stack()
        return height > 0 and torch._C._get_dispatch_stack_at(height - 1) is self

    def pause(self) -> None:
        if self.on_top:
            _python_dispatch._pop_mode()
            self._paused = True

    def resume(self) -> None:
        if self._paused:
            _python_dispatch._push_mode(self)
            self._paused = False

    def _around_backward(self, original: Any) -> Any:
        def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            if not self._looking():
                return original(tensors, *args, **kwargs)
            with self._look():
                roots = tensors_in(tensors)
                self._arrived(roots)
                self._hidden = self._hidden or self._lineage.hidden(roots)
                self._leaves = [leaf for root in roots[:4] for leaf in walk(root).leaves]
            result = original(tensors, *args, **kwargs)
            self.certificate()
            self._leaves = []
            return result

        return backward

    def _looking(self) -> bool:
        session = self._session
        return not (self.blind or self._busy) and (session is None or (session.on and not session.looking))

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """Torch may be used in this block by whoever looks along with us, also where we look already."""
        with contextlib.nullcontext() if self._busy else self._look():
            yield

    @contextlib.contextmanager
    def _look(self) -> Iterator[None]:
        """We use torch ourselves now: without gradients, unseen by other probes; a bug of ours ends the look."""
        session = self._session
        looked = session is not None and session.looking  # another probe asks us
        paused = self._paused
        self._grad = grad = torch.is_grad_enabled()
        torch._C._set_grad_enabled(False)
        self._busy = True
        self.pause()
        unheard = torch._C.DisableTorchFunction()
        unheard.__enter__()
        others = torch._C._len_torch_dispatch_stack()
        modes = _python_dispatch._disable_current_modes() if others else contextlib.nullcontext()
        modes.__enter__()
        if session is not None:
            session.looking = True
        try:
            yield
        except Exception as error:  # noqa: BLE001 - never into the run
            self.blind = True
            self.faults.append(error)
            if session is not None:
                session.fault("microscope", error)
        finally:
            self._busy = False
            modes.__exit__(None, None, None)
            unheard.__exit__(None, None, None)
            if not paused:
                self.resume()
            torch._C._set_grad_enabled(grad)
            if session is not None:
                session.looking = looked

    # -- one operation --------------------------------------------------------------------

    @unseen
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in _ITEM or not self._looking() or not isinstance(func, torch._ops.OpOverload):
            # A number that was wrapped in a tensor arrives unwrapped: it is its own value.
            if func in _ITEM and not isinstance(args[0], torch.Tensor):
                return args[0]
            if func in _ITEM and self._looking() and not args[0].requires_grad:
                with self._look():
                    self._taken(args[0])
            return func(*args, **kwargs)
        before: list[State] = []
        inherited: set[int] = set()
        with self._look():
            self._locate()
            kind = kind_of(func)
            given = dict(zip(kind.arguments, args, strict=False)) | kwargs
            if kind.collective:
                inherited = self._sent(kind, given)
            elif kind.written and not kind.overwrites:
                before = [
                    state(name, value, show=True)
                    for name in kind.written
                    for value in readable(given.get(name))
                ]
        result = func(*args, **kwargs)
        with self._look():
            kind = kind_of(func)
            if kind.collective:
                for tensor in readable(result) if inherited else ():
                    self._lineage.passed_on(inherited, tensor)
            elif kind.reads:
                self._read(result)
            elif not kind.view:
                self._executed(kind, dict(zip(kind.arguments, args, strict=False)) | kwargs, result, before)
        return result

    def _read(self, result: Any) -> None:
        """A tensor was made of an array, a list or a file: what is not finite in it came in at this line. Single numbers and
        -inf are left to whoever uses them: those are bounds and masks."""
        for tensor in readable(result):
            if (
                tensor.dim()
                and not operation_words.finite(tensor)
                and operation_words.worst(tensor) != "-inf"
            ):
                self._descent(state("", tensor), None)

    def _taken(self, number: torch.Tensor) -> None:
        """The script takes it out of torch: to print it, to compare it, or to compute on."""
        found = self._lineage.origin([number]) if self._session is not None else None
        if found is not None and self._session is not None:
            self._session.emit(NonFiniteComputed(step=self._session.step, at=found.at, origin=found))

    def _sent(self, kind: Kind, given: dict[str, Any]) -> set[int]:
        """To other ranks. What comes back may be theirs; if this rank has sent what is not finite, it answers for it.
        What is sent in a backward pass is a gradient, whether or not this rank gets that part of it back."""
        own = {name: list(readable(value)) for name, value in given.items()}
        received = "recv" in kind.op
        sent = [
            state(name, t)
            for name, held in own.items()
            for t in held
            if not received and "output" not in name
        ]
        broken = [each for each in sent if not each.finite]
        inherited = {number for each in broken for number in self._descent(each, kind)}
        if inherited and self._session is not None and self._session.in_backward:
            self._arrived([each.tensor for each in broken])
        for tensor in (tensor for held in own.values() for tensor in held) if inherited else ():
            self._lineage.passed_on(inherited, tensor)
        return inherited

    def _locate(self) -> None:
        """Autograd's node for this operation was numbered just now: the first to see the number is its own."""
        number = torch._C._autograd._get_sequence_nr()
        if number not in self._places and self._grad:
            place = self._places[number] = here()
            self.directory.meet(place.root)

    def _executed(self, kind: Kind, given: dict[str, Any], result: Any, before: list[State]) -> None:
        written = [value for name in kind.written for value in readable(given.get(name))]
        made = list(readable(result))[: 1 if kind.attention else None]
        known = {id(tensor) for tensor in made}
        made += [tensor for tensor in written if id(tensor) not in known]
        if kind.empty:
            for tensor in made:
                self._lineage.allocated(tensor)
            return
        broken = [tensor for tensor in made if not operation_words.finite(tensor)]
        if broken:
            others = [
                state(name, value)
                for name, thing in given.items()
                if name not in kind.written
                for value in readable(thing)
            ]
            self._broke(Executed(kind, given, broken, before + others, result))
            return
        if self.vanished is None and kind.op in operation_words.SHRINKING and not written:
            self._vanish(kind, given, made, result)
        if self.decay_lost is None and not self._grad and kind.op in operation_words.AVERAGING:
            self._average(kind, given, made, result)
        operands = list(readable(list(given.values())))
        if self._session is not None and self._grad and torch._C._current_autograd_node() is None:
            self._session.plain_gradients.followed(kind.op, operands, made)
            self._session.plain_weights.followed(kind.op, operands, made)
        if self._lineage:
            for tensor in written:
                self._lineage.ended(tensor)
            self._lineage.followed(kind.op, operands, made)
            if torch._C._current_autograd_node() is None:  # torch's own derivatives know what they replace
                self._lineage.masked(kind.op, masks_too(given), [*made, *masks_in(result)])

    def _broke(self, done: Executed) -> None:
        lineage, optimizer = self._lineage, self._stepping()
        inherited: set[int] = set()
        for operand in done.operands:
            if not operand.finite:
                inherited |= self._descent(operand, done.kind)
        numbers = [v for v in done.given.values() if isinstance(v, float) and not math.isfinite(v)]
        if numbers:
            event = self._registrar.constant(done.kind.op, numbers[0])
            inherited.add(lineage.register(event, constant=True))
        # Infinities that are meant may still meet in a way that is not: a NaN is new then.
        nan = any(operand.nan for operand in done.operands) or any(math.isnan(n) for n in numbers)
        fresh = not nan and any(operation_words.worst(tensor) == "nan" for tensor in done.broken)
        if not inherited and torch._C._current_autograd_node() is None:
            inherited = lineage.behind(operand.tensor for operand in done.operands)
        if not inherited or (fresh and lineage.constants(inherited)):
            event = self._registrar.birth(
                done, made_at=self._made_at, grad=self._grad, stepping=optimizer is not None
            )
            trained = any(operand.tensor.requires_grad for operand in done.operands)
            inherited = {lineage.register(event, trained=trained)}
        for tensor in done.broken:
            lineage.passed_on(inherited, tensor)
        if optimizer is not None and done.kind.written and self._found is None:
            self._updated(done, optimizer, inherited)

    def _vanish(self, kind: Kind, given: dict[str, Any], made: list[torch.Tensor], result: Any) -> None:
        """Of what is trained, or of a gradient."""
        if not made or bool(on_host(made[0].detach()).any()):
            return
        operands = [state(name, value) for name, thing in given.items() for value in readable(thing)]
        behind = torch._C._current_autograd_node() is not None
        trained = behind or any(operand.tensor.requires_grad for operand in operands)
        if trained and operation_words.underflowed(kind.op, given):
            done = Executed(kind, given, made[:1], operands, result)
            self.vanished = self._registrar.underflow(done, self._made_at)

    def _average(self, kind: Kind, given: dict[str, Any], made: list[torch.Tensor], result: Any) -> None:
        """Of numbers that are kept, by the script itself: what an optimizer rounds away is known elsewhere."""
        kept = kind.written or type(next(iter(given.values()), None)) is torch.nn.Parameter
        factor = operation_words.decay(kind.op, given)
        if not kept or factor is None or not made or self._stepping() is not None:
            return
        share = operation_words.unchanged(made[0], factor)
        if share is not None:
            operands = [state(name, value) for name, thing in given.items() for value in readable(thing)]
            done = Executed(kind, given, made[:1], operands, result)
            self.decay_lost = (self._registrar.decay(done, factor), factor, share)

    def _descent(self, operand: State, kind: Kind | None) -> frozenset[int]:
        known = self._lineage.of(operand.tensor)
        if known is not None:
            return known
        masking = kind is not None and (kind.op in _MASKING or not operand.tensor.dim())
        meant = masking and operation_words.worst(operand.tensor) == "-inf"
        event = self._outside(operand.tensor)
        if event is None:
            event = self._registrar.entry(operand.tensor, unfilled=self._lineage.unfilled(operand.tensor))
        entry = self._lineage.register(event, constant=meant)
        self._lineage.passed_on({entry}, operand.tensor)
        return frozenset({entry})

    def _made_at(self, node: Any) -> Place | None:
        return self._places.get(node._sequence_nr() + 1)

    def _stepping(self) -> Optimizer | None:
        return None if self._grad else stepping()  # a closure runs with gradients: it is not the update

    # -- where it does harm ---------------------------------------------------------------

    def _arrived(self, tensors: list[torch.Tensor]) -> None:
        """The loss, or gradients: what is not finite here is a fault."""
        if self._found is not None:
            return
        found = self._lineage.origin(tensors)
        if found is not None and found.stage == "backward":
            graded = (leaf for leaf in self._leaves if leaf.grad is not None)
            hit = next(
                (leaf for leaf in graded if leaf.grad is not None and not operation_words.finite(leaf.grad)),
                None,
            )
            found = replace(found, parameter=self.directory.holder(hit) if hit is not None else "")
        self._found = found

    def _updated(self, done: Executed, optimizer: Optimizer, inherited: set[int]) -> None:
        """So is what an optimizer writes to a weight, or keeps for the next step."""
        parameter, found = owner_of(done.broken, optimizer), self._lineage.chosen(inherited)
        if parameter is not None and found is not None:
            name = found.parameter or self.directory.holder(parameter)
            self._found = replace(found, parameter=name)


def masks_in(result: Any) -> list[torch.Tensor]:
    return [result] if isinstance(result, torch.Tensor) and result.dtype == torch.bool else []


def masks_too(given: dict[str, Any]) -> list[torch.Tensor]:
    """What an operation was given, masks and lists of masks included."""
    flat = [
        one for value in given.values() for one in (value if isinstance(value, (list, tuple)) else [value])
    ]
    return [one for one in flat if isinstance(one, torch.Tensor) and one.layout == torch.strided]
