import pytest

from premortem.derived.windows import STEPPED, THROWN, Windows, weight_of
from premortem.events import Backward
from tests.detectors.rehearsal import Rehearsal


def closed(play):
    windows = Windows()
    return [window for event in play.events for window in windows.observe(event)]


@pytest.mark.parametrize(
    ("backward", "losses", "weight"),
    [
        ({"root": "MseLoss", "value": 2.0}, [(2.0, "mean")], 1.0),
        ({"root": "MseLoss", "value": 0.5, "scale": 0.25}, [(2.0, "mean")], 0.25),
        ({"root": "MseLoss", "value": 2.0}, [(2.0, "sum")], None),
        ({"root": "Mean", "value": 2.0}, [], 1.0),
        ({"root": "Mean", "value": 2.0}, [(None, "none")], 1.0),
        ({"root": "Add", "value": 3.0}, [(1.0, "mean"), (2.0, "mean")], 1.0),
        ({"root": "Add", "value": 1.5, "scale": 0.5}, [(1.0, "mean"), (2.0, "mean")], 0.5),
        ({"root": "Add", "value": 2.5}, [(2.0, "mean")], None),  # something else was added
        ({"root": "Add", "value": 9e4, "scaled": True}, [(2.0, "mean")], None),
        ({"root": "MseLoss", "value": 9e4, "scaled": True, "scale": 0.25}, [(2.0, "mean")], 0.25),
    ],
)
def test_the_weight_of_a_micro_batch_is_known_or_it_is_not(backward, losses, weight):
    assert weight_of(Backward(**backward), losses) == weight


def test_a_window_is_what_was_added_up_since_the_gradients_were_cleared():
    play = Rehearsal()
    play.backward()
    play.zero(wasted=(1,))
    play.backward()
    play.backward()
    play.stepped(pending=2)
    assert [(window.end, len(window.micros)) for window in closed(play)] == [(THROWN, 1), (STEPPED, 2)]


def test_a_backward_pass_that_another_optimizer_used_is_not_thrown_away():
    play = Rehearsal()
    play.backward(1, 2)
    play.stepped(2)
    play.zero(1, wasted=(1,))
    assert [(window.optimizer, window.end) for window in closed(play)] == [(2, STEPPED)]


def test_gradients_for_an_input_are_nobodys_window():
    play = Rehearsal()
    play.walk(1, other_leaves=1)
    play.backward()
    play.zero(wasted=(1,))
    assert closed(play) == []
