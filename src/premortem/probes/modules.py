"""Modules: which ones the user calls, in which mode, and on what."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable
from threading import get_ident
from typing import Any

import torch
from torch import nn

from premortem.events import Forward, Judged, SlicesRestarted
from premortem.points import passes_on
from premortem.points.point import Point
from premortem.probes.datasets import Slices
from premortem.probes.graph import mark_output
from premortem.probes.judgements import Judgements
from premortem.probes.layer_audit import LayerAudit
from premortem.probes.model_registry import Model, ModelRegistry, Variant, variant_of
from premortem.probes.noisy_layers import NoisyLayers
from premortem.probes.numbers import summarise
from premortem.probes.output_graphs import OutputGraphs
from premortem.probes.session import (
    COMPILER,
    COMPILING,
    SPARSELY,
    Session,
    fingerprint,
    result_discarded,
    sampled,
    tensors_given,
    tensors_in,
    user_site,
    version,
)
from premortem.probes.weight_checksums import weights_seen
from premortem.tensors.finite import summed


def _autocasts(device: str) -> bool:
    try:
        torch.is_autocast_enabled(device)
    except RuntimeError:  # torch 2.4 has none of it for mps
        return False
    return True


_AUTOCAST = tuple(filter(_autocasts, ("cpu", "cuda", "mps", "xpu")))  # where torch has it
_WRAPPED = getattr(nn.Module, "_wrapped_call_impl", None)
_LARGE = 1 << 22  # elements; larger inputs are not compared row by row
# Calls with gradients between two steps: a cell that is called for each moment of a series says nothing new after these.
_MOST_LOOKED_INTO = 64
_MOST_TOLD = 256


class Models:
    """Wraps `Module.__call__`; only calls from outside any other module are looked at in cruise."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.registry = ModelRegistry(session)
        self.known = self.registry.known
        self.graphs = OutputGraphs(session)
        self.judgements = Judgements(session)
        self.layers = LayerAudit(session, self.graphs)
        self._noisy = NoisyLayers(session, self.layers)
        self.before_forward: list[Callable[[], None]] = []
        self.after_forward: list[Callable[[], None]] = []
        self.with_grad = True  # gradients are on for the root that is being called
        self.on_call: list[
            Callable[[Model, bool, list[torch.Tensor]], None]
        ] = []  # a root, and what it is given
        # audit: a root has run, what it was given and what it gave
        self.on_result: list[Callable[[Model, Forward, Any, Any, Any], None]] = []
        # audit: a root has run, with gradients or without, and this is what it gave
        self.on_answer: list[Callable[[Forward, Any], None]] = []
        # a root has run without gradients, in a reported step, and this is what it gave
        self.on_evaluated: list[Callable[[Forward, Any], None]] = []
        self.on_given: list[
            Callable[[Model, bool, list[torch.Tensor]], None]
        ] = []  # the same, also in a rested step
        # What a root is called through, by its key, with its own call as the first argument (premortem.actions.smaller_batches).
        self.instead: dict[int, Callable[..., Any]] = {}
        # Memory ran out in a root: gets the error, the root's own call, and what it was given. Raises, or gives the result.
        self.out_of_memory: Callable[[Exception, nn.Module, Callable[..., Any], Any, Any], Any] | None = None
        self.depth = 0
        self._in_a_row = 0  # calls of roots since the last step
        self.current: Model | None = None
        self.in_training: dict[int, None] = {}  # models that ran with gradients since the last step
        self.finite: deque[torch.Tensor] = deque(
            maxlen=8
        )  # sums of this step's inputs, still on their device
        self.calls = 0  # of roots
        self._point: Point
        self.inputs = 0  # tensors that the last root was given
        self.autocast = False  # the current model was called under autocast (audit)
        self._slices = Slices()

    def install(self) -> None:
        self.judgements.install()
        built = self.registry.built
        self.session.around(nn.Module, "__init__", before=built)
        self.session.around(nn.Module, "__setstate__", before=built)
        self._point = self.session.layer(
            nn.Module, "__call__", self._wrap_call, quiet=self._wrap_counted, asks=True
        )
        self._noisy.install()

    def _straight(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Where inner calls go that are not looked at. torch's own `__call__` only asks whether the module is compiled."""
        return nn.Module._call_impl if original is _WRAPPED and not self.session.compiling_used else original

    def _wrap_call(self, original: Callable[..., Any]) -> Callable[..., Any]:
        session, layers, has_weights = self.session, self.layers, self.registry.has_weights

        def __call__(module: nn.Module, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
            if self.depth:
                if not layers.on:
                    return original(module, *args, **kwargs)
                result = original(module, *args, **kwargs)
                with session.looking_at("layer"):
                    layers.layer(module, args, kwargs, result)
                return result
            if not has_weights(module) or transforming():
                result = original(module, *args, **kwargs)
                if not torch.is_grad_enabled():
                    with session.looking_at("criterion"):
                        self._judged(result)
                return result
            if torch.is_grad_enabled():  # else an evaluation, which is reported whole
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
                if not layers.on:
                    self._point.pass_by(self._straight(original))
                result = self._run(original, module, args, kwargs)
                with session.looking_at("forward"):
                    self._leave(module, note, grad, args, kwargs, result)
                return result
            finally:
                self.depth = 0
                self._point.heed()
                layers.on = False

        return __call__

    def _wrap_counted(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """In a rested step: which models were called, and in which mode."""
        session, told, count = self.session, self._wrap_call(original), self._count
        rest, weightless, grad_enabled = session.rest, self.registry.weightless, torch.is_grad_enabled
        has_weights, on_given, plain = self.registry.has_weights, self.on_given, torch.Tensor

        # A loop of reinforcement learning calls models a dozen times in a step: what such a call needs stands here, and
        # not in functions of its own (`Session.listening`, `_count`).
        def __call__(module: nn.Module, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
            if self.depth or session.looking or not session.on:
                return original(module, *args, **kwargs)
            if get_ident() != session.thread or COMPILER.get(COMPILING):
                return original(module, *args, **kwargs)
            variant = (id(module), module.training, grad_enabled())
            model = rest.usual.get(variant)
            if model is None or model.module() is not module:
                known = weightless.get(id(module))
                if (known is not None and known() is module) or not has_weights(module) or transforming():
                    return original(module, *args, **kwargs)
                model = rest.known.get(variant)
                new = model is None or model.module() is not module
                rest.meets(variant, new=new)
                if not session.resting:
                    return told(module, *args, **kwargs)
            single = len(args) == 1 and not kwargs and type(args[0]) is plain and not args[0].is_nested
            if not single or model is None or self.instead or session.compiling_used:
                return count(original, variant, model, module, args, kwargs)
            rest.calls[variant] = None
            rest.dark = True
            self.current = model
            inputs = list(args)
            try:
                for hears in on_given:
                    hears(model, variant[2], inputs)
            except Exception as error:  # noqa: BLE001 - a bug of ours is written down, never raised
                session.fault("forward", error)
            point = self._point
            if point.alone:
                point.call = straight
            self.depth = 1
            try:
                return original(module, *args)
            except torch.cuda.OutOfMemoryError as error:
                if self.out_of_memory is None:
                    raise
                failed = error
            finally:
                self.depth = 0
                point.call = point.chain
            self.depth = 1
            try:  # outside of `except`, which would keep all that the failed forward has made
                return self.out_of_memory(failed, module, original, args, kwargs)
            finally:
                self.depth = 0

        straight = nn.Module._call_impl if original is _WRAPPED else original
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

    # -- a root is called -----------------------------------------------------------------

    def _enter(self, module: nn.Module, args: Any, kwargs: Any, grad: bool) -> tuple[Model, Forward]:
        session = self.session
        self.with_grad = grad
        for listener in list(self.before_forward):
            listener()
        audit = session.auditing and not session.compiling_used and self._in_a_row <= _MOST_LOOKED_INTO
        self.autocast = audit and any(map(torch.is_autocast_enabled, _AUTOCAST))
        model = self.registry.model_of(module)
        self.current = model
        self._noisy.begin()
        self.layers.begin(model, audit)
        session.rest.called((id(module), module.training, grad), model)
        inputs = tensors_given(args, kwargs)
        for hears in (*self.on_call, *self.on_given):
            hears(model, grad, inputs)
        first = inputs[0] if inputs else None
        if audit:
            self.layers.states.root_begins(first)
        same = False
        if first is not None and model.last_input is not None:
            reference, then = model.last_input
            same = reference() is first and version(first) == then
        if first is not None:
            model.last_input = (weakref.ref(first), version(first))
        self.calls += 1
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
            noise=self._is_noise(first),
            source=self.graphs.source(inputs),
            number=self.calls,
            attached=grad and any(tensor.requires_grad for tensor in inputs),
        )
        if grad and note.window and first is not None:
            array = self._slices.used(first)
            if array is not None:
                session.emit(SlicesRestarted(step=session.step, at=note.at, array=array))
        return model, note

    def _is_noise(self, given: torch.Tensor | None) -> bool:
        known = self.session.noise
        if not known or given is None or given.device.type != "cpu" or not given.is_floating_point():
            return False
        return hash(tuple(sampled(given))) in known

    def _leave(self, module: nn.Module, note: Any, grad: bool, args: Any, kwargs: Any, result: Any) -> None:
        if note is None:
            return
        model, event = note
        for listener in self.after_forward:
            listener()
        session, layers, noisy = self.session, self.layers, self._noisy
        if layers.on:
            layers.layer(module, args, kwargs, result)
        noisy.describe(event, model, module)
        outputs = [t for t in tensors_in(result) if t.is_floating_point()]
        event.tracked = grad and any(t.requires_grad for t in outputs)
        if not event.tracked or not event.training:
            weights_seen(session, model, module)
        if not event.tracked and event.noisy_train:
            event.discarded = result_discarded()
            event.copies = copies_of_first(tensors_in((args, kwargs)))
        if event.noisy_eval and (session.auditing or not event.tracked):
            event.unborn = noisy.never_collected()
        if event.tracked:
            self.graphs.remember(outputs, self.calls, layers.on)
            self.in_training[model.key] = None
            model.trained = True
            due = session.auditing or session.step % SPARSELY == 0
            self.finite += [
                summed(t.detach())
                for t in tensors_in((args, kwargs))[:2]
                if (due or t.device.type == "cpu")
                and t.is_floating_point()
                and t.layout == torch.strided
                and not t.requires_grad
            ]
            if layers.on:
                for output in outputs:
                    mark_output(output)
                self.judgements.made(outputs, model.key, event.source)
                layers.normalised(outputs[0], event)
                for hears in self.on_result:
                    hears(model, event, args, kwargs, result)
        if session.auditing:
            for tells in self.on_answer:
                tells(event, result)
        if not event.grad:
            for tells in self.on_evaluated:
                tells(event, result)
        self.graphs.made(outputs, model.key)
        look_at_input(session, model, event, args, kwargs)
        if session.next_call and (told := session.next_call.pop(model.key, None)) is not None:
            told(event.training)
        session.emit(event)
        layers.emit()
        self.current = model

    def sizes(self) -> tuple[int, ...]:
        """The first two sizes of what the current model was given."""
        kept = self.current.last_input if self.current is not None else None
        first = kept[0]() if kept is not None else None
        return tuple(first.shape[:2]) if first is not None else ()

    def step_ended(self) -> None:
        self._in_a_row = 0
        self.layers.step_ended()
        self.in_training.clear()
        self.finite.clear()


def transforming() -> bool:
    """Inside torch.func (grad, vmap): its tensors are not the run's own, and must not be looked into."""
    return torch._C._functorch.peek_interpreter_stack() is not None


def look_at_input(session: Session, model: Model, event: Forward, args: Any, kwargs: Any) -> None:
    """Statistics of the input: in training now and then, in an evaluation at first."""
    if event.grad:
        wanted = session.auditing or event.step % 16 == 0
    else:
        known, count = model.evaluated
        model.evaluated = (event.step, count + 1 if known == event.step else 1)
        wanted = model.evaluated[1] <= 3
    first = next((t for t in tensors_in((args, kwargs)) if t.is_floating_point()), None)
    if wanted and first is not None and first.device.type == "cpu" and first.numel():
        seen = summarise(first)
        event.input_mean, event.input_std, event.input_min = seen.mean, seen.std, seen.low


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
