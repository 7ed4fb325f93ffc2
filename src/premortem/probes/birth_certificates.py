"""Birth certificates: what the microscope has seen, written down while operands and stack are at hand."""

import functools
from collections.abc import Callable
from typing import Any

import torch

from premortem.events import NonFinite, Samples
from premortem.probes import operation_words
from premortem.probes.operations import Executed, broken_rows, readable, saved, short, shown, state
from premortem.probes.places import Directory, Place, here, item_of, torch_function, variable_holding
from premortem.probes.sample_numbers import Batch

_SAVED = ("self", "other", "exponent", "result", "target")


class BirthCertificates:
    def __init__(
        self, directory: Directory, samples: Callable[[], int | None], batch: Callable[[], Batch | None]
    ) -> None:
        self._directory = directory
        self._samples = samples
        self._batch = batch  # that is being made, or was handed out last

    def birth(
        self, done: Executed, *, made_at: Callable[[Any], Place | None], grad: bool, stepping: bool
    ) -> NonFinite:
        """`made_at` gives the place where an autograd node was made; `stepping`: in an optimizer's arithmetic."""
        place = here()
        node: Any = torch._C._current_autograd_node()
        if stepping:
            return self._update(done, place)
        if node is not None and not place.inside_engine:
            return self._derivative(done, node, made_at(node) or place._replace(module=None))
        found = operation_words.forward_words(done.kind.op, done.described, infinite=done.makes != "nan")
        stage = "backward" if place.inside_engine and not grad else "forward"
        return self._certificate(stage, found, place, done.broken[0], operands=shown(done.operands))

    def _derivative(self, done: Executed, node: Any, place: Place) -> NonFinite:
        op, kept = operation_words.spelling(node.name()), functools.partial(saved, node)
        found = operation_words.backward_words(op, kept, infinite=done.makes != "nan")
        operands = [state(name, t) for name in _SAVED for t in readable(kept(name))] or done.operands
        return self._certificate("backward", found, place, done.broken[0], operands=shown(operands))

    def underflow(self, done: Executed, made_at: Callable[[Any], Place | None]) -> NonFinite:
        """Of numbers that are not 0 it made nothing but 0."""
        place, op = here(), done.kind.op
        node: Any = torch._C._current_autograd_node()
        behind = node is not None and not place.inside_engine
        if behind:
            op, place = operation_words.spelling(node.name()), made_at(node) or place._replace(module=None)
        detail = f"the derivative of {op}" if behind else f"{op} of numbers that are not 0"
        found = operation_words.Birth(op, detail)
        event = self._certificate(
            "backward" if behind else "forward", found, place, done.broken[0], operands=shown(done.operands)
        )
        event.made = "nothing but 0"
        return event

    def decay(self, done: Executed, factor: float) -> NonFinite:
        """It was to make numbers smaller by so little that they stayed as they were."""
        op, kind = done.kind.op, short(done.broken[0].dtype)
        found = operation_words.Birth(op, f"{op} of {kind} numbers, times {factor:g},")
        event = self._certificate("forward", found, here(), done.broken[0], operands=shown(done.operands))
        event.made, event.rows, event.samples = "no difference", (), 0
        return event

    def _update(self, done: Executed, place: Place) -> NonFinite:
        beside = done.beside()
        found = operation_words.forward_words(done.kind.op, beside, infinite=done.makes != "nan")
        own = [o for o in done.operands if any(o.tensor is t for t in beside.values())]
        found = found._replace(overflow=found.overflow and done.makes == "inf")
        event = self._certificate(
            "update", found, place, done.broken[0], operands=shown(own or done.operands)
        )
        event.rows, event.samples, event.source, event.module = (), 0, None, ""
        return event

    def entry(self, tensor: torch.Tensor, *, unfilled: bool) -> NonFinite:
        """It was not finite when it came under the microscope: data, weights, or memory that was never filled."""
        holder = self._directory.holder(tensor)
        if unfilled and not holder:
            found = operation_words.Birth("empty", "memory that was never filled")
            return self._certificate("forward", found, here(), tensor)
        by = torch_function() if not tensor.dim() and operation_words.worst(tensor) != "-inf" else ""
        if (
            by and not holder and not variable_holding(tensor)
        ):  # its own way to say that the result is not finite
            found = operation_words.Birth(by, f"the result of {by}")
            return self._certificate("forward", found, here(), tensor)
        item = item_of()
        what = (item and item.name) or variable_holding(tensor) or ("input" if tensor.dim() else "constant")
        stage, what = ("weights", "") if holder else ("data", what)
        event = self._certificate(
            stage, operation_words.Birth("", ""), here(), tensor, what=what, parameter=holder
        )
        if item is None:
            event.rows = broken_rows(tensor)
            event.samples = tensor.shape[0] if event.rows else 0
            event.source = self._numbers(event.rows, event.samples)
        return event

    def _numbers(self, rows: tuple[int, ...], samples: int) -> Samples | None:
        batch = self._batch()
        return batch.samples(rows) if batch is not None and rows and samples == len(batch) else None

    def constant(self, op: str, number: float) -> NonFinite:
        place = here()
        return NonFinite(
            stage="data",
            value=None,
            at=place.site,
            op=op,
            detail=f"the number {number} was given to {op}",
            what="constant",
            made=str(number),
            module=self._directory.path(place),
            located=True,
            watched=True,
        )

    def _certificate(
        self, stage: str, found: operation_words.Birth, place: Place, broken: torch.Tensor, **more: Any
    ) -> NonFinite:
        item, rows, size = item_of(), broken_rows(broken), self._samples()
        if item is not None or (rows and size is not None and size != broken.shape[0]):
            rows = ()  # rows of something else
        samples = broken.shape[0] if rows else 0
        if item is None:
            source = self._numbers(rows, samples)
        else:  # while the dataset makes this very sample
            batch = self._batch()
            source = batch.item(item.owner, item.number) if batch is not None else None
        return NonFinite(
            stage=stage,
            value=None,
            at=place.site,
            op=found.op,
            detail=found.detail,
            overflow=found.overflow,
            made=operation_words.worst(broken),
            rows=rows,
            samples=samples,
            source=source,
            module=self._directory.path(place),
            dtype=short(broken.dtype),
            located=True,
            watched=True,
            **more,
        )
