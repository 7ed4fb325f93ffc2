"""Modules: which ones the user calls, in which mode, on what, and (audit) what each layer does."""

from __future__ import annotations

import re
import weakref
from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import torch
from torch import nn
from torch.multiprocessing.reductions import StorageWeakRef

from premortem.events import (
    Forward,
    Hidden,
    Judged,
    LayerStats,
    Misspelt,
    ModelSeen,
    Parameter,
    Repeated,
    SaidFrozen,
    SequenceLayer,
    SlicesRestarted,
    Softmaxed,
    WeightsSeen,
)
from premortem.points import passes_on
from premortem.points.point import Point
from premortem.probes.datasets import Slices
from premortem.probes.graph import KEPT, Tag, mark_output, name_of, note
from premortem.probes.loss_meaning import softmax_dimension
from premortem.probes.numbers import Summary, dead_share, summarise, twin_share
from premortem.probes.session import (
    SPARSELY,
    Session,
    fingerprint,
    result_discarded,
    sampled,
    tensors_given,
    tensors_in,
    user_name,
    user_site,
    version,
)

_REMEMBERED = 4096  # graphs of outputs
_MOST_AUDITED = 32  # audited forwards whose inner graphs are followed
T = TypeVar("T")
_DESCRIBED_EVERY = 64  # steps, in cruise
_NOW_AND_THEN = 32  # steps: how often a model that is called in each of them is looked at
_AUTOCAST = ("cpu", "cuda", "mps", "xpu")  # where torch has it
_LARGE = 1 << 22  # elements; per-unit statistics are not taken of larger activations
# Calls with gradients between two steps: a cell that is called for each moment of a series says nothing new after these.
_MOST_LOOKED_INTO = 64
_MOST_TOLD = 256


Variant = tuple[int, bool, bool]  # id() of a module, its mode, and whether gradients are on


def variant_of(module: nn.Module) -> Variant:
    return id(module), module.training, torch.is_grad_enabled()


class Model:
    """What is remembered of a root module: one that the user's code calls."""

    def __init__(self, module: nn.Module, key: int, name: str) -> None:
        self.module = weakref.ref(module)
        self.key = key
        self.name = name
        self.glance = 0
        self.identity = 0  # changes when parameters are added or replaced
        self.described_at = -1
        self.paths: dict[int, str] = {}
        self.hidden: tuple[Hidden, ...] = ()
        self.last_input: tuple[Any, int] | None = None
        self.last_weights_step = -9
        self.weights_taken = 0
        self.evaluated = (-1, 0)  # at which step, how many forwards without gradients
        self.recurrent: list[weakref.ref[nn.Module]] = []  # recurrent layers with dropout between them
        self.trained = False  # a loss of its was sent backward, or it ran with gradients


