"""Flags on their way to the host. On the CPU a copy has arrived at once, and all the rest is the same."""

import torch

from premortem.probes.device_answers import _ROWS, Flags

SOUND, BROKEN = [torch.ones(3)], [torch.tensor([1.0, float("nan")])]


def flags():
    told = []
    return Flags(torch.device("cpu"), lambda *answer: told.append(answer)), told


def test_each_step_is_told_once_with_its_own_answer():
    asked, told = flags()
    for step in range(3 * _ROWS):
        flag = asked.of(BROKEN if step % 5 == 0 else SOUND)
        assert bool(flag) == (step % 5 == 0)  # a row that was bad is clean when its turn comes again
        asked.send(7, step)
        asked.drain(wait=False)
    assert told == [(7, step, step % 5 != 0) for step in range(3 * _ROWS)]


def test_two_steps_that_are_not_told_share_a_copy():
    asked, told = flags()
    for step, grads in enumerate([SOUND, BROKEN, BROKEN, SOUND]):
        asked.of(grads)
        asked.send(1, step, patiently=True)
        asked.drain(wait=False)
        assert len(told) == 2 * ((step + 1) // 2)
    assert told == [(1, 0, True), (1, 1, False), (1, 2, False), (1, 3, True)]


def test_a_flag_that_waits_goes_with_the_next_one_that_does_not_and_at_the_end():
    asked, told = flags()
    for step, patiently in enumerate([True, False, True]):
        asked.of(SOUND)
        asked.send(1, step, patiently=patiently)
        asked.drain(wait=False)
    assert told == [(1, 0, True), (1, 1, True)]
    asked.drain(wait=True)
    assert told[2:] == [(1, 2, True)]


def test_a_flag_that_was_made_elsewhere_is_taken():
    asked, told = flags()
    flag = asked.take(torch.ones(()))
    assert float(flag) == 1
    asked.send(1, 0)
    asked.drain(wait=False)
    assert told == [(1, 0, False)]


def test_what_has_not_arrived_is_not_told():
    asked, told = flags()
    asked.of(SOUND)
    asked.send(1, 0)
    asked._values[0] = -1.0
    asked.drain(wait=False)
    assert told == []
    asked._values[0] = 0.0
    asked.drain(wait=False)
    assert told == [(1, 0, True)]


def test_sound_steps_are_settled_without_a_look_and_a_broken_one_is_left():
    asked, told = flags()
    for step, grads in enumerate([SOUND, SOUND, SOUND, SOUND, SOUND, BROKEN, SOUND, SOUND]):
        asked.of(grads)
        asked.send(1, step, patiently=True)
        if step % 2 == 0:
            assert not asked.settle()  # a flag waits for the next one
    assert asked.settle()
    assert told == [(1, step, True) for step in range(4)]
    asked.drain(wait=False)
    assert told[4:] == [(1, 4, True), (1, 5, False), (1, 6, True), (1, 7, True)]
    assert not asked.settle()


def test_what_has_not_arrived_is_not_settled():
    asked, told = flags()
    asked.of(SOUND)
    asked.send(1, 0)
    asked._values[1] = -1.0
    assert not asked.settle()
    assert not told
