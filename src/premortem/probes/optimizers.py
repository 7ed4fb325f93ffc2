"""Optimizers: which there are, when they step, and what became of the gradients that a step uses."""

import functools
import math
from collections.abc import Callable
from threading import get_ident
from typing import Any

import torch
from torch.optim.optimizer import Optimizer

from premortem.events import OptimizerStep, Site
from premortem.points import after_optimizer_steps, before_optimizer_steps, unseen
from premortem.probes.files_read import user_files
from premortem.probes.fused_scaling import left_out, scale_of
from premortem.probes.gradient_history import GradientHistory
from premortem.probes.gradient_track import FEW_SENTINELS, MOST_SENTINELS, Track, same_gradients
from premortem.probes.optimizer_construction import OptimizerConstruction, broken_rate, number, stray_rate
from premortem.probes.session import Session, user_site
from premortem.probes.source import line_assigning, line_of_one_group, over_micro_batches, under_modulo

COUNTED_EVERY = 8  # steps, in cruise, after which the parameters with a gradient are counted again
_LEISURE = 0.02  # seconds


class Optimizers:
    """Watches every `torch.optim.Optimizer`, whoever wrote it."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.suspects: list[Callable[[], None]] = []  # called when a rate is not finite
        self.tracks: dict[int, Track] = {}
        self.gradients = GradientHistory(session, self)
        self._construction = OptimizerConstruction(session, self)
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
        self.soon: list[Any] = []  # the same, called once, after the rested step that is being made
        self.heeds: Callable[[], bool] = lambda: True  # whether a rested step has listeners before it
        self.elsewhere: Callable[[], None] = lambda: None  # a step was made that is not the run's own
        self.light: set[Any] = set()  # those that need no look of ours around them
        self._quiet: tuple[int, list[Any], list[Any]] = (0, [], [])  # who hears of a rested step
        self._light = False  # all of those are light
        self._by_id: dict[int, Track] = {}
        self._leisure = 0.0  # when the last of those was made
        self._last_counted = 0  # the optimizer that made the last rested step
        self.on_clear: list[Any] = []  # called with the key of an optimizer whose gradients were cleared
        # called with the track of an optimizer whose gradients a backward pass has written, in an audited step
        self.on_gradients: list[Callable[[Track], None]] = []
        self._stepping: list[int] = []
        self._left_out = False  # a scaler has the kernel leave out the step that is being made: it is none
        self._hooks: list[Callable[[], None]] = []
        self._trace: tuple[int, int] | None = None  # of the step that is being made

    def install(self) -> None:
        self._construction.install()
        self.gradients.install()
        self.listen()

    def listen(self) -> None:
        self._hooks = [before_optimizer_steps(self._count_before), after_optimizer_steps(self._count_after)]

    def remove(self) -> None:
        for take_off in self._hooks:
            take_off()
        self._hooks.clear()

    # -- which there are ------------------------------------------------------------------

    def introduce(self, optimizer: Optimizer) -> None:
        """It was built before the probes came."""
        self._construction.built(optimizer, None)

    def track(self, optimizer: Optimizer) -> Track:
        key = self.session.optimizers.of(optimizer)
        known = self.tracks.get(key)
        # Else built before premortem was attached (a notebook).
        return known if known is not None else self.follow(optimizer, key, None)

    def follow(self, optimizer: Optimizer, key: int, at: Site | None) -> Track:
        track = self.tracks[key] = self._by_id[id(optimizer)] = Track(optimizer, key, self.session.tick(), at)
        for listener in self.met:
            listener(optimizer)
        return track

    def live(self) -> list[Track]:
        dead = [key for key, track in self.tracks.items() if track.optimizer() is None]
        for key in dead:
            del self.tracks[key]
        if dead:
            self._by_id = {ref: track for ref, track in self._by_id.items() if track.key in self.tracks}
        return list(self.tracks.values())

    def held(self) -> set[int]:
        """id() of every parameter that some optimizer holds."""
        living = [optimizer for track in self.live() if (optimizer := track.optimizer()) is not None]
        return {id(p) for optimizer in living for group in optimizer.param_groups for p in group["params"]}

    def rested(self, cleared: set[int]) -> None:
        """Steps went by untold, and perhaps gradients of some optimizers were cleared since the last of them."""
        for track in self.live():
            track.look_at(MOST_SENTINELS if self.session.auditing else FEW_SENTINELS)
            track.ended()
            if (
                track.key != self._last_counted
            ):  # its gradients may be new ones, which its own next step will use
                track.pending = 0
            if track.key in cleared:
                track.cleared = True
                track.after_zero = track.marks()
                track.pending = 0

    # -- stepping -------------------------------------------------------------------------

    def refuse(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        """A step that is not made is reported like any other: the loop is what it is, only the weights stay."""
        self._pre_step(optimizer, args, kwargs, refused=True)
        self._count_after(optimizer, (optimizer, *args), kwargs)

    def _pre_step(self, optimizer: Optimizer, args: Any, kwargs: Any, *, refused: bool = False) -> Any:
        """Of what torch calls before a step; a closure is handed back with a look at what it has made."""
        session = self.session
        if not session.listening():
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

    def _count_before(self, optimizer: Optimizer, args: Any, kwargs: Any) -> Any:
        """What torch calls before a step: a rested one is counted here, unless it takes more than this: nested, with a
        closure, left out by a scaler."""
        session = self.session
        track = self._by_id.get(id(optimizer)) if session.resting else None
        if (
            track is None
            or self._stepping
            or kwargs
            or (len(args) > 1 and args[1:] != (None,))
            or session.looking
            or not session.on
            or get_ident() != session.thread
            or track.optimizer() is not optimizer
            or getattr(optimizer, "found_inf", None) is not None
        ):
            return self._pre_step(optimizer, args, kwargs)
        self._left_out = self.was_refused = False
        self._stepping.append(track.key)
        self.inside = track.key
        self._trace = track.trace()
        if self.heeds():
            with session.looking_at("optimizer step", pieces=False):
                for listener in self._listeners()[1]:
                    listener(optimizer, track)
        return None

    def _listeners(self) -> tuple[int, list[Any], list[Any]]:
        """Who hears of a rested step before it, and right after it."""
        number = len(self.before_step) + len(self.after_step)
        if self._quiet[0] != number:
            before = [each for each in self.before_step if each not in self.told_only]
            late = self.told_only | self.at_leisure
            self._quiet = (number, before, [each for each in self.after_step if each not in late])
            self._light = self.light.issuperset(self._quiet[2])
        return self._quiet

    def attend(self, listener: Any) -> None:
        """From now on it hears of every step, at once."""
        self.told_only.discard(listener)
        self.at_leisure.discard(listener)
        self._quiet = (-1, [], [])

    def hurry(self) -> None:
        """What may be put off is done at the end of this step."""
        self._leisure = 0.0

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
        track.keep_up()
        now = track.marks()
        track.emptied = track.left_empty(now) or (
            self.session.auditing and bool(track.backwards) and track.nonzero and track.all_zero()
        )
        # Most of the time nothing has changed, which two lists tell without a line of ours for each of their marks.
        track.touched = now != track.after_backward and any(
            n is not None and n != old for n, old in zip(now, track.after_backward, strict=False)
        )
        if None in now and any(
            old is not None and n is None for n, old in zip(now, track.after_step, strict=False)
        ):
            track.cleared = True
        track.reused = bool(track.pending) and not track.backwards and same_gradients(now, track.after_step)
        if self.session.auditing or track.steps % COUNTED_EVERY == 0 or None in now:
            track.count()
        for listener in self.before_step:
            listener(optimizer, track)

    def _post_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        if not self.session.listening():
            self.inside = None
            self.elsewhere()
            return
        if self._left_out:
            self._left_out = False
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
            lrs = tuple(number(group.get("lr")) for group in optimizer.param_groups)
            broken = None if all(map(math.isfinite, lrs)) else broken_rate(optimizer)
            if broken is not None:
                for suspect in self.suspects:
                    suspect()
            event = OptimizerStep(
                step=self.session.step,
                at=at,
                optimizer=key,
                kind=type(optimizer).__name__,
                lrs=lrs,
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
                broken_rate=broken,
                rate_at=line_assigning("lr", at) if broken is not None else None,
                stray=stray_rate(optimizer),
                one_group=one_group(track, lrs),
                refused=self.was_refused,
                rested=track.untold,
                batches=self.session.drawn(self.session.step) if track.backwards > 1 else None,
            )
            track.untold = 0
            self.last_site = at
            track.look_at(MOST_SENTINELS if self.session.auditing else FEW_SENTINELS)
            track.ended()
            if track.counted not in track.counts:
                track.counts.add(track.counted)
                self.session.look_closer()
            # The step is reported first, then the numbers about it.
            self.session.emit(event)
            for listener in self.after_step:
                listener(optimizer, track, self.session.step)
            self.session.rest.step_told(track, self._trace)

    def _count_after(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        """What torch calls after a step: a rested one is counted here, unless it was the inner one of several."""
        session, stepping = self.session, self._stepping
        if (
            not session.resting
            or len(stepping) != 1
            or session.looking
            or not session.on
            or get_ident() != session.thread
            or self._left_out
            or (track := self.tracks[stepping[0]]).optimizer() is not optimizer
        ):
            self._post_step(optimizer, args, kwargs)
            return
        stepping.clear()
        self.inside = None
        track.steps += 1
        track.untold += 1
        self._last_counted = track.key
        audited = session.advance()
        try:
            rests = session.rest.step_rested(track, self._trace, audited)
            number, _, quiet = self._quiet
            known = number == len(self.before_step) + len(self.after_step)
            if known and self._light and rests and not self.soon:
                for listener in quiet:
                    listener(optimizer, track, session.step)
                if session.rest.clock - self._leisure < _LEISURE:
                    return
            else:
                known = False
        except Exception as error:  # noqa: BLE001 - a bug of ours is written down, never raised
            session.fault("optimizer step", error)
            return
        self._count_further(optimizer, track, heard=known)

    def _count_further(self, optimizer: Optimizer, track: Track, *, heard: bool) -> None:
        """After a rested step that was the last one, or after which something else is due."""
        session, step = self.session, self.session.step
        with session.looking_at("optimizer step", pieces=False):
            if not session.resting:
                self.soon.clear()
                for listener in self.after_step:
                    listener(optimizer, track, step)
                return
            soon, self.soon = self.soon, []
            for listener in [*soon, *(() if heard else self._listeners()[2])]:
                listener(optimizer, track, step)
            if session.rest.clock - self._leisure >= _LEISURE:
                self._leisure = session.rest.clock
                for listener in self.after_step:
                    if listener in self.at_leisure:
                        listener(optimizer, track, step)


def one_group(track: Track, rates: tuple[float, ...]) -> Site | None:
    """The line of the script that writes rates, where only one group's has ever changed and it writes that one by its number."""
    first = track.first_rates
    if len(first) != len(rates):
        first = track.first_rates = rates
    moved = [number for number, (old, new) in enumerate(zip(first, rates, strict=True)) if old != new]
    if len(moved) != 1 or len(rates) == 1:
        return None
    if track.one_group is None:
        track.one_group = (line_of_one_group(user_files()),)
    (found,) = track.one_group
    return found[0] if found is not None and moved == [found[1] % len(rates)] else None


def closure_of(args: Any, kwargs: Any) -> Any:
    """Of a step's arguments, the optimizer itself among them."""
    return args[1] if len(args) > 1 else kwargs.get("closure")
