"""What a loop repeats: its period, what is news, and what is out of its place."""

import pytest

from premortem.probes.rhythm import LONGEST, Rhythm


def heard(rounds):
    rhythm = Rhythm()
    news = [rhythm.heard(each) for each in rounds]
    return rhythm, news


@pytest.mark.parametrize(
    ("cycle", "period"), [("a", 1), ("ab", 2), ("aaaaab", 6), ("abcd" * 4, 4), ("a" * 15 + "b", LONGEST)]
)
def test_the_shortest_cycle_is_found(cycle, period):
    rhythm, news = heard(cycle * 60)
    assert rhythm.find() == period
    assert sum(news) == len(set(cycle))
    assert not rhythm.slipped()


def test_a_round_in_an_unusual_place_is_a_slip_and_no_news():
    rhythm, _ = heard("ab" * 30)
    rhythm.find()
    assert not rhythm.heard("b")
    assert rhythm.slipped()


def test_a_loop_without_a_cycle_has_no_period():
    rhythm, _ = heard([number * number % 17 for number in range(200)][:100] + list(range(40)))
    assert rhythm.find() == 0
    assert not rhythm.slipped()


def test_a_loop_in_which_everything_is_new_is_not_news_for_ever():
    _, news = heard(range(2000))
    assert news[0]
    assert not news[-1]
