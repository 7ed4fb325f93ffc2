"""One point: an attribute of torch's with a switch in its place, and the layers that subscribed to it."""

from __future__ import annotations

import functools
import itertools
import sys
import types
from collections.abc import Callable
from operator import attrgetter
from typing import Any, NamedTuple

from premortem.points.disguise import at_the_users_line, dress, forget_our_frames, passes_on

Make = Callable[[Any], Any]
Guard = Callable[[], bool]
UNDER = -1  # beneath what watches: what the machine does to a script
OVER = 1  # above it: what a change makes the script do

_SUBSCRIBER, _SILENT, _AWAY = attrgetter("subscriber"), attrgetter("silent"), attrgetter("is_away")
_NUMBERS = itertools.count()
_points: dict[tuple[int, str], Point] = {}  # by their owner and name


class Layer(NamedTuple):
    """What one subscriber puts around a call."""

    order: int
    number: int
    make: Make
    subscriber: Subscriptions
    quiet: Make | None  # in the place of `make` while the subscriber is silent; None: then it is not there
    guarded: bool  # it hears a call only if its subscriber's guard says so
    asks: bool  # the quiet one asks the guard itself: there one more call is felt


class Point:
    __slots__ = (
        "_chains",
        "_home",
        "_layers",
        "_own",
        "_sole",
        "_static",
        "_two",
        "alone",
        "call",
        "chain",
        "guard",
        "name",
        "original",
        "owner",
        "switch",
    )

    def __init__(self, owner: Any, name: str, *, passing: bool = False) -> None:
        self.owner = owner
        self.name = name
        self._own = name in vars(owner)
        self.original = vars(owner)[name] if self._own else getattr(owner, name)
        self._static = isinstance(self.original, (staticmethod, classmethod))
        self._home = _home(owner, self.original)
        self._layers: list[Layer] = []
        self._chains: dict[frozenset[int], Any] = {}  # by who is silent
        self._sole: Subscriptions | None = None  # whose layers all of them are,
        self._two: list[Any] = [
            None,
            None,
        ]  # ... and the chains while that one speaks, and while it is silent
        self.chain: Any = None  # the one of now; `call` is another one where calls pass it by
        self.alone = False  # there is one layer
        self.guard: Guard | None = None  # of all layers, if they have but one
        self.call: Any = getattr(owner, name)
        self.switch: Any = (
            StandIn(self)
            if passing and not isinstance(self.call, types.FunctionType)
            else self._dressed(self.call)
        )

    @property
    def installed(self) -> bool:
        return vars(self.owner).get(self.name) is self.switch

    @property
    def bare(self) -> bool:
        """The original is in its place."""
        there = vars(self.owner)
        return there.get(self.name) is self.original if self._own else self.name not in there

    def add(self, layer: Layer) -> None:
        self._layers.append(layer)
        self._layers.sort(key=lambda each: each[:2])
        self._changed()
        self.show()

    def remove(self, layer: Layer) -> None:
        self._layers.remove(layer)
        self._changed()
        self.leave()

    def leave(self) -> None:
        """The original is back, if all whose layers are here are away."""
        if all(map(_AWAY, map(_SUBSCRIBER, self._layers))):
            self.hide()

    def _changed(self) -> None:
        self._chains.clear()
        subscribers = set(map(_SUBSCRIBER, self._layers))
        self._sole, self._two = subscribers.pop() if len(subscribers) == 1 else None, [None, None]
        self.alone = len(self._layers) == 1
        guards = {layer.subscriber.guard if layer.guarded else None for layer in self._layers}
        self.guard = guards.pop() if len(guards) == 1 else None
        self.choose()

    def choose(self) -> None:
        """Whoever subscribed has become silent, or speaks again. Both ways are made once; then this is one assignment."""
        sole = self._sole  # nearly always: all points are asked whenever a look begins or ends
        if sole is not None:
            chain = self._two[sole.silent]
            if chain is None:
                chain = self._two[sole.silent] = self._compose(frozenset({id(sole)} if sole.silent else ()))
            self.call = self.chain = chain
            return
        silent = frozenset(map(id, filter(_SILENT, map(_SUBSCRIBER, self._layers))))
        chain = self._chains.get(silent)
        if chain is None:
            chain = self._chains[silent] = self._compose(silent)
        self.call = self.chain = chain

    def pass_by(self, straight: Any) -> None:
        """Until `heed`, calls go `straight` there instead of to the only layer; several layers are always called."""
        if self.alone:
            self.call = straight

    def heed(self) -> None:
        self.call = self.chain

    def show(self) -> None:
        """Put the switch in its place, if anybody subscribed and the original is there."""
        if self._layers and self.bare:
            setattr(self.owner, self.name, self.switch)
            if self._home is not None:
                setattr(self._home, self.original.__name__, self.switch)

    def hide(self) -> None:
        """The original is back; unless the user's code has put something over the switch, which then only passes on."""
        if not self.installed:
            return
        if self._own:
            setattr(self.owner, self.name, self.original)
        else:
            delattr(self.owner, self.name)
        if self._home is not None and vars(self._home).get(self.original.__name__) is self.switch:
            setattr(self._home, self.original.__name__, self.original)

    def _compose(self, silent: frozenset[int]) -> Any:
        call = self._original()

        def group(layer: Layer) -> tuple[Subscriptions, bool]:
            asks = layer.asks and id(layer.subscriber) in silent
            return layer.subscriber, layer.guarded and not asks

        for (subscriber, guarded), layers in itertools.groupby(self._layers, key=group):
            beneath = call
            for layer in layers:
                make = layer.quiet if id(subscriber) in silent else layer.make
                if make is not None:
                    made = make(call)
                    inner: Any = made.__func__ if isinstance(made, staticmethod) else made
                    call = functools.update_wrapper(passes_on(inner), call)
            if guarded and call is not beneath:
                call = _guarded(subscriber.guard, call, beneath)
        return call

    def _original(self) -> Any:
        if self._static:
            return self.original.__get__(None, self.owner)
        return at_the_users_line(self.original) if isinstance(self.switch, StandIn) else self.original

    def _dressed(self, original: Any) -> Any:
        def switch(*args: Any, **kwargs: Any) -> Any:
            try:
                return self.call(*args, **kwargs)
            except BaseException as error:
                forget_our_frames(error)
                raise

        dressed = dress(passes_on(switch), original, self.name)
        return staticmethod(dressed) if self._static else dressed


