"""One operation under the microscope: what its schema says of it, what it was given, and what it made."""

import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import nn
from torch._C import _functorch

from premortem.events import Operand
from premortem.probes import graph, operation_words

_MOST_OPERANDS = 4
_MOST_ROWS = 8
# The old content of what they write to does not matter.
_OVERWRITING = frozenset(
    "copy fill zero normal uniform random bernoulli exponential geometric log_normal cauchy".split()
)
_COLLECTIVE = frozenset({"c10d", "_c10d_functional"})


class Kind(NamedTuple):
    """What is known of an operation from its schema."""

    op: str
    arguments: tuple[str, ...]
    written: frozenset[str]  # arguments it writes to
    view: bool
    empty: bool  # makes memory without a content
    overwrites: bool
    attention: bool  # only its first result means something
    collective: bool  # with other ranks
    reads: bool  # makes a tensor of what lies outside of torch: an array, a list, a file


@functools.lru_cache(maxsize=4096)
def kind_of(func: Any) -> Kind:
    schema = func._schema
    op = operation_words.spelling(schema.name)
    written = frozenset(
        a.name for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write
    )
    names = tuple(a.name for a in schema.arguments)
    if "training" in names and "backward" not in op:  # batch norm writes its statistics and does not say so
        written |= {"running_mean", "running_var"} & set(names)
    returned = [r.alias_info for r in schema.returns]
    return Kind(
        op,
        names,
        written,
        view=not written and any(alias is not None for alias in returned),
        empty="empty" in op or op == "resize",
        overwrites=op in _OVERWRITING or "out" in written,
        attention="scaled_dot_product" in op,
        collective=func.namespace in _COLLECTIVE,
        reads=op in {"lift_fresh", "set"},
    )


class State(NamedTuple):
    """An operand, looked at."""

    name: str
    tensor: torch.Tensor
    finite: bool
    nan: bool
    shown: Operand | None = None  # kept for what is about to be written over


class Executed(NamedTuple):
    """An operation that made something that is not finite."""

    kind: Kind
    given: dict[str, Any]
    broken: list[torch.Tensor]
    operands: list[State]
    result: Any

    @property
    def makes(self) -> str:
        return operation_words.worst(self.broken[0])

    @property
    def described(self) -> dict[str, Any]:
        """What it was given, for words: what it has written over since is stood for by its range."""
        old = {
            o.name: torch.tensor([o.shown.low, o.shown.high]) for o in self.operands if o.shown is not None
        }
        more = {}
        if self.kind.op == "nll_loss" and isinstance(self.result, tuple):
            more["total_weight"] = self.result[1]
        return {**self.given, **more, **old}

    def beside(self) -> dict[str, torch.Tensor]:
        """Optimizers work on lists: what stands at the same place as the broken one."""
        lists = {name: list(readable(value)) for name, value in self.given.items()}
        places = [
            i for name in self.kind.written for i, t in enumerate(lists[name]) if t is self.broken[0]
        ] or [i for i, made in enumerate(readable(self.result)) if made is self.broken[0]]
        index = places[0] if places else 0
        return {name: tensors[index] for name, tensors in lists.items() if index < len(tensors)}


def readable(thing: Any) -> Iterator[torch.Tensor]:
    """The tensors that can be looked at: real memory of real numbers."""
    if isinstance(thing, (list, tuple)):
        for item in thing:
            yield from readable(item)
        return
    thing = bare(thing)
    if (
        type(thing) in {torch.Tensor, nn.Parameter}
        and thing.layout == torch.strided
        and not thing.is_nested
        and (thing.is_floating_point() or thing.is_complex())
        and thing.numel()
        and thing.device.type != "meta"
        and not (thing.is_cuda and torch.cuda.is_current_stream_capturing())
    ):
        yield thing


def state(name: str, tensor: torch.Tensor, *, show: bool = False) -> State:
    """`show`: it is about to be written over, so what it was must be noted now."""
    whole = operation_words.finite(tensor)
    nan = not whole and operation_words.worst(tensor) == "nan"
    return State(name, tensor, whole, nan, operand(name, tensor) if show else None)


def operand(name: str, tensor: torch.Tensor) -> Operand:
    return Operand(name, short(tensor.dtype), tuple(tensor.shape), *operation_words.bounds(tensor))


def shown(states: list[State]) -> tuple[Operand, ...]:
    return tuple(s.shown or operand(s.name, s.tensor) for s in states[:_MOST_OPERANDS])


def short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def saved(node: Any, name: str) -> Any:
    """What the forward pass kept for the backward pass, where it can be read."""
    return bare(graph.saved(node, name))


def bare(thing: Any) -> Any:
    """Without what `torch.func.grad` and `vmap` wrap around tensors: a wrapper has no memory to look at."""
    while isinstance(thing, torch.Tensor) and _functorch.is_functorch_wrapped_tensor(thing):
        thing = _functorch.get_unwrapped(thing)
    return thing


def broken_rows(tensor: torch.Tensor) -> tuple[int, ...]:
    """Rows of the first dimension with values that are not finite; none when all have them."""
    if not tensor.dim() or tensor.shape[0] < 2:
        return ()
    bad = (~torch.isfinite(tensor.detach())).reshape(tensor.shape[0], -1).any(dim=1)
    rows = [int(row) for row in bad.nonzero()[:, 0]]
    return tuple(rows[:_MOST_ROWS]) if len(rows) < tensor.shape[0] else ()