class Models:
    """Wraps `Module.__call__`; only calls from outside any other module are looked at in cruise."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.known: dict[int, Model] = {}
        self.before_forward: list[Callable[[], None]] = []
        self.on_birth: list[Callable[[nn.Module], None]] = []
        self.on_call: list[
            Callable[[Model, bool, list[torch.Tensor]], None]
        ] = []  # a root, and what it is given
        # audit: a root has run, what it was given and what it gave
        self.on_result: list[Callable[[Model, Forward, Any, Any, Any], None]] = []
        self.on_given: list[
            Callable[[Model, bool, list[torch.Tensor]], None]
        ] = []  # the same, also in a rested step
        self.on_layer: list[Callable[[Model, nn.Module], None]] = []  # audit: a layer has run
        # What a root is called through, by its key, with its own call as the first argument (premortem.actions.smaller_batches).
        self.instead: dict[int, Callable[..., Any]] = {}
        # Memory ran out in a root: told of the error, the root's own call, and what it was given. Raises, or mends.
        self.out_of_memory: Callable[[Exception, nn.Module, Callable[..., Any], Any, Any], Any] | None = None
        self.depth = 0
        self._in_a_row = 0  # calls of roots since the last step
        self.births: dict[int, tuple[weakref.ref[nn.Module], int]] = {}
        self.noisy_train = 0  # dropout and batch-norm calls in the current forward, by the mode they ran in
        self.noisy_eval = 0
        self.forgotten = 0  # dropout calls that did not say whether they are in training
        self._statistics: list[tuple[Any, ...]] = []  # running mean and variance that were used
        self.ran: set[int] = set()  # parameter keys whose module ran with gradients since the last step
        self.ran_without_grad: set[int] = set()
        self.head: set[int] = set()  # parameter keys of the last layer that ran
        self.current: Model | None = None
        self.in_training: dict[int, None] = {}  # models that ran with gradients since the last step
        self.finite: deque[torch.Tensor] = deque(
            maxlen=8
        )  # sums of this step's inputs, still on their device
        self._layers: list[LayerStats] = []
        # (graph of a forward's output, step it was made in): which are still in memory later on?
        self._graphs: deque[tuple[weakref.ref[Tag], int]] = deque(maxlen=_REMEMBERED)
        # likewise for what the layers inside made, in audited forwards only
        self._inner_graphs: list[tuple[weakref.ref[Tag], int]] = []
        self._inner = Tag()
        # (graph, number of the forward) since the last backward: which were dropped without it?
        self._waiting: deque[tuple[weakref.ref[Tag], int]] = deque(maxlen=_REMEMBERED)
        self._number = 0
        self._made: list[tuple[StorageWeakRef, int]] = []
        self._audit = False
        self._point: Point
        self.inputs = 0  # tensors that the last root was given
        self.autocast = False  # the current model was called under autocast (audit)
        self._weightless: dict[int, weakref.ref[nn.Module]] = {}
        self._slices = Slices()

    # -- installing -----------------------------------------------------------------------

    def install(self) -> None:
        self.session.around(nn.Module, "__init__", before=self._born)
        self.session.around(nn.Module, "__setstate__", before=self._born)
        self._point = self.session.layer(nn.Module, "__call__", self._wrap_call, quiet=self._wrap_counted)
        self._watch_noise()

    def _born(self, module: nn.Module, *args: Any, **kwargs: Any) -> None:
        self.births[id(module)] = (weakref.ref(module), self.session.tick())
        for hears in self.on_birth:
            hears(module)

    def _watch_noise(self) -> None:
        """Layers that behave differently in training tell, by the mode they really ran in."""
        functional = nn.functional
        for name in (
            "dropout",
            "alpha_dropout",
            "dropout1d",
            "dropout2d",
            "dropout3d",
            "feature_alpha_dropout",
        ):
            self._count_noise(functional, name, position=2, default=True, rate=1)
        self._count_noise(functional, "batch_norm", position=5, default=False, rate=None)
        self._count_attention(functional)

    def _count_attention(self, functional: Any) -> None:
        """Its dropout has no mode: whoever calls it must pass 0 outside training."""

        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def wrapper(*args: Any, **kwargs: Any) -> Any:
                p = args[4] if len(args) > 4 else kwargs.get("dropout_p", 0.0)
                if p:
                    self.noisy_train += 1
                    self.forgotten += 1
                return original(*args, **kwargs)

            return wrapper

        self.session.layer(functional, "scaled_dot_product_attention", make, quiet=None)

    def _count_noise(self, owner: Any, name: str, position: int, default: bool, rate: int | None) -> None:
        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def wrapper(*args: Any, **kwargs: Any) -> Any:
                told = len(args) > position or "training" in kwargs
                training = args[position] if len(args) > position else kwargs.get("training", default)
                if rate is None:
                    # Without running statistics batch norm does the same in both modes.
                    p = float((args[1] if len(args) > 1 else kwargs.get("running_mean")) is not None)
                else:
                    p = args[rate] if len(args) > rate else kwargs.get("p", 0.5)
                if p and training:
                    self.noisy_train += 1
                    self.forgotten += not told
                elif p:
                    self.noisy_eval += 1
                    if rate is None:
                        self._statistics.append(tuple(args[1:3]))
                result = original(*args, **kwargs)
                if self._audit and rate is not None and p and training:
                    with self.session.looking_at("dropout"):
                        self.activation(name, result, 0.0, probability=float(p))
                return result

            return wrapper

        self.session.layer(owner, name, make, quiet=None)

    def _straight(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Where inner calls go that nobody looks at. torch's own `__call__` only asks whether the module is compiled."""
        plain = original is getattr(nn.Module, "_wrapped_call_impl", None)
        return nn.Module._call_impl if plain and not self.session.compiling_used else original

    def _wrap_call(self, original: Callable[..., Any]) -> Callable[..., Any]:
        session = self.session

        def __call__(module: nn.Module, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
            if self.depth:
                if not self._audit:
                    return original(module, *args, **kwargs)
                result = original(module, *args, **kwargs)
                with session.looking_at("layer"):
                    self._layer(module, args, kwargs, result)
                return result
            if not self._has_weights(module) or transforming():
                result = original(module, *args, **kwargs)
                if not torch.is_grad_enabled():
                    with session.looking_at("criterion"):
                        self._judged(result)
                return result
            if torch.is_grad_enabled():  # else an evaluation, which is told whole
                self._in_a_row += 1
                if self._in_a_row > _MOST_TOLD and (variant := variant_of(module)) in session.rest.calls:
                    return self._count(
                        original, variant, session.rest.known.get(variant), module, args, kwargs
                    )
            self.depth = 1
            try:
                note = None
                grad = torch.is_grad_enabled()
                with session.looking_at("forward"):
                    note = self._enter(module, args, kwargs, grad)
                if not self._audit:
                    self._point.pass_by(self._straight(original))
                result = self._run(original, module, args, kwargs)
                with session.looking_at("forward"):
                    self._leave(module, note, grad, args, kwargs, result)
                return result
            finally:
                self.depth = 0
                self._point.heed()
                self._audit = False

        return __call__

    def _wrap_counted(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """In a rested step: which models were called, and in which mode."""
        session, told, count = self.session, self._wrap_call(original), self._count
        rest, weightless, grad_enabled = session.rest, self._weightless, torch.is_grad_enabled

        def __call__(module: nn.Module, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
            if self.depth:
                return original(module, *args, **kwargs)
            variant = (id(module), module.training, grad_enabled())
            model = rest.usual.get(variant)
            if model is None or model.module() is not module:
                known = weightless.get(id(module))
                if (
                    (known is not None and known() is module)
                    or not self._has_weights(module)
                    or transforming()
                ):
                    return original(module, *args, **kwargs)
                model = rest.known.get(variant)
                new = model is None or model.module() is not module
                rest.meets(variant, new=new)
                if not session.resting:
                    return told(module, *args, **kwargs)
            return count(original, variant, model, module, args, kwargs)

        return __call__

    @passes_on
    def _count(
        self,
        original: Callable[..., Any],
        variant: Variant,
        model: Model | None,
        module: nn.Module,
        args: Any,
        kwargs: Any,
    ) -> Any:
        rest = self.session.rest
        rest.calls[variant] = None
        rest.dark = True
        if model is not None:
            self.current = model
            try:
                inputs = tensors_given(args, kwargs)
                for hears in self.on_given:
                    hears(model, variant[2], inputs)
            except Exception as error:  # noqa: BLE001 - a bug of ours is written down, never raised
                self.session.fault("forward", error)
        self.depth = 1
        self._point.pass_by(self._straight(original))
        try:
            return self._run(original, module, args, kwargs)
        finally:
            self.depth = 0
            self._point.heed()

    def _judged(self, result: Any) -> None:
        number = isinstance(result, torch.Tensor) and result.dim() == 0 and result.device.type == "cpu"
        if number and result.is_floating_point():
            self.session.emit(Judged(step=self.session.step, at=user_site(), value=float(result)))

    @passes_on
    def _run(self, original: Callable[..., Any], module: nn.Module, args: Any, kwargs: Any) -> Any:
        run = self.instead.get(self.session.modules.of(module)) if self.instead else None
        try:
            return (
                original(module, *args, **kwargs) if run is None else run(original, module, *args, **kwargs)
            )
        except torch.cuda.OutOfMemoryError as error:
            if self.out_of_memory is None or self.current is None:
                raise
            failed = error
        # Outside of `except`, which would keep all that the failed forward has made.
        return self.out_of_memory(failed, module, original, args, kwargs)

    def introduce(self, module: nn.Module) -> None:
        for part in module.modules():
            self._born(part)
        self._model(module)

    # -- a root is called -----------------------------------------------------------------

    def _enter(self, module: nn.Module, args: Any, kwargs: Any, grad: bool) -> tuple[Model, Forward]:
        session = self.session
        for listener in list(self.before_forward):
            listener()
        self._audit = session.auditing and not session.compiling_used and self._in_a_row <= _MOST_LOOKED_INTO
        self.autocast = self._audit and any(map(torch.is_autocast_enabled, _AUTOCAST))
        model = self._model(module)
        self.current = model
        self.noisy_train = self.noisy_eval = self.forgotten = 0
        self._statistics = []
        self._layers = []
        session.rest.called((id(module), module.training, grad), model)
        inputs = tensors_given(args, kwargs)
        for hears in (*self.on_call, *self.on_given):
            hears(model, grad, inputs)
        first = inputs[0] if inputs else None
        same = False
        if first is not None and model.last_input is not None:
            reference, then = model.last_input
            same = reference() is first and version(first) == then
        if first is not None:
            model.last_input = (weakref.ref(first), version(first))
        self._number += 1
        self.inputs = len(inputs)
        note = Forward(
            step=session.step,
            at=user_site(),
            model=model.key,
            grad=grad,
            training=module.training,
            noisy_train=0,
            noisy_eval=0,
            samples=first.shape[0] if first is not None and first.dim() else None,
            fingerprint=fingerprint(inputs),
            same_object=same,
            window=first is not None and first._base is not None and first._base.numel() > first.numel(),
            bare=first is None,
            source=self._source(inputs),
            number=self._number,
        )
        if grad and note.window and first is not None:
            array = self._slices.used(first)
            if array is not None:
                session.emit(SlicesRestarted(step=session.step, at=note.at, array=array))
        return model, note

    def _leave(self, module: nn.Module, note: Any, grad: bool, args: Any, kwargs: Any, result: Any) -> None:
        if note is None:
            return
        model, event = note
        session = self.session
        if self._audit:
            self._layer(module, args, kwargs, result)
        event.noisy_train, event.noisy_eval = self.noisy_train, self.noisy_eval
        if session.compiling_used and not (self.noisy_train or self.noisy_eval):
            event.noisy_train, event.noisy_eval = count_noisy(module)
        for layer in model.recurrent:
            recurrent = layer()
            if recurrent is not None:
                event.noisy_train += recurrent.training
                event.noisy_eval += not recurrent.training
        outputs = [t for t in tensors_in(result) if t.is_floating_point()]
        event.tracked = grad and any(t.requires_grad for t in outputs)
        if not event.training and self.forgotten:
            event.forgotten = self.forgotten
        if not event.tracked or not event.training:
            self._weights_seen(model, module)
        if not event.tracked and event.noisy_train:
            event.discarded = result_discarded()
            event.copies = copies_of_first(tensors_in((args, kwargs)))
        if event.noisy_eval and (session.auditing or not event.tracked):
            event.unborn = sum(never_collected(*pair) for pair in self._statistics if len(pair) == 2)
        if event.tracked:
            self._remember_graph(outputs)
            self.in_training[model.key] = None
            model.trained = True
            due = session.auditing or session.step % SPARSELY == 0
            self.finite += [
                t.detach().sum(dtype=torch.float32)
                for t in tensors_in((args, kwargs))[:2]
                if (due or t.device.type == "cpu")
                and t.is_floating_point()
                and t.layout == torch.strided
                and not t.requires_grad
            ]
            if self._audit:
                for output in outputs:
                    mark_output(output)
                self._normalised(outputs[0], event)
                for hears in self.on_result:
                    hears(model, event, args, kwargs, result)
        self._made = [pair for pair in self._made if not pair[0].expired()][-16:]
        self._made += [
            (StorageWeakRef(t.untyped_storage()), model.key) for t in outputs[:2] if t.layout == torch.strided
        ]
        self._look_at_input(model, event, args, kwargs)
        if session.next_call and (told := session.next_call.pop(model.key, None)) is not None:
            told(event.training)
        session.emit(event)
        self._emit_layers(grad)
        self.current = model

    def _normalised(self, output: torch.Tensor, event: Forward) -> None:
        """A model that ends in a softmax over its first dimension."""
        node = output.grad_fn
        if node is None or output.dim() < 2 or name_of(node) not in {"Softmax", "LogSoftmax"}:
            return
        if softmax_dimension(node, output.dim()) == 0:
            self.session.emit(
                Softmaxed(
                    step=event.step,
                    at=event.at,
                    op="softmax" if name_of(node) == "Softmax" else "log_softmax",
                    shape=tuple(output.shape),
                    samples=event.samples,
                    inside=False,
                )
            )

    def _look_at_input(self, model: Model, event: Forward, args: Any, kwargs: Any) -> None:
        """Statistics of the input: in training now and then, in an evaluation at first."""
        if event.grad:
            wanted = self.session.auditing or event.step % 16 == 0
        else:
            known, count = model.evaluated
            model.evaluated = (event.step, count + 1 if known == event.step else 1)
            wanted = model.evaluated[1] <= 3
        first = next((t for t in tensors_in((args, kwargs)) if t.is_floating_point()), None)
        if wanted and first is not None and first.device.type == "cpu" and first.numel():
            seen = summarise(first)
            event.input_mean, event.input_std, event.input_min = seen.mean, seen.std, seen.low

    def _remember_graph(self, outputs: list[torch.Tensor]) -> None:
        tag = Tag(self.session.step)
        for output in outputs[:2]:
            if output.grad_fn is not None:
                note(output.grad_fn, KEPT, tag)
        if self._audit and len(self._inner_graphs) < _MOST_AUDITED:
            self._inner_graphs.append((weakref.ref(self._inner), self.session.step))
        self._inner = Tag()
        reference = weakref.ref(tag)
        self._graphs.append((reference, self.session.step))
        self._waiting.append((reference, self._number))

    def untrained(self) -> tuple[int, ...]:
        """Forwards since the last backward whose graph nobody holds any more: nothing can be learnt from them."""
        dropped = tuple(number for tag, number in self._waiting if tag() is None)
        self._waiting.clear()
        return dropped

    def used(self) -> tuple[int, ...]:
        """Forwards since the last backward that are alive: gradients are taken of them now."""
        dead = [(tag, number) for tag, number in self._waiting if tag() is None]
        alive = tuple(number for tag, number in self._waiting if tag() is not None)
        self._waiting.clear()
        self._waiting.extend(dead)
        return alive

    def kept(self) -> int:
        """How many graphs of outputs that were made before the last step are still in memory."""
        while self._graphs and self._graphs[0][0]() is None:
            self._graphs.popleft()
        if len(self._graphs) < 3:
            return 0
        step = self.session.step - 1
        return sum(1 for tag, made in self._graphs if made < step and tag() is not None)

    def kept_inside(self) -> tuple[int, int]:
        """Of how many audited forwards, made before the last step, some inner result is in memory; and of how many."""
        step = self.session.step - 1
        old = [tag for tag, made in self._inner_graphs if made < step]
        return sum(1 for tag in old if tag() is not None), len(old)

    def _emit_layers(self, grad: bool) -> None:
        weighted = [layer for layer in self._layers if layer.order >= 0]
        if weighted:
            weighted[-1].last = True
        for layer in self._layers:
            self.session.emit(layer)
        self._layers = []

    def _source(self, inputs: Iterable[torch.Tensor]) -> int | None:
        for tensor in inputs:
            if tensor.layout == torch.strided:
                mine = StorageWeakRef(tensor.untyped_storage())
                for made, key in reversed(self._made):
                    if made.cdata == mine.cdata and not made.expired():
                        return key
        return None

    # -- who is it ------------------------------------------------------------------------

    def _has_weights(self, module: nn.Module) -> bool:
        """A criterion or a transform without parameters is called like a model, and is none."""
        if next(module.parameters(), None) is not None:
            return True
        known = self._weightless.get(id(module))
        if known is None or known() is not module:
            if any(True for _ in self._hidden("", module)):
                return True
            self._weightless[id(module)] = weakref.ref(module)
        return False

    def _model(self, module: nn.Module) -> Model:
        key = self.session.modules.of(module)
        model = self.known.get(key)
        if model is None:
            name = user_name(module) or type(module).__name__
            model = self.known[key] = Model(module, key, name)
            self.session.look_closer()
            self._describe(model, module)
        elif self.session.auditing or self._may_have_changed(model, module):
            self._describe(model, module)
        return model

    def _may_have_changed(self, model: Model, module: nn.Module) -> bool:
        """Now and then in cruise, a glance: other parameters, or others that are frozen."""
        step = self.session.step
        if step % _DESCRIBED_EVERY or step == model.described_at:
            return False
        model.described_at = step
        return glance(module.parameters()) != model.glance

    def _describe(self, model: Model, module: nn.Module) -> None:
        """Tell the model's parameters, again when they are not the same objects any more."""
        named = list(module.named_parameters())
        hidden = list(self._hidden(model.name, module))
        misspelt = tuple(misspelt_in(model.name, module, self.session.parameters.of))
        frozen = tuple(said_frozen(model.name, module, self.session.parameters.of))
        identity = hash((tuple((id(p), p.requires_grad) for _, p in named), len(hidden), misspelt, frozen))
        model.described_at = self.session.step
        model.glance = glance(p for _, p in named)
        if identity == model.identity:
            return
        if model.identity:  # unfrozen, or a part replaced
            self.session.look_closer()
        model.identity = identity
        model.paths = {id(m): path for path, m in module.named_modules()}
        model.hidden = tuple(hidden)
        model.recurrent = [
            weakref.ref(m)
            for m in module.modules()
            if isinstance(m, nn.RNNBase) and m.dropout and m.num_layers > 1
        ]
        keys = self.session.parameters
        shapes = hash(tuple(tuple(p.shape) for _, p in named))
        original = self._copy_of(module, shapes)
        self.session.emit(
            ModelSeen(
                step=self.session.step,
                at=user_site(),
                model=model.key,
                name=model.name,
                kind=type(module).__name__,
                parameters=tuple(
                    Parameter(keys.of(p), f"{model.name}.{name}", tuple(p.shape), p.requires_grad)
                    for name, p in named
                ),
                hidden=model.hidden,
                copy_of=original.key if original is not None else None,
                same_weights=original is not None and same_weights(module, original.module()),
                shapes=shapes,
                misspelt=misspelt,
                frozen=frozen,
                repeats=tuple(repeated_in(model.name, module)),
            )
        )

    def _copy_of(self, module: nn.Module, shapes: int) -> Model | None:
        for other in self.known.values():
            its = other.module()
            if (
                its is not None
                and its is not module
                and type(its) is type(module)
                and hash(tuple(tuple(p.shape) for p in its.parameters())) == shapes
            ):
                return other
        return None

    def _hidden(self, name: str, module: nn.Module) -> Iterable[Hidden]:
        registered = {id(m) for m in module.modules()}
        own = {id(p) for p in module.parameters()}
        for path, owner in module.named_modules():
            for attribute, value in vars(owner).items():
                if attribute.startswith("_") and attribute in _BOOKKEEPING:
                    continue
                inside = [m for m in modules_in(value) if id(m) not in registered]
                bare = [p for p in in_containers(value, nn.Parameter) if id(p) not in own]
                held = tuple(
                    self.session.parameters.of(p)
                    for p in [*bare, *(p for m in inside for p in m.parameters())]
                    if p.requires_grad
                )
                if held:
                    place = ".".join(part for part in (name, path, attribute) if part)
                    yield Hidden(place, type(value).__name__, len(inside), held)

    @property
    def calls(self) -> int:
        """How many times a root was called."""
        return self._number

    def sizes(self) -> tuple[int, ...]:
        """The first two sizes of what the current model was given."""
        kept = self.current.last_input if self.current is not None else None
        first = kept[0]() if kept is not None else None
        return tuple(first.shape[:2]) if first is not None else ()

    def names(self) -> dict[int, tuple[str, int]]:
        """Parameter key -> (name, model key), over all models that were called."""
        found: dict[int, tuple[str, int]] = {}
        for model in self.known.values():
            module = model.module()
            if module is None:
                continue
            for name, parameter in module.named_parameters():
                found.setdefault(self.session.parameters.of(parameter), (f"{model.name}.{name}", model.key))
            for hidden in model.hidden:
                for index, key in enumerate(hidden.parameters):
                    found.setdefault(key, (f"{hidden.attribute}[{index}]", model.key))
        return found

    def owner_name(self, parameter: torch.Tensor) -> str:
        """ "Linear.weight", for a parameter of a module that no model knows."""
        for reference, _ in self.births.values():
            module = reference()
            for name, own in module._parameters.items() if module is not None else ():
                if own is parameter:
                    return f"{type(module).__name__}.{name}"
        return ""

    def born(self, parameter_owner: nn.Module) -> int:
        known = self.births.get(id(parameter_owner))
        return known[1] if known is not None and known[0]() is parameter_owner else 0

    # -- audit: one layer -----------------------------------------------------------------

    def _layer(self, module: nn.Module, args: Any, kwargs: Any, result: Any) -> None:
        direct = [p for p in module._parameters.values() if p is not None]
        grad = torch.is_inference_mode_enabled() is False and self._grad_of(result)
        keys = {self.session.parameters.of(p) for p in direct}
        if keys:
            (self.ran if grad else self.ran_without_grad).update(keys)
        model = self.current
        if grad and model is not None and made_for_time(module):
            self._sequence(model, module, args)
        if model is None or next(module.children(), None) is not None:
            return
        for hears in self.on_layer:
            hears(model, module)
        inputs = [t for t in tensors_in((args, kwargs)) if t.is_floating_point()]
        outputs = [t for t in tensors_in(result) if t.is_floating_point()]
        if not outputs or not outputs[0].numel():
            return
        if outputs[0].grad_fn is not None:
            note(outputs[0].grad_fn, "premortem: inside", self._inner)
        weighted = any(p.dim() > 1 for p in direct)
        if weighted:
            self.head = keys
        source = summarise(inputs[0]) if inputs and inputs[0].numel() else Summary.nothing()
        made = summarise(outputs[0])
        self._layers.append(
            LayerStats(
                step=self.session.step,
                at=None,
                model=model.key,
                layer=".".join(p for p in (model.name, model.paths.get(id(module), "")) if p),
                kind=type(module).__name__,
                order=sum(1 for layer in self._layers if layer.order >= 0) if weighted else -1,
                last=False,
                grad=grad,
                training=module.training,
                samples=outputs[0].shape[0] if outputs[0].dim() else 1,
                input_mean=source.mean,
                input_std=source.std,
                input_min=source.low,
                input_max=source.high,
                output_mean=made.mean,
                output_std=made.std,
                output_min=made.low,
                output_max=made.high,
                finite=made.finite,
                probability=float(getattr(module, "p", 0.0)) if "Dropout" in type(module).__name__ else 0.0,
                twins=twin_share(direct) if weighted and self.session.step < 8 else 0.0,
                half=outputs[0].dtype == torch.float16,
            )
        )

    def _sequence(self, model: Model, module: nn.Module, args: Any) -> None:
        given = next(iter(tensors_in(args)), None)
        if given is not None and given.dim() == 3:
            self.session.emit(
                SequenceLayer(
                    step=self.session.step,
                    at=user_site(),
                    model=model.key,
                    layer=".".join(p for p in (model.name, model.paths.get(id(module), "")) if p),
                    kind=type(module).__name__,
                    shape=tuple(given.shape),
                )
            )

    def _grad_of(self, result: Any) -> bool:
        return any(t.requires_grad for t in tensors_in(result))

    def activation(self, op: str, value: torch.Tensor, saturated: float, probability: float = 0.0) -> None:
        """The lens saw an activation function run inside a model."""
        model = self.current
        if model is None or not self.depth or not value.is_floating_point() or not value.numel():
            return
        made = summarise(value)
        self._layers.append(
            LayerStats(
                step=self.session.step,
                at=user_site(),
                model=model.key,
                layer=model.name,
                kind=op,
                order=-1,
                last=False,
                grad=value.requires_grad,
                training=True,
                samples=value.shape[0] if value.dim() else 1,
                input_mean=0.0,
                input_std=0.0,
                input_min=0.0,
                input_max=0.0,
                output_mean=made.mean,
                output_std=made.std,
                output_min=made.low,
                output_max=made.high,
                finite=made.finite,
                saturated=saturated,
                dead=dead_share(value) if value.numel() <= _LARGE else 0.0,
                probability=probability,
            )
        )

    # -- the weights that are evaluated ---------------------------------------------------

    def _weights_seen(self, model: Model, module: nn.Module) -> None:
        """When a model is called without gradients: is it the same as last time?

        A teacher is called so in every step; then it is looked at only now and then. Off the CPU this
        waits for the device once, so only the first evaluations are looked at there.
        """
        session = self.session
        often = session.step - model.last_weights_step < 2 and model.weights_taken >= 3
        if often and session.step % _NOW_AND_THEN:
            model.last_weights_step = session.step
            return
        first_of_run = session.step != model.last_weights_step
        model.last_weights_step = session.step
        parameters = list(module.parameters())
        if not first_of_run or not parameters:
            return
        if parameters[0].device.type != "cpu" and model.weights_taken >= 6:
            return
        model.weights_taken += 1
        session.emit(WeightsSeen(step=session.step, model=model.key, checksum=checksum(list(parameters))))

    def step_ended(self) -> None:
        self._in_a_row = 0
        self.ran.clear()
        self.ran_without_grad.clear()
        self.in_training.clear()
        self.finite.clear()


def transforming() -> bool:
    """Inside torch.func (grad, vmap): its tensors are not the run's own, and must not be looked into."""
    return torch._C._functorch.peek_interpreter_stack() is not None


_BOOKKEEPING = frozenset(vars(nn.Module()))


def modules_in(value: Any) -> Iterable[nn.Module]:
    """Modules inside a plain container (torch's own containers are modules themselves)."""
    return in_containers(value, nn.Module)


def in_containers(value: Any, kind: type[T], depth: int = 0) -> Iterable[T]:
    items: Iterable[Any] = ()
    if isinstance(value, (list, tuple, set)):
        items = value
    elif isinstance(value, dict):
        items = value.values()
    for item in items:
        if isinstance(item, kind):
            yield item
        elif depth < 2:
            yield from in_containers(item, kind, depth + 1)


_FREEZE = re.compile(r"(?:^|_)(?:frozen|freeze)(?:_|$)")
_PARTS = frozenset({"stages", "layers", "blocks", "stage", "layer", "block"})


def said_frozen(name: str, module: nn.Module, key_of: Callable[[Any], int]) -> Iterable[SaidFrozen]:
    """`frozen_stages = 2` of a model with stages, `freeze_encoder = True` of a model with an encoder."""
    for path, owner in module.named_modules():
        for attribute, value in vars(owner).items():
            if not _FREEZE.search(attribute) or not isinstance(value, int) or value <= 0:
                continue
            words = [word for word in _FREEZE.sub("_", attribute).split("_") if word]
            part = getattr(owner, "_".join(words), None) if words else None
            whole = bool(_PARTS & set(words)) and not isinstance(value, bool)
            if isinstance(part, nn.Module) or whole:
                held = part if isinstance(part, nn.Module) else owner
                place = ".".join(each for each in (name, path, attribute) if each)
                yield SaidFrozen(place, str(value), tuple(key_of(p) for p in held.parameters()))


def repeated_in(name: str, module: nn.Module) -> Iterable[Repeated]:
    """Layers with weights of which one object has several places of the same list."""
    for path, owner in module.named_modules():
        if isinstance(owner, (nn.ModuleList, nn.Sequential)) and len(owner) > 1:
            layers = {id(layer): layer for layer in owner._modules.values()}
            for key, times in Counter(map(id, owner._modules.values())).items():
                layer = layers[key]
                if times > 1 and next(layer.parameters(), None) is not None:
                    place = ".".join(part for part in (name, path) if part)
                    yield Repeated(place, type(layer).__name__, times)


def misspelt_in(name: str, module: nn.Module, key_of: Callable[[Any], int]) -> Iterable[Misspelt]:
    """Flags like `p.require_grad = True` or `model.backbone.requires_grad = False`: they do nothing."""
    for path, owner in module.named_modules():
        place = ".".join(part for part in (name, path) if part)
        for attribute, value in vars(owner).items():
            if attribute.startswith("require") and isinstance(value, bool) and not uses(owner, attribute):
                yield Misspelt(place, attribute, value, tuple(key_of(p) for p in owner.parameters()))
        for own, parameter in owner._parameters.items():
            for attribute, value in vars(parameter).items() if parameter is not None else ():
                if attribute.startswith("require") and isinstance(value, bool):
                    yield Misspelt(f"{place}.{own}", attribute, value, (key_of(parameter),))


def uses(module: nn.Module, attribute: str) -> bool:
    """Whether the module's class has an attribute of that name for a purpose of its own."""
    own = [
        cls
        for cls in type(module).__mro__
        if not cls.__module__.startswith("torch.")
        or cls.__module__.startswith(
            ("torch.nn.parallel.", "torch.distributed.")
        )  # `require_backward_grad_sync`
    ]
    methods = [getattr(method, "__code__", None) for cls in own for method in vars(cls).values()]
    return any(code is not None and attribute in (*code.co_names, *code.co_varnames) for code in methods)


def made_for_time(module: nn.Module) -> bool:
    """A recurrent or attention layer whose first dimension is time."""
    return isinstance(module, (nn.RNNBase, nn.MultiheadAttention)) and module.batch_first is False


def glance(parameters: Iterable[torch.Tensor]) -> int:
    return hash(tuple((id(p), p.requires_grad) for p in parameters))


def count_noisy(module: nn.Module) -> tuple[int, int]:
    """Dropout and batch-norm layers in train and in eval mode, by their flags."""
    train = other = 0
    for layer in module.modules():
        kind = type(layer).__name__
        if ("Dropout" in kind and getattr(layer, "p", 0.0) > 0) or (
            "BatchNorm" in kind and getattr(layer, "track_running_stats", False)
        ):
            train, other = (train + 1, other) if layer.training else (train, other + 1)
    return train, other


def never_collected(mean: Any, var: Any) -> bool:
    """Running statistics as they were born: no batch has ever gone into them (CPU)."""
    if not isinstance(mean, torch.Tensor) or not isinstance(var, torch.Tensor) or mean.device.type != "cpu":
        return False
    return not mean.any() and bool((var == 1).all())


def copies_of_first(inputs: list[torch.Tensor]) -> int:
    """How often the first sample is in the batch: Monte Carlo dropout may repeat a batch inside one call."""
    if (
        not inputs
        or inputs[0].dim() < 1
        or inputs[0].device.type != "cpu"
        or not 1 < inputs[0].numel() <= _LARGE
    ):
        return 1
    rows = inputs[0].detach().reshape(inputs[0].shape[0], -1)
    return max(1, int((rows == rows[0]).all(dim=1).sum()))


def same_weights(one: nn.Module, other: nn.Module | None) -> bool:
    return other is not None and checksum(list(one.parameters())) == checksum(list(other.parameters()))


def checksum(parameters: list[torch.Tensor], most: int = 48) -> int:
    """A hash over samples of the weights: different when training moved them."""
    stride = max(1, len(parameters) // most)
    chosen = [p.detach() for p in parameters[::stride] if p.layout == torch.strided and p.numel()]
    if chosen and chosen[0].device.type != "cpu":
        few = [p.reshape(-1)[:: max(1, p.numel() // 4)][:4].float() for p in chosen]
        return hash(tuple(torch.cat(few).tolist()))
    return hash(tuple(tuple(sampled(p, 4)) for p in chosen))
