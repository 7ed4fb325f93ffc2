"""What the script does, seen while it runs as it is: the facts of a `RunDescription`, each with the line it was first seen at.

They decide which changes can matter at all. What premortem reports about the same run comes on top."""

import copy
import inspect
import math
import random
import sys
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.optim.optimizer import Optimizer

from premortem.changes.activation import (
    ERRORS,
    LAYERS,
    SOFTMAX_INSIDE,
    SQUASHING,
    Origins,
    are_odd,
    wherever_called,
)
from premortem.changes.batches import leaves
from premortem.changes.epsilon import is_odd
from premortem.changes.inputs import moments
from premortem.changes.loss_terms import summands
from premortem.changes.ownership import reached
from premortem.changes.reach import Reach
from premortem.changes.shuffling import in_order
from premortem.changes.target_shape import COMPARING, broadcasts
from premortem.probes.losses import WATCHED
from premortem.probes.session import user_site
from premortem.why.measuring import Apart, is_sensitive

_LOOKS = 4  # backward passes whose graphs are looked at, and samples that are drawn twice
_CLIPS = ("clip_grad_norm_", "clip_grad_value_")
_MATRIX = 2  # dimensions: of fewer, weights are a scale or an offset
_ROWS = 4  # fewer samples say nothing about a feature
_FAR, _WIDE, _NARROW = 2.0, 5.0, 0.1  # a mean of so many deviations; a deviation above, or below
_SAME_RATE = 1e-12
_RISEN = 1.01  # times the first rate: more is no rounding
_OTHER = 2.5  # times as large, or as small, as what torch would give a layer
_LONG = 50  # batches, after which statistics that batch norm keeps are those of the data