def _guarded(guard: Guard, layers: Any, beneath: Any) -> Any:
    """One check for all layers of a subscriber: another thread, a compiler, our own use of torch pass them by."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return layers(*args, **kwargs) if guard() else beneath(*args, **kwargs)

    return functools.update_wrapper(passes_on(call), layers)


def _home(owner: Any, original: Any) -> Any:
    """The module that `torch.save` comes from, where it is the same object: it stays one, also in pickles."""
    if not isinstance(owner, types.ModuleType) or not isinstance(original, types.FunctionType):
        return None
    home = sys.modules.get(original.__module__)
    same = home is not owner and vars(home).get(original.__name__) is original if home is not None else False
    return home if same else None


class StandIn:
    """The switch of a function of C's that comes and goes. A script may have kept it, and save it with a model long after
    it has gone: a pickle holds the original."""

    def __init__(self, point: Point) -> None:
        self._point = point
        self._original = point.call
        self.__name__ = point.name
        self.__doc__ = point.original.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        point = self._point
        # Whom no layer wants to hear needs no line of the user's either: an audited step has dozens of our own calls.
        if point.guard is not None and not point.guard():
            return self._original(*args, **kwargs)
        try:
            return point.call(*args, **kwargs)
        except BaseException as error:
            forget_our_frames(error)
            raise

    def __get__(self, thing: Any, kind: Any = None) -> Any:
        return self if thing is None else types.MethodType(self, thing)

    def __reduce__(self) -> Any:
        return self._point.original.__reduce__()

    def __repr__(self) -> str:
        return repr(self._point.original)


passes_on(StandIn.__call__)


def point(owner: Any, name: str, *, passing: bool = False) -> Point:
    """The point there; a new one if the user's code has put something in its place since."""
    known = _points.get((id(owner), name))
    if known is None or not (known.installed or known.bare):
        known = _points[id(owner), name] = Point(owner, name, passing=passing)
    return known


