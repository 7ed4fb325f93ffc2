"""A loss that was thrown far away needs less proof that the steps did it, and is not waited for."""

from premortem.detectors.updates_too_large import LONG, UpdatesTooLarge
from premortem.events import RunEnded
from tests.detectors.rehearsal import Rehearsal, link


def said(loss, *, steps=90, updates=(0.4, 0.2, 0.1, 0.1), start=None):
    play = Rehearsal()
    play.model("0.weight", "2.weight")
    play.optimizer(1, 2)
    for step in range(steps):
        play.zero()
        play.forward()
        play.backward()
        play.stepped(lrs=(0.03,))
        if step < len(updates):
            facts = {"update": updates[step], "gradient": 1e-3 if start else 1.0, "start": start}
            play.custody(link(1, "model.0.weight", **facts), link(2, "model.2.weight", **facts))
        play.stats(loss(step))
    detector = UpdatesTooLarge()
    return [(finding, event) for event in play.end() for finding in detector.hear(event)]


def thrown(step, *, far=5000.0, back=4.0):
    return 3.9 if step == 0 else far if step < 30 else back


def test_a_few_large_steps_are_enough_when_the_loss_was_thrown_far_away():
    ((finding, event),) = said(thrown)
    assert "went from 3.9 up to 5e+03 and is still 4" in finding.message
    assert isinstance(event, RunEnded)


def test_in_a_long_run_it_is_said_before_the_end():
    ((finding, event),) = said(thrown, steps=LONG + 50)
    assert not isinstance(event, RunEnded)
    assert finding.step <= LONG + 1


def test_silent_when_it_was_not_thrown_so_far_or_learned_or_the_steps_were_small():
    assert not said(lambda step: thrown(step, far=40.0))
    assert not said(lambda step: thrown(step, back=0.5))
    assert not said(thrown, updates=(0.05, 0.05, 0.02, 0.01))


def test_a_first_step_of_a_thousand_times_the_weights_is_told_at_once():
    far = (5000.0, 1.0, 0.5, 0.33)
    ((finding, _event),) = said(lambda step: 0.7, steps=1, updates=far)
    assert "nothing of the initialisation is left" in finding.message
    assert not said(lambda step: 0.7 if step == 0 else 40.0, steps=12, updates=(0.9, 0.9, 0.5, 0.4))


def test_weights_that_began_next_to_zero_may_grow_a_thousandfold():
    assert not said(lambda step: 0.7, steps=1, updates=(0.5, 0.01, 0.01, 0.01), start=1e-4)
