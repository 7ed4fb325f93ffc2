"""Single operations that cut graphs, scramble shapes, saturate or mask: looked at in audited steps.

Their layers come with the first audited step, and are switches that are off between two audits, for the first steps: then
they go, and a later audit brings them for its own steps. These functions of C's are called everywhere, and a switch that
is off would cost more there than all comings and goings (ARCHITECTURE.md, "The points"). They are layers at points, not a
dispatch or function mode: a mode would have to be left in the order it was entered, around code that is not ours, and
switches off torch's fast paths.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from premortem.events import Detached, Masked, Reshaped, Rounded, Site, Softmaxed
from premortem.points import Subscriptions, caller
from premortem.probes.blended_numbers import BlendedNumbers
from premortem.probes.finite_questions import are_values
from premortem.probes.graph import leads_to, name_of
from premortem.probes.graph_values import birth_of
from premortem.probes.loss_meaning import softmax_dimension
from premortem.probes.masked_choices import MaskedChoices
from premortem.probes.modules import Models
from premortem.probes.numbers import on_host, share
from premortem.probes.recent_data import Recent
from premortem.probes.session import Session, is_user_code, tensors_in, user_site

_LOW = (torch.float16, torch.bfloat16)
_SELDOM = 64  # steps after which audits are so rare that the layers are not kept between two of them
# Returns by the calendar: each changes `torch.Tensor` twice, and Python (from 3.13 on) never again caches what it looks up in
# a class that was changed 1000 times. One in 500 steps: 125,000 steps. After that they return for alarms only.
_MOST_RETURNS = 250
_MOST_CUTS = 48  # graph walks per step
_MOST_CUTS_PER_LINE = 3
_BACK = 6  # operations before a softmax: a scale, a mask, a view
_MOST_ORIGINS = 8  # searches for what bore masked values
_MOST_BOUNDS = 256  # values that are bounded and looked at
# Operations that give numbers without a graph, and such whose derivative is zero everywhere.
_CUTS = {
    "detach": "detach",
    "detach_": "detach",
    "numpy": "numpy",
    "item": "item",
    "__float__": "item",
    "tolist": "tolist",
    "argmax": "argmax",
    "argmin": "argmin",
    "multinomial": "multinomial",
    "long": "long",
    "int": "int",
    "round": "round",
    "sign": "sign",
    "floor": "floor",
    "__gt__": "comparison",
    "__lt__": "comparison",
    "__ge__": "comparison",
    "__le__": "comparison",
}


_READS = frozenset(("data", "detach"))
_WHOLE = frozenset(("long", "int", "round"))
_PLACES = frozenset(("argmax", "argmin"))
_BEST = frozenset(("max", "min", "amax", "amin"))


class OpAudit:
    def __init__(self, session: Session, models: Models, recent: Recent) -> None:
        self.session = session
        self.blended = BlendedNumbers(session)
        self.choices = MaskedChoices(session)
        self.models = models
        self.recent = recent
        self._origins = self._bounds = 0
        self._alone: set[Site | None] = set()  # lines with a softmax over a single value
        self._scrambled: set[Site | None] = set()  # lines whose reshapes looked like transposes
        self.cuts = 0
        self.cut_at: Counter[Site | None] = Counter()
        self._audited = Subscriptions(session.listening, passing=True)
        self._masks = Subscriptions(session.listening, passing=True)
        session.passing.append(self._masks)
        self._layers: list[
            tuple[Any, str, Any]
        ] = []  # listed once: a look at `torch.Tensor` between changes is a change more
        self._returns = 0
        self.on_softmax: list[Callable[[torch.Tensor], None]] = []  # inside of a root: what it gave
        self.suspects: list[
            Callable[[], None]
        ] = []  # called when what is not finite was replaced, and no one looked

    def install(self) -> None:
        self.blended.install()
        self.models.before_forward.append(self.first_focus)

    def remove(self) -> None:
        self._audited.end()
        self._masks.end()

    def first_focus(self) -> None:
        """From the first forward on, not from the first import: when dynamo is imported (which building an
        optimizer does) it takes stock of torch's functions, and must find the real ones."""
        if "torch._dynamo" in sys.modules:
            self.models.before_forward.remove(self.first_focus)
            self.focus()

    def focus(self) -> None:
        """Called at every reported step: on in the audit gear, off in cruise and out of the compiler's way."""
        self.cuts = 0
        self.cut_at.clear()
        session = self.session
        ready = "torch._dynamo" in sys.modules and not session.compiling_used
        self._watch_masks(ready)
        due = self._returns < _MOST_RETURNS or session.step < session.alarm_until
        auditing = ready and due and session.auditing
        if auditing:
            if not self._audited or self._audited.is_away:
                self._returns += session.step >= _SELDOM
            if not (self._audited and self._audited.back()):
                self._put_on()
        elif not ready:
            self._audited.end()
        elif session.step >= _SELDOM:
            self._audited.away()
        self._audited.silence(not auditing)

    def _watch_masks(self, on: bool) -> None:
        """nan_to_num is rare and the fault may come late: it is watched in both gears."""
        if on == bool(self._masks):
            return
        if not on:
            self._masks.end()
            return
        for owner in (torch, torch.Tensor):
            for name in ("nan_to_num", "nan_to_num_", "nanmean", "nansum", "fmin", "fmax"):
                if hasattr(owner, name):
                    mask = functools.partial(self._masking, name.rstrip("_"))
                    self._masks.add(owner, name, mask, guarded=True)
            for name in ("clamp", "clip", "clamp_min", "clamp_max", "minimum", "maximum"):
                self._masks.add(owner, name, self._bounding, quiet=None, guarded=True)

    def _put_on(self) -> None:
        self._layers = self._layers or list(self._listed())
        for owner, name, make in self._layers:
            self._audited.add(owner, name, make, quiet=None, guarded=True)
        self._replace_data()

    def _listed(self) -> Iterator[tuple[Any, str, Any]]:
        # Never `Tensor.__getitem__`: a Python function there makes every tensor a sequence to C code, for good,
        # and `torch.tensor([loss_a, loss_b])` of the user's own raises.
        tensor = torch.Tensor
        for name, op in _CUTS.items():
            yield tensor, name, functools.partial(self._cutting, op)
        for name in ("tensor", "as_tensor", "argmax", "argmin", "multinomial", "round", "sign", "floor"):
            yield torch, name, functools.partial(self._cutting, name)
        yield torch, "reshape", functools.partial(self._reshaping, "reshape")
        for name in ("view", "reshape"):
            yield tensor, name, functools.partial(self._reshaping, name)
        for name in ("to", "half", "bfloat16"):
            yield tensor, name, self._lowering
        named = (
            (self._choosing, ("max", "min", "amax", "amin", "topk", "sort")),
            (self._cutting, ("argsort", "bucketize")),
            (self._turning, ("sin", "cos")),
            (self._normalising, ("softmax", "log_softmax")),
            (self._activating, ("tanh", "sigmoid", "relu", "relu_")),
        )
        for make, names in named:
            for owner in (torch, tensor):
                for name in names:
                    if hasattr(owner, name):
                        yield owner, name, functools.partial(make, name.rstrip("_"))

    # -- graphs that are cut --------------------------------------------------------------

    def _cutting(self, op: str, original: Any) -> Any:
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            given = args[0] if args else None
            if isinstance(given, (list, tuple)):  # torch.tensor([loss_a, loss_b])
                given = next((t for t in tensors_in(given) if t.grad_fn is not None), None)
            self._cut(op, given)
            if op in _WHOLE:
                self.blended.cast(given)
            result = original(*args, **kwargs)
            if op in _PLACES:
                self._chosen(op, args, kwargs, result)
            return result

        return wrapper

    def _choosing(self, op: str, original: Any) -> Any:
        """Values and places: the values keep their graph, and who goes on with the places alone has cut it."""

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            if isinstance(result, tuple):
                self._cut(op, args[0] if args else kwargs.get("input"))
            if op in _BEST:
                self._chosen(op, args, kwargs, result)
            return result

        return wrapper

    def _chosen(self, op: str, args: Any, kwargs: Any, result: Any) -> None:
        if torch.is_grad_enabled():
            with self.session.looking_at("op audit"):
                self.choices.chosen(op, args, kwargs, result)

    def _replace_data(self) -> None:
        inherited: Any = vars(torch._C.TensorBase)["data"]

        def get(tensor: torch.Tensor) -> Any:
            if not self._audited.silent and self.session.listening():
                self._cut("data", tensor)
            return inherited.__get__(tensor)

        def put(tensor: torch.Tensor, value: Any) -> None:
            inherited.__set__(tensor, value)

        self._audited.replace(torch.Tensor, "data", property(get, put))

    def _cut(self, op: str, tensor: Any) -> None:
        self._read(op, tensor)
        if not isinstance(tensor, torch.Tensor) or self.cuts >= _MOST_CUTS or not torch.is_grad_enabled():
            return
        # A parameter itself is often read to look at it or to change it by hand, but not inside a forward.
        if tensor.grad_fn is None and not (tensor.requires_grad and self.models.depth):
            return
        with self.session.looking_at("op audit"):
            at = user_site()
            self.cut_at[at] += 1
            if self.cut_at[at] > _MOST_CUTS_PER_LINE:
                return
            self.cuts += 1
            keys = leads_to(tensor, self.session.parameters.known)
            if keys:
                self.session.emit(
                    Detached(
                        step=self.session.step,
                        at=at,
                        op=op,
                        parameters=keys,
                        shape=tuple(tensor.shape),
                        inside=self.models.depth > 0,
                    )
                )

    def _read(self, op: str, tensor: Any) -> None:
        """Where each operation is followed: a weight is read without its graph, and outside of a forward pass."""
        session = self.session
        if (
            op not in _READS
            or session.scope is None
            or self.models.depth
            or not isinstance(tensor, nn.Parameter)
        ):
            return
        if tensor.requires_grad and torch.is_grad_enabled():
            with session.looking_at("op audit"):
                at = user_site()
                if at is not None:
                    session.plain_weights.given([tensor], at)

    # -- shapes ---------------------------------------------------------------------------

    def _reshaping(self, op: str, original: Any) -> Any:
        def wrapper(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            result = original(tensor, *args, **kwargs)
            before, after = tuple(tensor.shape), tuple(result.shape)
            # Libraries regroup on purpose (attention heads): only the user's own call counts.
            if len(before) > 1 and before != after and is_user_code(caller().f_code.co_filename):
                with self.session.looking_at("op audit"):
                    self._reshaped(op, before, after)
            return result

        return wrapper

    def _reshaped(self, op: str, before: tuple[int, ...], after: tuple[int, ...]) -> None:
        at = user_site()
        sizes = self.models.sizes()
        scrambled = scrambles(before, after)
        mixed = any(so(before, after, sizes) for so in (mixes, merges, joins))
        if scrambled or mixed:
            self._scrambled.add(at)
        elif at not in self._scrambled:
            return
        self.session.emit(
            Reshaped(
                step=self.session.step,
                at=at,
                op=op,
                before=before,
                after=after,
                mixes=mixed and not scrambled,
                plain=not (scrambled or mixed),
            )
        )

    # -- what is normalised over the batch ------------------------------------------------

    def _normalising(self, op: str, original: Any) -> Any:
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            if isinstance(result, torch.Tensor) and result.requires_grad:
                with self.session.looking_at("op audit"):
                    self._normalised(op, result)
                    for hears in self.on_softmax if op == "softmax" and self.models.depth else ():
                        hears(result)
            return result

        return wrapper

    def _normalised(self, op: str, result: torch.Tensor) -> None:
        node = result.grad_fn
        if result.dim() < 2 or node is None or not hasattr(node, "_saved_dim"):
            return
        dimension = softmax_dimension(node, result.dim())
        alone = result.shape[dimension] == 1 < result.numel()
        at = user_site() if alone or self._alone or dimension == 0 else None
        if alone and not made_by_product(node):
            self._alone.add(at)
        elif dimension != 0 and at not in self._alone:
            return
        self.session.emit(
            Softmaxed(
                step=self.session.step,
                at=at,
                dimension=dimension,
                op=op,
                shape=tuple(result.shape),
                samples=next(iter(self.models.sizes()), None),
                inside=bool(self.models.depth),
            )
        )

    # -- numbers that 16 bits cannot tell apart -------------------------------------------

    def _lowering(self, original: Any) -> Any:
        def wrapper(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            result = original(tensor, *args, **kwargs)
            if (
                self.models.autocast
                and result.dtype in _LOW
                and tensor.dtype not in _LOW
                and not torch.is_autocast_enabled(result.device.type)
            ):
                with self.session.looking_at("op audit"):
                    self._rounded("to", result)
            elif result.dtype == torch.int64 != tensor.dtype:
                self.blended.cast(tensor)
            return result

        return wrapper

    def _turning(self, op: str, original: Any) -> Any:
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            given = args[0] if args else kwargs.get("input")
            if isinstance(given, torch.Tensor) and given.dtype in _LOW:
                with self.session.looking_at("op audit"):
                    self._rounded(op, given)
            return original(*args, **kwargs)

        return wrapper

    def _rounded(self, op: str, tensor: torch.Tensor) -> None:
        if tensor.numel() < 2:
            return
        largest = float(on_host(tensor.detach()).abs().max())
        if not 0 < largest < math.inf:
            return
        spacing = torch.finfo(tensor.dtype).eps * 2.0 ** math.floor(math.log2(largest))
        if spacing >= 0.5:
            self.session.emit(
                Rounded(
                    step=self.session.step,
                    at=user_site(),
                    op=op,
                    dtype=str(tensor.dtype).removeprefix("torch."),
                    largest=largest,
                    spacing=spacing,
                )
            )

    # -- activations ----------------------------------------------------------------------

    def _activating(self, op: str, original: Any) -> Any:
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            if self.models.depth and isinstance(result, torch.Tensor):
                with self.session.looking_at("op audit"):
                    self.models.layers.activation(op, result, saturation(op, result))
            return result

        return wrapper

    # -- masks (always on: rare, and the fault may come late) ------------------------------

    def _masking(self, op: str, original: Any) -> Any:
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with self.session.looking_at("op audit"):
                self.masked(op, args[0] if args else kwargs.get("input"))
            return original(*args, **kwargs)

        return wrapper

    def _bounding(self, original: Any) -> Any:
        """A bound makes an ordinary number of infinity, and stops its gradient. Looked for in full steps."""
        session = self.session

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            looks = session.scope is None and self._bounds < _MOST_BOUNDS
            for value in args[:2] if looks else ():
                if are_values(value) and value.requires_grad:
                    with session.looking_at("op audit"):
                        self._bounds += 1
                        if bool((value.detach() == math.inf).any()):
                            for suspect in self.suspects:
                                suspect()
            return original(*args, **kwargs)

        return wrapper

    def masked(self, op: str, tensor: Any) -> None:
        if not isinstance(tensor, torch.Tensor) or not tensor.is_floating_point():
            return
        if tensor.device.type != "cpu" and not self.session.auditing:
            return
        bad = int((~torch.isfinite(tensor.detach())).sum())
        if bad:
            if self.session.scope is None:
                for suspect in self.suspects:
                    suspect()
            seen = self.session.scope.certificate(tensor) if self.session.scope is not None else None
            if seen is not None and seen.stage != "weights":  # nothing of it may arrive anywhere else
                self.session.emit(replace(seen, step=self.session.step))
            self.session.emit(
                Masked(
                    step=self.session.step,
                    at=user_site(),
                    op=op,
                    count=bad,
                    total=tensor.numel(),
                    grad=tensor.requires_grad,
                    gradient=self.session.in_backward or self._is_gradient(tensor),
                    origin=self._origin(tensor),
                )
            )

    def _origin(self, tensor: torch.Tensor) -> str:
        """What bore the values that are being hidden: the graph above them is still there."""
        self._origins += 1
        if tensor.grad_fn is None or tensor.device.type != "cpu" or self._origins > _MOST_ORIGINS:
            return ""
        birth = birth_of(tensor)
        return birth.detail if birth is not None else ""

    def _is_gradient(self, tensor: torch.Tensor) -> bool:
        roots = (model.module() for model in self.models.known.values())
        return any(p.grad is tensor for root in roots if root is not None for p in root.parameters())


def made_by_product(node: Any) -> bool:
    """What a softmax is given is a product of two tensors of the batch: attention, to as many places as there are."""
    for _ in range(_BACK):
        following = [each for each, _ in node.next_functions if each is not None]
        if not following:
            return False
        node = following[0]
        if name_of(node) in {"Bmm", "Baddbmm"}:
            return True
    return False


def scrambles(before: tuple[int, ...], after: tuple[int, ...]) -> bool:
    """The same sizes in another order: a transpose was meant, and the memory was cut anew instead."""
    old, new = [n for n in before if n != 1], [n for n in after if n != 1]
    return old != new and sorted(old) == sorted(new)


def mixes(before: tuple[int, ...], after: tuple[int, ...], inputs: tuple[int, ...]) -> bool:
    """(time, batch, features) cut into (batch, ...): rows of different samples end up in one.

    `inputs` are the first two sizes of the model's input; the one that leads afterwards must be among them."""
    return (
        len(before) >= 3
        and len(after) >= 2
        and before[0] > 1
        and before[0] != after[0]
        and before[1] == after[0] > 1
        and after[0] in inputs
    )


def merges(before: tuple[int, ...], after: tuple[int, ...], inputs: tuple[int, ...]) -> bool:
    """(batch, heads, time, features) cut into (batch, time, heads * features): time is taken from behind the heads, and what
    is merged are no neighbours.

    `inputs` are the first two sizes of the model's input; the second one is what moves."""
    if len(before) < 4 or not 3 <= len(after) < len(before) or len(inputs) < 2 or inputs[0] == inputs[1]:
        return False
    time = inputs[1]
    return (
        before[0] == after[0] == inputs[0]
        and after[1] == time > 1
        and before[1] not in (1, time)
        and before[2:].count(time) == 1
        and time not in after[2:]
    )


def joins(before: tuple[int, ...], after: tuple[int, ...], inputs: tuple[int, ...]) -> bool:
    """(batch, channels, time, ...) cut into (batch * time, channels, ...): the samples are joined with what stands behind the
    channels, and the channels stay whole.

    `inputs` are the first two sizes of the model's input; the first one is what is joined."""
    if len(before) < 3 or len(after) < 2 or not inputs or not before[0] == inputs[0] > 1:
        return False
    joined, remainder = divmod(after[0], before[0])
    if remainder or joined == 1 or not before[1] == after[1] > 1:
        return False
    if after[0] in itertools.accumulate(before, operator.mul):  # with its neighbours
        return False
    places = range(2, len(before))
    return any(
        math.prod(before[first : last + 1]) == joined
        and borders(before[2:first] + before[last + 1 :]) >= borders(after[2:])
        for first in places
        for last in range(first, len(before))
    )


def borders(sizes: tuple[int, ...]) -> set[int]:
    """Where the borders between sizes lie: those of merged neighbours are some of them."""
    return set(itertools.accumulate(sizes, operator.mul)) - {1}


def saturation(op: str, value: torch.Tensor) -> float:
    value = on_host(value.detach())
    if op == "tanh":
        return share(value.abs() > 0.99)
    if op == "sigmoid":
        return share((value < 0.01) | (value > 0.99))
    return share(value == 0)
