"""The smallest or largest of numbers some of which are masked out: is it ever one of those that count?

mask * distance           the filler 0 is smaller than any distance: `min` takes it in each row
distance + far * ~mask    what is masked out loses

The mask is read in the graph of what is reduced, where its product keeps it; whether the choice is a part of the loss, in the loss's graph.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from premortem.events import Chosen, Site
from premortem.probes.graph import REARRANGING, name_of, note, saved
from premortem.probes.numbers import on_host
from premortem.probes.session import Session, tensors_in, user_site
from premortem.tensors.memory import storage

_TAG = "premortem: chosen among masked numbers"
_SMALLEST = frozenset(("min", "amin", "argmin"))
_MOST = 1 << 22  # numbers: larger tables of distances are not copied three times for one look
_MOST_PER_LINE = 8  # of one step: a loop over samples says nothing new after these
_TAKEN_BY = {"Gather": "index", "Index": "indices", "IndexSelect": "index"}


class MaskedChoices:
    """What was chosen in this step, until a loss is walked that it is a part of."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._step = -1
        self._looks: Counter[Site | None] = Counter()
        self._tagged = False
        self._places: dict[int, tuple[StorageWeakRef, Chosen]] = {}  # memory of indices

    def chosen(self, op: str, args: tuple[Any, ...], options: dict[str, Any], result: Any) -> None:
        """`op` gave `result`, of a tensor with a graph."""
        given = args[0] if args else options.get("input")
        dim = options.get("dim", args[1] if len(args) > 1 else ())
        if not isinstance(given, torch.Tensor) or "other" in options or isinstance(dim, torch.Tensor):
            return
        filler = left_out(given)
        if filler is None:
            return
        if self._step != self.session.step:
            self._step, self._tagged = self.session.step, False
            self._looks.clear()
            self._places.clear()
        at = user_site()
        self._looks[at] += 1
        if self._looks[at] > _MOST_PER_LINE:
            return
        dims = (
            tuple(range(given.dim()))
            if dim is None or dim == ()
            else dim
            if isinstance(dim, tuple)
            else (dim,)
        )
        rows, wrong = counted(on_host(given.detach()), on_host(filler), dims, smallest=op in _SMALLEST)
        if not rows:
            return
        choice = Chosen(at, op, rows, wrong)
        for made in tensors_in(result):
            if made.grad_fn is not None:
                note(made.grad_fn, _TAG, choice)
                self._tagged = True
            elif not made.is_floating_point():
                self._places[storage(made)] = (StorageWeakRef(made.untyped_storage()), choice)

    def used_in(self, nodes: list[Any]) -> tuple[Chosen, ...]:
        """Of all that was chosen, by line, what this graph of a loss was computed of."""
        found: dict[int, Chosen] = {}
        for node in nodes if self._tagged or self._places else ():
            choice = node.metadata.get(_TAG)
            if choice is not None and not _only_shifts(node, nodes):
                found[id(choice)] = choice
            taken = _TAKEN_BY.get(name_of(node)) if self._places else None
            for index in tensors_in(saved(node, taken)) if taken is not None else ():
                place = self._places.get(storage(index))
                if place is not None:
                    found[id(place[1])] = place[1]
        lines: dict[tuple[Site | None, str], Chosen] = {}
        for choice in found.values():
            before = lines.get((choice.at, choice.op))
            more = (0, 0) if before is None else (before.rows, before.wrong)
            lines[choice.at, choice.op] = Chosen(
                choice.at, choice.op, choice.rows + more[0], choice.wrong + more[1]
            )
        return tuple(lines.values())


def left_out(given: torch.Tensor) -> torch.Tensor | None:
    """Where these numbers were masked out, and a filler was put: by a product with 0 and 1, `masked_fill` or `where`."""
    node: Any = given.grad_fn
    empty: Any
    if node is None or not 1 < given.numel() <= _MOST or given.layout != torch.strided:
        return None
    name, children = name_of(node), [child for child, _ in node.next_functions]
    if name == "Mul" and len(children) == 2 and children.count(None) == 1:
        mask = saved(node, "self" if children[0] is None else "other")
        if not isinstance(mask, torch.Tensor) or not bool(((mask == 0) | (mask == 1)).all()):
            return None
        empty = mask == 0
    elif name == "MaskedFill":
        empty = saved(node, "mask")
    elif name == "Where" and len(children) == 2 and children.count(None) == 1:
        empty = saved(node, "condition")
        if isinstance(empty, torch.Tensor) and children[1] is None:
            empty = ~empty
    else:
        return None
    if not isinstance(empty, torch.Tensor) or empty.dim() > given.dim():
        return None
    empty = empty.detach().expand(given.shape)
    values = given.detach()[empty]
    filled = 0 < values.numel() < given.numel() and bool((values == values[0]).all())
    return empty if filled else None


def counted(
    values: torch.Tensor, empty: torch.Tensor, dims: tuple[int, ...], *, smallest: bool
) -> tuple[int, int]:
    """Rows that have both, and those of them in which the filler beats all that is not masked out."""
    worst = math.inf if smallest else -math.inf
    best = torch.amin if smallest else torch.amax
    valid = best(values.masked_fill(empty, worst), dims)
    filler = best(values.masked_fill(~empty, worst), dims)
    some = empty.float().amax(dims).bool() & (~empty).float().amax(dims).bool()
    beats = filler < valid if smallest else filler > valid
    return int(some.sum()), int((beats & some).sum())


def _only_shifts(node: Any, nodes: list[Any]) -> bool:
    """`x - max(x)` before an `exp`, or `x - min(x)`: the choice moves all numbers alike, and any bound of them would do."""
    above: dict[int, list[Any]] = {}
    for each in nodes:
        for child, _ in each.next_functions:
            above.setdefault(id(child), []).append(each)
    source = node.next_functions[0][0]
    pending = [node]
    while pending:
        made = pending.pop()
        for user in above.get(id(made), ()):
            name = name_of(user)
            if name in REARRANGING:
                pending.append(user)
            elif name in {"Sub", "Rsub"}:
                others = [child for child, _ in user.next_functions if child is not made]
                if any(each is source for each in others) or any(
                    name_of(each) == "Exp" for each in above.get(id(user), ())
                ):
                    return True
    return False