def installed() -> list[Point]:
    return [each for each in _points.values() if each.installed]


class Subscriptions:
    """Layers that belong together: put on one by one, silent together, and taken off together."""

    def __init__(self, guard: Guard = lambda: True, *, passing: bool = False) -> None:
        self.guard = guard  # for layers that are `guarded`
        self.silent = False
        self.is_away = False
        self._passing = passing  # they come and go while the script runs
        self._held: list[Callable[[], None]] = []
        self._points: dict[Point, None] = {}
        self._replaced: list[Replaced] = []
        self._changing: dict[Point, None] = {}  # points where a layer is another one in silence

    def __bool__(self) -> bool:
        return bool(self._held)

    def add(
        self,
        owner: Any,
        name: str,
        make: Make,
        *,
        order: int = 0,
        quiet: Make | bool | None = True,
        guarded: bool = False,
        asks: bool = False,
    ) -> Point:
        """Put `make(call)` around the function `owner.name`. While these subscriptions are silent it stays there, unless
        it is not to be there then (`quiet=None`), or another one in its place (`quiet=make`), which may ask the guard
        itself (`asks`)."""
        there = point(owner, name, passing=self._passing)
        silently = make if isinstance(quiet, bool) else quiet
        layer = Layer(order, next(_NUMBERS), make, self, silently, guarded, asks)
        self._points[there] = None
        if silently is not make:
            self._changing[there] = None
        there.add(layer)
        self._held.append(lambda: there.remove(layer))
        return there

    def silence(self, silent: bool) -> None:
        """A switch for all of them. Nothing of torch's is touched: the same functions stay in their places."""
        if silent != self.silent:
            self.silent = silent
            for each in self._changing:
                each.choose()

    def away(self) -> None:
        """Silent, and torch's own functions are in their places. Nothing is forgotten: `back` only puts the switches there."""
        if not self.is_away:
            self.is_away = True
            self.silence(True)
            for each in self._points:
                each.leave()
            for replaced in self._replaced:
                replaced.hide()

    def back(self) -> bool:
        """As before `away`. False, and all of it is over, where the script has put something else in one of the places."""
        if not self.is_away:
            return True
        self.is_away = False
        if not all(each.bare or each.installed for each in self._points):
            self.end()
            return False
        for each in self._points:
            each.show()
        for replaced in self._replaced:
            replaced.show()
        return True

    def replace(self, owner: Any, name: str, value: Any) -> None:
        """Put a value in the place of `owner.name`, whatever it is: a class, a property, a number, another function."""
        before = vars(owner).get(name)
        if isinstance(value, types.FunctionType) and isinstance(before, types.FunctionType):
            functools.update_wrapper(value, before)
        replaced = Replaced(owner, name, value, name in vars(owner), before)
        replaced.show()
        self._replaced.append(replaced)
        self._held.append(replaced.hide)

    def end(self) -> None:
        self._changing.clear()
        self._points.clear()
        self._replaced.clear()
        while self._held:
            self._held.pop()()
        self.is_away = False


class Replaced(NamedTuple):
    """A value in the place of another one."""

    owner: Any
    name: str
    value: Any
    own: bool  # the owner itself has the other one
    before: Any

    def show(self) -> None:
        setattr(self.owner, self.name, self.value)

    def hide(self) -> None:
        if vars(self.owner).get(self.name) is not self.value:
            return
        if self.own:
            setattr(self.owner, self.name, self.before)
        else:
            delattr(self.owner, self.name)
