"""What each layer inside a model makes of what it is given: for the audited forward passes."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch
from torch import nn
from torch.autograd.function import FunctionCtx

from premortem.events import Forward, LayerStats, SequenceLayer, Softmaxed
from premortem.probes.frame_variables import variables
from premortem.probes.graph import name_of
from premortem.probes.loss_meaning import softmax_dimension
from premortem.probes.model_registry import Model
from premortem.probes.numbers import Summary, dead_share, summarise, twin_share
from premortem.probes.output_graphs import OutputGraphs
from premortem.probes.recurrent_states import RecurrentStates
from premortem.probes.session import Session, tensors_in, user_site

_LARGE = 1 << 22  # elements; per-unit statistics are not taken of larger activations


class LayerAudit:
    """Collects the numbers of one forward pass, layer by layer, and emits them at its end."""

    def __init__(self, session: Session, graphs: OutputGraphs) -> None:
        self.session = session
        self._graphs = graphs
        self.states = RecurrentStates(session)
        self.on = False  # the forward pass that is running is looked into
        self.model: Model | None = None  # that runs
        self.on_layer: list[Callable[[Model, nn.Module], None]] = []  # a layer has run
        self.on_inputs: list[Callable[[list[torch.Tensor]], None]] = []  # a layer was given these
        self.ran: set[int] = set()  # parameter keys whose module ran with gradients since the last step
        self.ran_without_grad: set[int] = set()
        self.head: set[int] = set()  # parameter keys of the last layer that ran
        self._layers: list[LayerStats] = []

    def begin(self, model: Model, on: bool) -> None:
        self.model, self.on, self._layers = model, on, []

    def emit(self) -> None:
        weighted = [layer for layer in self._layers if layer.order >= 0]
        if weighted:
            weighted[-1].last = True
        for layer in self._layers:
            self.session.emit(layer)
        self._layers = []

    def step_ended(self) -> None:
        self.ran.clear()
        self.ran_without_grad.clear()

    def layer(self, module: nn.Module, args: Any, kwargs: Any, result: Any) -> None:
        direct = [p for p in module._parameters.values() if p is not None]
        grad = torch.is_inference_mode_enabled() is False and any(t.requires_grad for t in tensors_in(result))
        keys = {self.session.parameters.of(p) for p in direct}
        if keys:
            (self.ran if grad else self.ran_without_grad).update(keys)
        model = self.model
        if grad and model is not None and made_for_time(module):
            self._sequence(model, module, args)
        if grad and model is not None and isinstance(module, (nn.RNNBase, nn.RNNCellBase)):
            self.states.called(module, path_of(model, module), args, kwargs, result)
        if model is None or next(module.children(), None) is not None:
            return
        for hears in self.on_layer:
            hears(model, module)
        inputs = [t for t in tensors_in((args, kwargs)) if t.is_floating_point()]
        for hears_inputs in self.on_inputs:
            hears_inputs(inputs)
        outputs = [t for t in tensors_in(result) if t.is_floating_point()]
        if not outputs or not outputs[0].numel():
            return
        if outputs[0].grad_fn is not None:
            self._graphs.inside(outputs[0].grad_fn)
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
                layer=path_of(model, module),
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
                off=not self.session.grad and not inside_a_function(),
                statistics=getattr(module, "running_mean", None) is not None,
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
                    layer=path_of(model, module),
                    kind=type(module).__name__,
                    shape=tuple(given.shape),
                )
            )

    def activation(self, op: str, value: torch.Tensor, saturated: float, probability: float = 0.0) -> None:
        """An activation function ran inside a model."""
        model = self.model
        if model is None or not value.is_floating_point() or not value.numel():
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

    def normalised(self, output: torch.Tensor, event: Forward) -> None:
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


def path_of(model: Model, module: nn.Module) -> str:
    return ".".join(p for p in (model.name, model.paths.get(id(module), "")) if p)


def made_for_time(module: nn.Module) -> bool:
    """A recurrent or attention layer whose first dimension is time."""
    return isinstance(module, (nn.RNNBase, nn.MultiheadAttention)) and module.batch_first is False


def inside_a_function() -> bool:
    """Whether this is computed in the forward pass of a function with a backward pass of its own: torch turns gradients off there, not
    the script. Checkpointing and reversible layers make the pass again, with gradients."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        first = code.co_varnames[0] if code.co_name == "forward" and code.co_argcount else "self"
        if first != "self" and isinstance(variables(frame).get(first), FunctionCtx):
            return True
        frame = frame.f_back
    return False
