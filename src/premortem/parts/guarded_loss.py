"""A sum of loss terms, of which one that fails does not take the others with it."""

from __future__ import annotations

import dataclasses
import functools
import math
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils.hooks import RemovableHandle

from premortem.parts import causes
from premortem.parts.ledger import Ledger, TermRecord
from premortem.tensors.nested import tensors

Term = Callable[..., Tensor]
EXPLAINED = 3  # failures of a term that are looked into one by one; later ones are counted


@dataclass(frozen=True, slots=True)
class _Weighted:
    term: Term
    weight: float | None  # None: as it comes, with no multiplication

    def __call__(self, *inputs: Any, **named: Any) -> Tensor:
        value: Any = self.term(*inputs, **named)
        if not isinstance(value, Tensor):
            raise TypeError(f"a loss term returns a tensor with one value, not {type(value).__name__}")
        if value.numel() != 1:
            raise TypeError(
                f"a loss term returns a tensor with one value, not one of shape {tuple(value.shape)}"
            )
        return value if self.weight is None else self.weight * value


# For a run that is watched: its report shows the ledgers.
_in_use: weakref.WeakSet[GuardedLoss] = weakref.WeakSet()


def accounts() -> list[dict[str, Any]]:
    """The ledgers of all guarded losses that are in use, as plain values."""
    return [
        {
            "unattributed": loss.ledger.unattributed,
            "terms": [dataclasses.asdict(term) for term in list(loss.ledger.terms.values())],
        }
        for loss in list(_in_use)
    ]


class _Outcome(NamedTuple):
    value: Tensor
    number: float
    norm: float | None
    finite: bool


class GuardedLoss:
    """Adds loss terms and keeps a ledger: value, share, range, gradient norm and failures of each.

    ## Why it matters
    A total of NaN does not say which term it was, and one bad term spoils the gradient of all. Here a term whose value or
    gradient is not finite is replaced by its fallback for that batch, or left out where it has none. That is counted,
    and the ledger says why it failed: which operation, of what values, in which line. Nothing is replaced silently,
    and when no finite term is left the plain sum is returned, so that the step can be refused.

    A healthy batch gives the bits that `first(x, y) + 0.2 * second(x, y)` would give, value and gradient.

    ## Example
    >>> import torch
    >>> from premortem.parts import Charbonnier, GuardedLoss
    >>> def relative(prediction, target):
    ...     return ((prediction - target).abs() / target).mean()
    >>> loss = GuardedLoss(
    ...     {"pixel": Charbonnier(), "relative": (0.5, relative)},
    ...     fallbacks={"relative": torch.nn.functional.l1_loss},
    ... )
    >>> prediction = torch.full((1, 4), 2.0, requires_grad=True)
    >>> total = loss(prediction, torch.tensor([[1.0, 1.0, 1.0, 0.0]]))  # a zero to divide by
    >>> total.backward()
    >>> round(total.item(), 3)
    1.874
    >>> loss.ledger["relative"].replaced
    1
    >>> loss.ledger["relative"].cause.partition(", at ")[0]
    'div of values from 1 to 2 and values from 0 to 1 gave 1 infinite of 4 values'

    ## What it costs
    One wait for the device in each call, as for `loss.item()`, and one more when gradients are probed. To see a
    gradient before it is used, the backward of each term is run once more, up to the tensors you pass in and not
    through the model; your hooks on those tensors fire for it, too. `probe_every=50` does this in every 50th call,
    `probe_every=0` only after `probe()`; in the calls between, a non-finite gradient is counted and the next call is
    probed. A failing term is called once more to find the cause. Compile the model, not this: inside
    `torch.compile` it is a graph break.
    """

    def __init__(
        self,
        terms: Mapping[str, Term | tuple[float, Term]],
        fallbacks: Mapping[str, Term | tuple[float, Term]] | None = None,
        *,
        probe_every: int = 1,
    ) -> None:
        if not terms:
            raise ValueError("GuardedLoss needs at least one term")
        if strangers := sorted(set(fallbacks or ()) - set(terms)):
            raise ValueError(f"a fallback for {', '.join(strangers)}, and no term of that name")
        self._terms = {name: _weighted(term, None) for name, term in terms.items()}
        self._fallbacks = {
            name: _weighted(term, self._terms[name].weight) for name, term in (fallbacks or {}).items()
        }
        self.probe_every = probe_every
        self.ledger = Ledger({name: TermRecord(name) for name in terms})
        _in_use.add(self)
        self._calls = 0
        self._probe_next = False
        # For the calls that are not probed: one flag for each tensor that got a gradient since the last call.
        self._flags: list[Tensor] = []
        self._handles: list[RemovableHandle] = []

    def probe(self) -> None:
        """Measure gradient norms in the next call."""
        self._probe_next = True

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def __call__(self, *inputs: Any, **named: Any) -> Tensor:
        sources = [t for t in tensors((inputs, named)) if t.requires_grad]
        values = {name: term(*inputs, **named) for name, term in self._terms.items()}
        outcomes = self._outcomes(values, sources)
        kept: dict[str, _Outcome] = {}
        for name, outcome in outcomes.items():
            self.ledger[name].add(outcome.number, outcome.norm)
            chosen = outcome if outcome.finite else self._instead(name, outcome, sources, inputs, named)
            if chosen is not None:
                kept[name] = chosen
        self.ledger.share_out({name: outcome.number for name, outcome in kept.items()})
        self._listen(sources)
        return functools.reduce(torch.add, [each.value for each in (kept or outcomes).values()])

    def _outcomes(self, values: dict[str, Tensor], sources: list[Tensor]) -> dict[str, _Outcome]:
        for handle in self._handles:
            handle.remove()  # before the probe: it is not a gradient that anybody uses
        flags, self._flags = self._flags, []
        numbers = _read([*values.values(), *flags])
        if any(numbers[len(values) :]):
            self.ledger.unattributed += 1
            self._probe_next = True
        norms = _norms(values, sources) if self._probing() else {}
        return {
            name: _Outcome(
                value, number, norms.get(name), _is_finite(number, norms.get(name), value, sources)
            )
            for (name, value), number in zip(values.items(), numbers, strict=False)
        }

    def _probing(self) -> bool:
        asked, self._probe_next = self._probe_next, False
        self._calls += 1
        return asked or (self.probe_every > 0 and (self._calls - 1) % self.probe_every == 0)

    def _instead(
        self,
        name: str,
        failed: _Outcome,
        sources: list[Tensor],
        inputs: tuple[Any, ...],
        named: dict[str, Any],
    ) -> _Outcome | None:
        record, fallback = self.ledger[name], self._fallbacks.get(name)
        cause = record.cause
        if record.failures < EXPLAINED:
            if math.isfinite(failed.number):
                cause = causes.of_gradient(failed.value, sources)
            else:
                again = functools.partial(self._terms[name], *inputs, **named)
                cause = causes.of_value(again, list(tensors((inputs, named))), failed.number)
        chosen = None if fallback is None else self._stand_in(name, fallback(*inputs, **named), sources)
        record.fail(cause, replaced=chosen is not None)
        return chosen

    def _stand_in(self, name: str, value: Tensor, sources: list[Tensor]) -> _Outcome | None:
        number, norm = value.item(), _norms({name: value}, sources).get(name)
        finite = _is_finite(number, norm, value, sources)
        return _Outcome(value, number, norm, finite) if finite else None

    def _listen(self, sources: list[Tensor]) -> None:
        """Hooks that look and change nothing: between two probes they tell whether the next call needs one."""
        if self.probe_every != 1 and torch.is_grad_enabled():
            self._handles = [source.register_hook(self._flag) for source in sources]

    def _flag(self, gradient: Tensor) -> None:
        self._flags.append(~gradient.isfinite().all())


