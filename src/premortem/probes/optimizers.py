"""Optimizers: what they hold, when they step, what became of the gradients in between."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch.optim.optimizer import Optimizer

from premortem.events import Group, OptimizerBuilt, OptimizerStep, Site, ZeroGrad
from premortem.points import after_optimizer_steps, before_optimizer_steps, unseen
from premortem.probes.fused_scaling import left_out, scale_of
from premortem.probes.session import Session, sampled, user_site
from premortem.probes.source import over_micro_batches, under_modulo

_MOST_SENTINELS = 48  # in the audit gear
_FEW_SENTINELS = 4  # in cruise, where six looks a step at each of them would be felt
_COUNTED_EVERY = 8  # steps, in cruise, after which the parameters with a gradient are counted again
_GLANCES = 3
_LEISURE = 0.02  # seconds


class Track:
    """What happened to one optimizer's gradients since its last step."""

    __slots__ = (
        "__weakref__",
        "after_backward",
        "after_step",
        "after_zero",
        "backwards",
        "built",
        "built_at",
        "cleared",
        "counted",
        "counts",
        "emptied",
        "glances",
        "key",
        "most",
        "nonzero",
        "optimizer",
        "pending",
        "rates",
        "reused",
        "scaled",
        "sentinels",
        "sites",
        "steps",
        "touched",
        "untold",
        "values",
        "weighed",
        "written",
    )

    def __init__(self, optimizer: Optimizer, key: int, built: int, at: Site | None) -> None:
        self.optimizer = weakref.ref(optimizer)
        self.key = key
        self.built = built
        self.built_at = at
        self.steps = 0
        self.untold = 0  # of them, since the last one that was told
        self.written = self.weighed = 0  # versions, at the last step: of a gradient, and of its weight
        self.pending = 0  # backward calls whose gradients are in the sum: since the last clearing
        self.counted = (0, 0)  # trainable parameters, and how many of them had a gradient at the last step
        self.emptied = self.touched = self.reused = False
        self.nonzero = False  # the last backward left a gradient that is not zero (audit)
        self.counts: set[tuple[int, int]] = set()
        self.glances: list[Any] = []
        self.rates: list[Any] = []  # the very objects its groups held as learning rates at the last step
        self.most = _MOST_SENTINELS
        self.choose()
        self.reset()

    def look_at(self, most: int) -> None:
        """Between two steps: how many sentinels the next one is watched by."""
        if most != self.most:
            self.most = most
            self.choose()

    def choose(self) -> None:
        """A few parameters stand for all: every one of a small optimizer, an even spread of a large one."""
        optimizer = self.optimizer()
        held = [p for group in optimizer.param_groups for p in group["params"]] if optimizer else []
        held = [p for p in held if isinstance(p, torch.Tensor)]
        stride = max(1, len(held) // self.most)
        self.sentinels = [weakref.ref(p) for p in held[::stride]]
        self.after_step: list[Any] = [None] * len(self.sentinels)
        self.after_backward: list[Any] = [None] * len(self.sentinels)
        self.after_zero: list[Any] | None = None  # set while nothing came after a clearing

    def rewritten(self, rates: list[Any]) -> bool:
        """Whether every rate is another object than at the last step: somebody assigned it, if only the same value."""
        before, self.rates = self.rates, rates
        return bool(before) and all(old is not new for old, new in zip(before, rates, strict=False))

    def reset(self) -> None:
        self.backwards = 0
        self.scaled = False
        self.sites: list[Site] = []
        self.values: list[float | None] = []
        self.cleared = False

    def ended(self) -> None:
        """A step is over: what follows is measured from here."""
        self.after_step = now = self.marks()
        self.reset()
        if all(mark is None for mark in now):  # it clears its gradients itself
            self.cleared = True
            self.pending = 0

    def marks(self) -> list[Any]:
        """Identity and version of each sentinel's gradient: changes when it is written or replaced."""
        return [
            None if (p := reference()) is None or (grad := p.grad) is None else (id(grad), grad._version)
            for reference in self.sentinels
        ]

    def trace(self) -> tuple[int, int]:
        """Right before a step: how often a gradient, and its weight, were written since the last one. Whoever accumulates,
        clips, does not clear, or sets weights by hand shows in these two numbers."""
        p = self.sentinels[0]() if self.sentinels else None
        if p is None:
            return 0, 0
        grad = p.grad
        written, weighed = -1 if grad is None else grad._version, p._version
        trace = written - self.written if written > self.written else written, weighed - self.weighed
        self.written, self.weighed = written, weighed
        return trace

    def count(self) -> None:
        optimizer = self.optimizer()
        groups = optimizer.param_groups if optimizer is not None else []
        held = [p for group in groups for p in group["params"] if p.requires_grad]
        self.counted = (len(held), len([p for p in held if p.grad is not None]))

    def glance(self) -> list[Any]:
        """A few values of a few sentinels (versions where a look would wait for the device)."""
        found = [p for reference in self.sentinels[:_GLANCES] if (p := reference()) is not None]
        return [(p._version, sampled(p, 2) if p.device.type == "cpu" else None) for p in found]

    def values_moved(self) -> bool:
        """Whether somebody wrote the weights since the last backward pass."""
        return bool(self.glances) and self.glance() != self.glances

    def all_zero(self) -> bool:
        """Whether every gradient is zero. Reads memory: for the audit gear."""
        optimizer = self.optimizer()
        held = [p for group in optimizer.param_groups for p in group["params"]] if optimizer else []
        return not any(
            p.grad is not None and (p.grad.layout != torch.strided or bool(p.grad.any())) for p in held
        )

    def left_empty(self, now: list[Any]) -> bool:
        """Every gradient that the last backward pass left was cleared since, and not put back by hand."""
        zeroed = self.after_zero or [None] * len(now)
        pairs = [
            (n, z) for n, z, had in zip(now, zeroed, self.after_backward, strict=False) if had is not None
        ]
        return bool(self.backwards and pairs) and all(n is None or n == z for n, z in pairs)


class Optimizers:
    """Watches every `torch.optim.Optimizer`, whoever wrote it."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.tracks: dict[int, Track] = {}
        self.inside: int | None = None  # key of the optimizer that is stepping right now
        self.met: list[Any] = []  # called with each optimizer when it is first seen
        self.was_refused = False  # the last step was not made
        self.last_site: Site | None = None  # of the last step
        self.before_step: list[Any] = []  # called with (optimizer, track) while gradients are in place
        self._awaiting: int | None = None  # the optimizer whose closure is still making them
        self.after_step: list[Any] = []  # called with (optimizer, track, step)
        self.told_only: set[Any] = set()  # those of them that a rested step leaves out
        # Those that a rested step may put off for a moment: what people asked for, signals, the room on the disk.
        self.at_leisure: set[Any] = set()
        self.heeds: Callable[[], bool] = lambda: True  # whether a rested step has listeners before it
        self._quiet: tuple[int, list[Any], list[Any]] = (0, [], [])  # who hears of a rested step
        self._leisure = 0.0  # when the last of those was made
        self._last_counted = 0  # the optimizer that made the last rested step
        self.on_clear: list[Any] = []  # called with the key of an optimizer whose gradients were cleared
        self._stepping: list[int] = []
        self._left_out = False  # a scaler has the kernel leave out the step that is being made: it is none
        self._hooks: list[Callable[[], None]] = []
        self._failed: set[int] = set()  # optimizers whose constructor raised
        self._trace: tuple[int, int] | None = None  # of the step that is being made

    def install(self) -> None:
        session = self.session
        session.patch(Optimizer, "__init__", self._wrap_init)
        for cls in vars(torch.optim).values():
            if isinstance(cls, type) and issubclass(cls, Optimizer) and cls is not Optimizer:
                if "__init__" in vars(cls):
                    session.patch(cls, "__init__", self._wrap_arguments)
        session.around(Optimizer, "add_param_group", after=self._group_added)
        for owner in (Optimizer, torch.nn.Module):
            session.around(
                owner,
                "zero_grad",
                before=self._zero_before,
                after=self._zero_after,
                quiet=session.rest.clears,
            )
        self.listen()

    def listen(self) -> None:
        self._hooks = [before_optimizer_steps(self._pre_step), after_optimizer_steps(self._post_step)]

    def remove(self) -> None:
        for take_off in self._hooks:
            take_off()
        self._hooks.clear()

    # -- construction ---------------------------------------------------------------------

    def _wrap_init(self, original: Any) -> Any:
        def __init__(optimizer: Optimizer, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            try:
                original(optimizer, *args, **kwargs)
            except Exception as error:
                if self.session.listening():
                    with self.session.looking_at("optimizer built"):
                        self._built(optimizer, user_site(beyond=optimizer), error=str(error))
                raise
            if self.session.listening():
                with self.session.looking_at("optimizer built"):
                    self._built(optimizer, user_site(beyond=optimizer))

        return __init__

    def _wrap_arguments(self, original: Any) -> Any:
        """torch's own optimizers check their arguments before `Optimizer.__init__` is reached."""

        def __init__(optimizer: Optimizer, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            try:
                original(optimizer, *args, **kwargs)
            except Exception as error:
                if self.session.listening():
                    with self.session.looking_at("optimizer built"):
                        lr = kwargs.get("lr", args[1] if len(args) > 1 else None)
                        self._built(optimizer, user_site(), error=str(error), lr=lr)
                raise

        return __init__

    def introduce(self, optimizer: Optimizer) -> None:
        self._built(optimizer, None)

    def _built(
        self, optimizer: Optimizer, at: Site | None, again: bool = False, error: str = "", lr: Any = None
    ) -> None:
        key = self.session.optimizers.of(optimizer)
        if error:
            if key in self._failed:  # told where it was raised first
                return
            self._failed.add(key)
        if not error and not again:
            self._follow(optimizer, key, at)
            self.session.look_closer()
        elif again:
            self.tracks[key].choose()
        groups = getattr(optimizer, "param_groups", [])
        defaults = getattr(optimizer, "defaults", {})
        rates = (lr, defaults.get("lr"), *(group.get("lr") for group in groups))
        self.session.emit(
            OptimizerBuilt(
                step=self.session.step,
                at=at,
                optimizer=key,
                kind=type(optimizer).__name__,
                groups=tuple(self._group(group) for group in groups),
                fused=bool(defaults.get("fused")),
                maximize=bool(defaults.get("maximize")),
                lr_text=next((rate for rate in rates if isinstance(rate, str)), ""),
                frozen=tuple(
                    self.session.parameters.of(p)
                    for group in groups
                    for p in group["params"]
                    if isinstance(p, torch.Tensor) and not p.requires_grad
                ),
                again=again,
                error=error,
            )
        )

    def _group(self, group: dict[str, Any]) -> Group:
        return Group(
            number(group.get("lr")),
            number(group.get("weight_decay", 0.0)),
            number(group.get("momentum", (group.get("betas") or (0.0,))[0])),
            tuple(self.session.parameters.of(p) for p in group["params"] if isinstance(p, torch.Tensor)),
            eps if isinstance(eps := group.get("eps"), float) else 0.0,
        )

    def _group_added(self, note: Any, result: Any, optimizer: Optimizer, *args: Any, **kwargs: Any) -> None:
        # Optimizer.__init__ itself adds its groups through this method.
        key = self.session.optimizers.known(optimizer)
        if key in self.tracks:
            self._built(optimizer, user_site(), again=True)

    # -- clearing -------------------------------------------------------------------------

    def _zero_before(self, owner: Any, *args: Any, **kwargs: Any) -> list[tuple[Track, list[Any]]]:
        self.session.rest.clears(owner)
        return [(track, track.marks()) for track in self.live()]

    def _zero_after(self, note: Any, result: Any, owner: Any, *args: Any, **kwargs: Any) -> None:
        wasted, cleared, by_hand = [], [], False
        for track, before in note or ():
            after = track.marks()
            if any(b is not None and a != b for a, b in zip(after, before, strict=False)):
                track.cleared = True
                track.after_zero = after
                cleared.append(track.key)
                for hears in self.on_clear:
                    hears(track.key)
                if track.backwards and track.pending:
                    wasted.append(track.key)
                    by_hand = by_hand or track.values_moved()
                track.pending = 0
        self.session.emit(
            ZeroGrad(
                step=self.session.step,
                at=user_site(),
                optimizer=self.session.optimizers.known(owner),
                wasted=tuple(wasted),
                cleared=tuple(cleared),
                by_hand=by_hand,
            )
        )

    def rested(self, cleared: set[int]) -> None:
        """Steps went by untold, and perhaps gradients of some optimizers were cleared since the last of them."""
        for track in self.live():
            track.look_at(_MOST_SENTINELS if self.session.auditing else _FEW_SENTINELS)
            track.ended()
            if (
                track.key != self._last_counted
            ):  # its gradients may be new ones, which its own next step will use
                track.pending = 0
            if track.key in cleared:
                track.cleared = True
                track.after_zero = track.marks()
                track.pending = 0

    def live(self) -> list[Track]:
        dead = [key for key, track in self.tracks.items() if track.optimizer() is None]
        for key in dead:
            del self.tracks[key]
        return list(self.tracks.values())

    def held(self) -> set[int]:
        """id() of every parameter that some optimizer holds."""
        living = [optimizer for track in self.live() if (optimizer := track.optimizer()) is not None]
        return {id(p) for optimizer in living for group in optimizer.param_groups for p in group["params"]}

    # -- backward tells us ----------------------------------------------------------------

    def backward_starts(self) -> bool:
        """Before a backward pass; True when it will add to gradients a step has already used."""
        leftovers = False
        for track in self.live():
            now = track.marks()
            if track.steps and not track.cleared and track.backwards == 0:
                kept = [
                    n for n, old in zip(now, track.after_step, strict=False) if old is not None and n == old
                ]
                if 2 * len(kept) <= sum(old is not None for old in track.after_step):
                    track.cleared = True
                    track.pending = 0
                leftovers = leftovers or bool(kept)
            elif track.backwards and any(
                old is not None and n is None for n, old in zip(now, track.after_backward, strict=False)
            ):
                track.cleared = True
                track.pending = 0
            track.after_backward = now
        return leftovers

    def backward_ended(self, at: Site | None, value: float | None, scaled: bool = False) -> tuple[int, ...]:
        """Keys of the optimizers whose parameters got a gradient."""
        reached = []
        for track in self.live():
            now = track.marks()
            if any(n is not None and n != old for n, old in zip(now, track.after_backward, strict=False)):
                track.backwards += 1
                track.values.append(value)
                if at is not None and at not in track.sites:
                    track.sites.append(at)
                track.pending += 1
                track.scaled = scaled
                track.after_zero = None
                track.glances = track.glance()
                track.nonzero = self.session.auditing and not track.all_zero()
                reached.append(track.key)
            track.after_backward = now
        return tuple(reached)

    def gradients_replaced(self, unscaled: int | None = None) -> None:
        """Clipping or unscaling wrote the gradients: what follows is measured from here."""
        for track in self.live():
            track.scaled = track.scaled and track.key != unscaled
            if track.after_zero is None:
                track.after_backward = track.marks()

    # -- stepping -------------------------------------------------------------------------

    def track(self, optimizer: Optimizer) -> Track:
        key = self.session.optimizers.of(optimizer)
        known = self.tracks.get(key)
        # Else built before premortem was attached (a notebook).
        return known if known is not None else self._follow(optimizer, key, None)

    def _follow(self, optimizer: Optimizer, key: int, at: Site | None) -> Track:
        track = self.tracks[key] = Track(optimizer, key, self.session.tick(), at)
        for listener in self.met:
            listener(optimizer)
        return track

    def refuse(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        """A step that is not made is told like any other: the loop is what it is, only the weights stay."""
        self._pre_step(optimizer, args, kwargs, refused=True)
        self._post_step(optimizer, (optimizer, *args), kwargs)

    def _pre_step(self, optimizer: Optimizer, args: Any, kwargs: Any, *, refused: bool = False) -> Any:
        """Of what torch calls before a step; a closure is handed back with a look at what it has made."""
        session = self.session
        if not session.listening():
            return None
        if session.resting and not refused and self._count_before(optimizer, args, kwargs):
            return None
        with session.looking_at("optimizer step"):
            key = session.optimizers.of(optimizer)
            track = self.track(optimizer)
            self._left_out = left_out(optimizer, may_wait=self.session.auditing)
            if self._left_out:
                return None
            self.was_refused = refused
            if key in self._stepping:  # left behind by a step that raised
                del self._stepping[self._stepping.index(key) :]
            self._stepping.append(key)
            if len(self._stepping) > 1:  # a wrapper (Lookahead, SAM) steps its inner optimizer: one step
                return None
            self.inside = key
            self._awaiting = None
            self._trace = None
            if not refused and closure_of(args, kwargs) is not None and self.calls_once(optimizer):
                self._awaiting = key
                return self._with_closure(optimizer, args, kwargs)
            self._look(optimizer, track)
        return None

    def _count_before(self, optimizer: Optimizer, args: Any, kwargs: Any) -> bool:
        """Before a rested step. False if it takes more than this: nested, with a closure, left out by a scaler."""
        key = self.session.optimizers.known(optimizer)
        track = self.tracks.get(key) if key is not None else None
        if (
            track is None
            or self._stepping
            or len(args) > 1
            or kwargs
            or getattr(optimizer, "found_inf", None) is not None
        ):
            return False
        self._left_out = self.was_refused = False
        self._stepping.append(track.key)
        self.inside = track.key
        self._trace = track.trace()
        if self.heeds():
            with self.session.looking_at("optimizer step", pieces=False):
                for listener in self._listeners()[1]:
                    listener(optimizer, track)
        return True

    def _listeners(self) -> tuple[int, list[Any], list[Any]]:
        """Who hears of a rested step before it, and right after it."""
        number = len(self.before_step) + len(self.after_step)
        if self._quiet[0] != number:
            before = [each for each in self.before_step if each not in self.told_only]
            late = self.told_only | self.at_leisure
            self._quiet = (number, before, [each for each in self.after_step if each not in late])
        return self._quiet

    def _with_closure(self, optimizer: Optimizer, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """The same arguments, with a closure that also tells when the gradients are there."""
        closure = closure_of(args, kwargs)

        @unseen
        @functools.wraps(closure)
        def told() -> Any:
            result = closure()
            self.gradients_made(optimizer)
            return result

        if len(args) > 1:
            return (args[0], told, *args[2:]), kwargs
        return args, {**kwargs, "closure": told}

    @staticmethod
    def calls_once(optimizer: Optimizer) -> bool:
        """Whether its `step` calls a closure once, before anything else, and then uses the gradients."""
        ours = type(optimizer).__module__.startswith("torch.optim.")
        return ours and not isinstance(optimizer, torch.optim.LBFGS)

    def gradients_made(self, optimizer: Optimizer) -> None:
        """A closure has come to its end: the gradients are in place, and the update follows."""
        key, self._awaiting = self._awaiting, None
        if key is not None and self.session.listening():
            with self.session.looking_at("optimizer step"):
                self._look(optimizer, self.tracks[key])

    def _look(self, optimizer: Optimizer, track: Track) -> None:
        """While gradients are in place, right before they are used."""
        if self._awaiting is None and not isinstance(optimizer, torch.optim.LBFGS):
            self._trace = track.trace()
        if self.session.resting:
            for listener in self._listeners()[1]:
                listener(optimizer, track)
            return
        now = track.marks()
        track.emptied = track.left_empty(now) or (
            self.session.auditing and bool(track.backwards) and track.nonzero and track.all_zero()
        )
        track.touched = any(
            n is not None and n != old for n, old in zip(now, track.after_backward, strict=False)
        )
        if any(old is not None and n is None for n, old in zip(now, track.after_step, strict=False)):
            track.cleared = True
        track.reused = bool(track.pending) and not track.backwards and same_gradients(now, track.after_step)
        if self.session.auditing or track.steps % _COUNTED_EVERY == 0 or None in now:
            track.count()
        for listener in self.before_step:
            listener(optimizer, track)

    def _post_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        if not self.session.listening():
            self.inside = None
            return
        if self._left_out:
            self._left_out = False
            return
        if self.session.resting and self._count_after(optimizer):
            return
        with self.session.looking_at("optimizer step"):
            key = self.session.optimizers.of(optimizer)
            track = self.tracks[key]
            track.steps += 1
            if key in self._stepping:
                del self._stepping[self._stepping.index(key) :]
            if self._stepping:
                track.after_step = track.marks()
                track.reset()
                return
            self.inside = None
            self.session.advance()
            closure = closure_of(args, kwargs) is not None
            if closure:  # it makes the gradients
                track.count()
            held, with_grad = track.counted
            at = user_site()
            event = OptimizerStep(
                step=self.session.step,
                at=at,
                optimizer=key,
                kind=type(optimizer).__name__,
                lrs=tuple(number(group.get("lr")) for group in optimizer.param_groups),
                closure=closure,
                parameters=held,
                with_grad=with_grad,
                backwards=track.backwards,
                backward_sites=tuple(track.sites),
                values=tuple(track.values),
                cleared=track.cleared or track.steps == 1,
                emptied=track.emptied and not closure,
                reused=track.reused and not track.backwards,
                touched=track.touched,
                pending=track.pending,
                scaled=track.scaled and not closure and scale_of(optimizer) is None,
                gated=under_modulo(at)
                or (track.pending > 1 and len(track.sites) == 1 and over_micro_batches(track.sites[0])),
                rewritten=track.rewritten([group.get("lr") for group in optimizer.param_groups]),
                stray=stray_rate(optimizer),
                refused=self.was_refused,
                rested=track.untold,
                batches=self.session.drawn(self.session.step) if track.backwards > 1 else None,
            )
            track.untold = 0
            self.last_site = at
            track.look_at(_MOST_SENTINELS if self.session.auditing else _FEW_SENTINELS)
            track.ended()
            if track.counted not in track.counts:
                track.counts.add(track.counted)
                self.session.look_closer()
            # The step is told first, then the numbers about it.
            self.session.emit(event)
            for listener in self.after_step:
                listener(optimizer, track, self.session.step)
            self.session.rest.step_told(track, self._trace)

    def _count_after(self, optimizer: Optimizer) -> bool:
        """After a rested step. False if it was the inner one of several."""
        track = self.tracks[self._stepping[-1]] if self._stepping else None
        if track is None or len(self._stepping) > 1 or track.optimizer() is not optimizer:
            return False
        session = self.session
        self._stepping.clear()
        self.inside = None
        track.steps += 1
        track.untold += 1
        self._last_counted = track.key
        session.advance()
        try:
            session.rest.step_rested(track, self._trace)
        except Exception as error:  # noqa: BLE001 - a bug of ours is written down, never raised
            session.fault("optimizer step", error)
        with session.looking_at("optimizer step", pieces=False):
            for listener in self._listeners()[2] if session.resting else self.after_step:
                listener(optimizer, track, session.step)
            if session.resting and session.rest.clock - self._leisure > _LEISURE:
                self._leisure = session.rest.clock
                for listener in self.after_step:
                    if listener in self.at_leisure:
                        listener(optimizer, track, session.step)
        return True


def closure_of(args: Any, kwargs: Any) -> Any:
    """Of a step's arguments, the optimizer itself among them."""
    return args[1] if len(args) > 1 else kwargs.get("closure")


def same_gradients(now: list[Any], then: list[Any]) -> bool:
    """The very gradients of the last step: nobody wrote or replaced a single one."""
    pairs = list(zip(now, then, strict=False))
    return any(n is not None for n, _ in pairs) and all(n == old for n, old in pairs)


def stray_rate(optimizer: Optimizer) -> float | None:
    """A learning rate that was assigned to an attribute or key that torch's own optimizers do not have."""
    if not type(optimizer).__module__.startswith("torch.optim"):
        return None
    given = vars(optimizer).get("lr", vars(optimizer).get("learning_rate"))
    if given is None:
        given = next(
            (group["learning_rate"] for group in optimizer.param_groups if "learning_rate" in group), None
        )
    return float(given) if isinstance(given, (int, float)) else None


def number(value: Any) -> float:
    """A hyper-parameter as a float, without waiting for a device (a tensor rate on CUDA is nan)."""
    if isinstance(value, torch.Tensor):
        return float(value) if value.device.type == "cpu" and value.numel() == 1 else float("nan")
    return float(value) if isinstance(value, (int, float)) else float("nan")
