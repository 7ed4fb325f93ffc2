"""Points: one guard for the layers of a subscriber, and silence that touches nothing of what is watched."""

from __future__ import annotations

import functools
from typing import Any

import torch

from premortem.points import Subscriptions


class Owner:
    def work(self, value: int) -> list[Any]:
        return [value]


def layer(name: str, call: Any) -> Any:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return [name, *call(*args, **kwargs)]

    return wrapper


def add(points: Subscriptions, name: str, **options: Any) -> None:
    points.add(Owner, "work", functools.partial(layer, name), **options)


def test_a_closed_guard_passes_all_layers_of_its_subscriber_by():
    listening = [True]
    mine, other = Subscriptions(lambda: listening[0]), Subscriptions()
    add(mine, "inner", guarded=True)
    add(mine, "outer", guarded=True)
    add(other, "other")
    assert Owner().work(1) == ["other", "outer", "inner", 1]
    listening[0] = False
    assert Owner().work(1) == ["other", 1]
    other.end()
    mine.end()
    assert Owner().work(1) == [1]


def test_silence_is_a_switch_and_each_subscriber_has_its_own():
    mine, other = Subscriptions(), Subscriptions()
    add(mine, "told", quiet=functools.partial(layer, "counted"))
    add(mine, "gone", quiet=None)
    add(mine, "always")
    add(other, "other", quiet=None)
    there = vars(Owner)["work"]
    assert Owner().work(1) == ["other", "always", "gone", "told", 1]
    mine.silence(True)
    assert Owner().work(1) == ["other", "always", "counted", 1]
    assert vars(Owner)["work"] is there
    other.silence(True)
    assert Owner().work(1) == ["always", "counted", 1]
    mine.silence(False)
    assert Owner().work(1) == ["always", "gone", "told", 1]
    mine.end()
    other.end()
    assert Owner().work(1) == [1]
    assert vars(Owner)["work"] is not there


def test_who_is_away_leaves_the_original_and_comes_back_with_the_same_layers():
    mine, other = Subscriptions(), Subscriptions()
    original, kept = vars(Owner)["work"], vars(Owner).get("kept")
    made = []
    mine.add(Owner, "work", lambda call: made.append(call) or layer("mine", call), quiet=None)
    mine.replace(Owner, "kept", 5)
    before = len(made)
    for _ in range(2):
        mine.away()
        assert vars(Owner)["work"] is original
        assert vars(Owner).get("kept") == kept
        assert mine.back()
        mine.silence(False)
        assert Owner().work(1) == ["mine", 1]
        assert Owner.kept == 5
    assert len(made) == before  # nothing was built anew
    add(other, "other")
    mine.away()
    assert Owner().work(1) == ["other", 1]
    other.end()
    assert vars(Owner)["work"] is original
    Owner.work = theirs = lambda self, number: [number, "theirs"]
    assert not mine.back()  # whoever wants to watch that subscribes again
    assert not mine
    assert vars(Owner)["work"] is theirs
    Owner.work = original


def test_calls_that_no_layer_wants_go_straight_to_the_function():
    listening, called_by = [True], []

    def hears(call: Any) -> Any:
        def sign(*args: Any) -> Any:
            called_by.append(call)
            return call(*args)

        return sign

    points, tensor = Subscriptions(lambda: listening[0], passing=True), torch.ones(1)
    point = points.add(torch.Tensor, "sign", hears, guarded=True)
    try:
        assert tensor.sign() == 1
        assert len(called_by) == 1
        listening[0] = False
        point.call = None  # whoever came here would fail
        assert tensor.sign() == 1
    finally:
        points.end()
    assert len(called_by) == 1


def test_a_layer_without_a_guard_hears_every_call():
    mine, other, heard = Subscriptions(lambda: False, passing=True), Subscriptions(passing=True), []

    def hears(call: Any) -> Any:
        def sign(*args: Any) -> Any:
            heard.append(args)
            return call(*args)

        return sign

    mine.add(torch.Tensor, "sign", hears, guarded=True)
    other.add(torch.Tensor, "sign", hears)
    try:
        assert torch.ones(1).sign() == 1
    finally:
        other.end()
        mine.end()
    assert len(heard) == 1