def _weighted(term: Term | tuple[float, Term], weight: float | None) -> _Weighted:
    return _Weighted(term[1], term[0]) if isinstance(term, tuple) else _Weighted(term, weight)


def _gradients(value: Tensor, sources: Sequence[Tensor]) -> list[Tensor]:
    if not sources or not value.requires_grad:
        return []
    found: Sequence[Tensor | None] = torch.autograd.grad(
        value, sources, torch.ones_like(value), retain_graph=True, allow_unused=True
    )
    return [gradient for gradient in found if gradient is not None]


def _norms(values: Mapping[str, Tensor], sources: Sequence[Tensor]) -> dict[str, float]:
    """Of the gradient that each term sends to the sources. Terms that send none are left out."""
    norms = {}
    for name, value in values.items():
        parts = [
            torch.linalg.vector_norm(g, dtype=torch.promote_types(g.dtype, torch.float32))
            for g in _gradients(value, sources)
        ]
        if parts:
            norms[name] = torch.linalg.vector_norm(torch.stack([part.to(parts[0]) for part in parts]))
    return dict(zip(norms, _read(list(norms.values())), strict=True)) if norms else {}


def _is_finite(number: float, norm: float | None, value: Tensor, sources: Sequence[Tensor]) -> bool:
    if not math.isfinite(number):
        return False
    if norm is None or math.isfinite(norm):
        return True
    # The squares of large, finite gradients overflow in the norm: look again before blaming the term.
    return all(bool(gradient.isfinite().all()) for gradient in _gradients(value, sources))


def _read(scalars: Sequence[Tensor]) -> list[float]:
    wide = functools.reduce(torch.promote_types, (scalar.dtype for scalar in scalars))
    flat = [scalar.detach().reshape(()).to(scalars[0].device, wide) for scalar in scalars]
    return [float(number) for number in torch.stack(flat).tolist()]