class Facts:
    def __init__(self, reach: Reach, apart: Apart) -> None:
        self.reach = reach
        self.apart = apart
        self.known: dict[str, Any] = {}
        self.where: dict[str, list[Any]] = {}
        self._optimizers: list[weakref.ref[Optimizer]] = []
        self._first_rates: dict[tuple[int, int], float] = {}  # by optimizer and place of the group
        self._origins = Origins()
        self._sigmoids = Origins()
        self._scores = 0  # that were looked at
        self._rates: dict[
            tuple[int, int], list[float]
        ] = {}  # of a group: the first and the highest that a step was made at, and the last
        self._roots: set[int] = set()
        self._pending = False  # a backward pass since the last step
        self._stepped = False
        self._backwards = 0
        self._steps = 0
        self._normed: dict[int, int] = {}  # batches that a batch norm was trained on, by what it keeps

    def note(self, fact: str, value: Any = True, site: Any = None) -> None:
        self.known[fact] = value
        if fact not in self.where:
            site = site or user_site()
            if site is not None:
                self.where[fact] = [site.file, site.line]

    def more(self, fact: str, value: float) -> None:
        if value > self.known.get(fact, 0):
            self.note(fact, value)

    def install(self) -> None:
        reach = self.reach
        reach.on_built(self._built)
        reach.on_root_call(self._called)
        reach.on_step(self._step)
        owner: Any
        for owner in (Optimizer, nn.Module):
            reach.instead(owner, "zero_grad", self._cleared)
        for owner in (nn.utils, nn.utils.clip_grad):
            for name in _CLIPS:
                reach.instead(owner, name, self._noting("clips"))
        for name in SQUASHING:
            wherever_called(reach, name, self._origins.noting)
        wherever_called(reach, "sigmoid", self._sigmoids.noting)
        wherever_called(reach, "log_softmax", self._scored)
        for name in LAYERS:
            reach.instead(functional, name, self._layer)
        for name in WATCHED:
            if hasattr(functional, name):
                reach.instead(functional, name, self._compared(name))
        for name in ("__sub__", "__rsub__", "sub"):
            reach.instead(torch.Tensor, name, self._subtracted)
        reach.instead(functional, "dropout", self._dropped)
        reach.instead(functional, "batch_norm", self._norm)
        reach.instead(nn.Module, "load_state_dict", self._noting("loaded"))
        reach.instead(reach.torch, "compile", self._noting("compiled"))
        reach.points.add(torch.amp.autocast_mode.autocast, "__enter__", self._entering, order=reach.order)
        self._watch_loaders()

    def _noting(self, fact: str) -> Callable[..., Any]:
        def noted(original: Any, *args: Any, **kwargs: Any) -> Any:
            self.note(fact)
            return original(*args, **kwargs)

        return noted

    # -- the update -----------------------------------------------------------------------

    def _built(self, optimizer: Optimizer) -> None:
        self._optimizers.append(weakref.ref(optimizer))
        self.known.setdefault("optimizers", []).append(type(optimizer).__name__)
        self.note("rate")
        for place, group in enumerate(optimizer.param_groups):
            self._first_rates[id(optimizer), place] = float(group.get("lr", 0.0))
            self.more("weight_decay", float(group.get("weight_decay") or 0.0))
            if is_odd(group):
                self.note("odd_settings")

    def _held(self) -> list[Any]:
        optimizers = [each() for each in self._optimizers]
        return [p for each in optimizers if each for group in each.param_groups for p in group["params"]]

    def heard(self, loss: torch.Tensor) -> None:
        """A backward pass is about to begin."""
        if float(loss.detach()) < 0:
            self.note("negative_loss")
        if self._backwards < _LOOKS:
            held = {id(p) for p in self._held()}
            self.more("missing", sum(id(p) not in held for p in reached(loss)) if held else 0)
            self.more("terms", len(summands(loss)))
            self.note("low_precision", self.known.get("low_precision", False) or _low(self._held()))
        if self._stepped and not self._pending and len(self._optimizers) == 1:
            left = [p.grad for p in self._held()[:3] if p.grad is not None]
            if any(bool(each.any()) for each in left):
                self.note("stale_gradients")
        self._pending = True
        self._backwards += 1

    def _step(self, step: Callable[[], Any], optimizer: Any) -> Any:
        for place, group in enumerate(optimizer.param_groups):  # by place: `load_state_dict` makes new groups
            first = self._first_rates.get((id(optimizer), place))
            rate = float(group.get("lr", first or 0.0))
            if first is not None and abs(rate - first) > _SAME_RATE:
                self.note("schedules")
            seen = self._rates.setdefault((id(optimizer), place), [rate, rate, rate])
            seen[1:] = [max(seen[1], rate), rate]
        self._pending, self._stepped = False, True
        self._steps += 1
        return step()

    def _cleared(self, original: Any, owner: Any, *args: Any, **kwargs: Any) -> Any:
        if self._pending and isinstance(owner, Optimizer) and len(self._optimizers) == 1:
            self.note("cleared_before_step", self.known.get("cleared_before_step", 0) + 1)
        return original(owner, *args, **kwargs)

    # -- models and losses ----------------------------------------------------------------

    def _called(self, root: nn.Module, run: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        graded = torch.is_grad_enabled()
        if id(root) not in self._roots:
            self._roots.add(id(root))
            self.more("frozen", sum(not p.requires_grad for p in root.parameters()))
            with self.apart():
                strange = any(map(odd, leaves((args, kwargs))))
                changed = any(map(_weighs_otherwise, root.modules()))
            if strange:
                self.note("odd_inputs")
            if changed:
                self.note("own_weights")
            self.known.setdefault("device", next(root.parameters()).device.type)
        if root.training != graded and is_sensitive(root):
            self.note("eval_with_gradients" if graded else "train_without_gradients")
        if self._backwards >= _LOOKS:
            return run(*args, **kwargs)
        before = _chance()[0]
        made = run(*args, **kwargs)
        if graded and before != _chance()[0]:
            self.note("draws")
        return made

    def _compared(self, name: str) -> Callable[..., Any]:
        def compared(original: Any, *args: Any, **kwargs: Any) -> Any:
            given = inspect.signature(original).bind(*args, **kwargs).arguments
            made, wanted = given.get("input"), given.get("target")
            if torch.is_grad_enabled() and isinstance(wanted, torch.Tensor):
                self.note("targets")
                if name in SOFTMAX_INSIDE:
                    self._look_at_scores(made)
                if name in (*SOFTMAX_INSIDE, *ERRORS) and self._origins.of(made) is not None:
                    self.note("squashed" if name in SOFTMAX_INSIDE else "bounded")
                if name in COMPARING and broadcasts(made, wanted):
                    self.note("mismatched")
            return original(*args, **kwargs)

        return compared

    def _scored(self, original: Any, input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002 - torch's name
        self._look_at_scores(input)
        return original(input, *args, **kwargs)

    def _look_at_scores(self, scores: Any) -> None:
        """Before anything is learned."""
        if self._scores or not torch.is_grad_enabled() or not isinstance(scores, torch.Tensor):
            return
        self._scores += 1
        with self.apart():
            if are_odd(scores):
                self.note("odd_scores")

    def _layer(self, original: Any, input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002 - torch's name
        if self._sigmoids.of(input) is not None:
            self.note("sigmoid_layers")
        return original(input, *args, **kwargs)

    def _subtracted(self, original: Any, left: Any, right: Any, *args: Any, **kwargs: Any) -> Any:
        if broadcasts(left, right) and left.requires_grad != right.requires_grad:
            self.note("mismatched")
        return original(left, right, *args, **kwargs)

    def _dropped(
        self,
        original: Any,
        input: Any,  # noqa: A002 - torch's name
        p: float = 0.5,
        training: bool = True,
        inplace: bool = False,
    ) -> Any:
        if training:
            self.more("dropout", p)
        return original(input, p, training, inplace)

    def _norm(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        given = inspect.signature(original).bind(*args, **kwargs).arguments
        kept = id(given.get("running_mean"))
        if given.get("training"):
            self._normed[kept] = self._normed.get(kept, 0) + 1
        elif self._normed.get(kept, 0) >= _LONG:
            self.note("kept_statistics")
        return original(*args, **kwargs)

    def _entering(self, original: Any) -> Any:
        def __enter__(context: Any) -> Any:  # noqa: N807
            if getattr(context, "_enabled", False):
                self.note("autocast")
                self.note("low_precision")
            return original(context)

        return __enter__

    # -- data -----------------------------------------------------------------------------

    def _watch_loaders(self) -> None:
        from torch.utils import data
        from torch.utils.data import DataLoader, _utils

        def iterating(original: Any) -> Any:
            def __iter__(loader: Any) -> Any:  # noqa: N807
                self.note("loader")
                if torch.is_grad_enabled() and in_order(loader):
                    self.note("unshuffled")
                return original(loader)

            return __iter__

        def fetching(original: Any) -> Any:
            def fetch(fetcher: Any, index: Any) -> Any:
                before = _chance()
                got = original(fetcher, index)
                if before != _chance():
                    self.note("augments")
                return got

            return fetch

        for owner in (data, data.dataset):
            self.reach.instead(owner, "random_split", self._noting("splits"))
        points = self.reach.points
        points.add(DataLoader, "__iter__", iterating, order=self.reach.order)
        points.add(_utils.fetch._MapDatasetFetcher, "fetch", fetching)  # noqa: SLF001 - samples are drawn there

    def told(self) -> dict[str, Any]:
        """For `RunDescription`; the lines are in `where`."""
        known = {name: value for name, value in self.known.items() if name != "rate"}
        known["optimizers"] = sorted(set(known.get("optimizers", [])))
        known["backwards_per_step"] = max(1, round(self._backwards / max(1, self._steps)))
        # Once at the very beginning clears what nothing has used yet.
        often = known.get("cleared_before_step", 0)
        known["cleared_before_step"] = often > max(1, self._steps // 2)
        known["warming"] = any(
            last >= highest > _RISEN * first for first, highest, last in self._rates.values()
        )
        return known


def _chance() -> tuple[Any, ...]:
    """The state of all generators of random numbers that a dataset may draw from."""
    numpy: Any = sys.modules.get("numpy")
    drawn = numpy.random.get_state()[2] if numpy is not None else 0
    return hash(torch.get_rng_state().numpy().tobytes()), hash(random.getstate()), drawn


def _weighs_otherwise(part: nn.Module) -> bool:
    """Whether the weights of a layer are far larger or smaller than torch would begin with."""
    own = part._parameters.get("weight")  # noqa: SLF001 - one that is made of others is none of these
    reset = getattr(part, "reset_parameters", None)
    of_torch = type(part).__module__.startswith("torch.nn") and callable(reset)
    if not of_torch or own is None or own.dim() < _MATRIX or not own.is_floating_point():
        return False
    state = torch.get_rng_state()
    with torch.no_grad():
        fresh: Any = copy.deepcopy(part).cpu()  # of a GPU's random numbers none is drawn
        fresh.reset_parameters()
        usual, mine = float(fresh.weight.float().std()), float(own.float().std())
    torch.set_rng_state(state)
    if not (math.isfinite(usual) and usual > 0):
        return False
    return not usual / _OTHER < mine < usual * _OTHER


def _low(held: list[Any]) -> bool:
    return any(p.dtype in {torch.float16, torch.bfloat16} for p in held)


def odd(tensor: torch.Tensor) -> bool:
    """Whether features of an input are far from mean 0 and deviation 1."""
    if not tensor.is_floating_point() or tensor.dim() < 2 or len(tensor) < _ROWS or tensor.requires_grad:
        return False
    mean, deviation = moments(tensor)
    far = (
        (mean.abs() > _FAR * deviation + 1) | (deviation > _WIDE) | ((deviation < _NARROW) & (deviation > 0))
    )
    return bool(far.any())
