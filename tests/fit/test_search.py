"""The search for the largest batch, with rehearsals that are made up."""

import pytest

from premortem.fit import page
from premortem.fit.answer import Answer
from premortem.fit.levers import Lever
from premortem.fit.search import Search
from premortem.fit.trials import NotRehearsed, OutOfTime


class Card:
    """A rehearsal of a batch needs `fixed` and, for each sample, `each`."""

    def __init__(self, *, room, fixed=1000, each=7.0, samples=None, fails=None, ratio=1):
        self.room, self.fixed, self.each = room, fixed, each
        self.samples, self.fails, self.ratio = samples, fails, ratio
        self.tried = []

    def result(self, value):
        batch = value * self.ratio
        if self.samples is not None:
            batch = min(batch, self.samples)
        allocated = int(self.fixed + self.each * batch)
        return {"batch": batch, "needed": allocated, "careful": allocated <= self.room}

    def trial(self, value):
        self.tried.append(value)
        if self.fails and self.fails(value):
            raise NotRehearsed("no step")
        return self.result(value)

    def search(self, value=16, **more):
        base = self.result(value)
        return Search(
            self.trial, lambda result: result["careful"], room=self.room, value=value, base=base, **more
        )


@pytest.mark.parametrize("room", [1_200, 5_000, 100_000, 3_000_000])
def test_the_edge_is_found_in_few_rehearsals(room):
    card = Card(room=room)
    search = card.search()
    truth = int((room - 1000) / 7)
    found = search.run()
    assert truth - truth // 100 - 1 <= found <= truth
    assert search.why == ""
    assert len(card.tried) <= 4


def test_a_number_that_was_not_rehearsed_is_never_the_answer():
    card = Card(room=10**9, samples=5000)
    search = card.search(100)
    assert search.run() == 5000
    assert "no more samples" in search.why
    assert len(card.tried) <= 4


def test_a_rehearsal_that_fails_is_a_bound_and_the_search_goes_on():
    card = Card(room=1_000_000, fails=lambda value: value > 200_000)
    search = card.search()
    truth = int((1_000_000 - 1000) / 7)
    assert truth * 0.99 <= search.run() <= truth
    card = Card(room=10**9, fails=lambda value: value > 1000)
    search = card.search()
    assert 32 <= search.run() <= 1000
    assert "the rehearsal failed (no step)" in search.why
    assert len(card.tried) <= 8


def test_not_even_one():
    card = Card(room=900)
    assert card.search().run() == 0
    card = Card(room=1_010, fails=lambda value: value < 2)
    search = card.search()
    assert search.run() is None
    assert "a batch of 1 could not be rehearsed" in search.why


def test_a_lever_that_counts_in_other_units():
    card = Card(room=100_000, ratio=4)
    found = card.search().run()
    assert found % 4 == 0
    assert 0.98 * 14142 <= found <= 14142


def test_more_was_not_tried_is_true():
    card = Card(room=10**12)
    search = card.search()
    assert search.run() == max(card.tried)
    assert "nothing larger was tried" in search.why


def test_never_more_than_the_data_has():
    card = Card(room=10**9)
    search = card.search(100, most=1600)
    assert search.run() == 1600
    assert "all samples" in search.why
    assert max(card.tried) == 1600


def test_what_was_found_stays_when_the_time_is_over():
    card = Card(room=10**6)

    def until_the_time_is_over(value):
        if len(card.tried) == 2:
            raise OutOfTime
        return Card.trial(card, value)

    search = card.search()
    search._trial = until_the_time_is_over
    assert search.run() == max(card.tried)
    assert "--seconds" in search.why


@pytest.mark.parametrize("gaps", [0.02, 0.1])
def test_gaps_between_blocks_are_no_reason_to_halve(gaps):
    """The edge lies below the line, as on a card whose memory is in pieces."""
    card = Card(room=10**6)
    plain = card.result
    card.result = lambda value: plain(value) | {"careful": plain(value)["needed"] <= card.room * (1 - gaps)}
    truth = int((card.room * (1 - gaps) - 1000) / 7)
    assert truth * 0.97 <= card.search().run() <= truth
    assert len(card.tried) <= 12


def test_a_lever_in_other_units_is_said_with_its_own_number():
    answer = Answer({}, "fits", 8, 4096, lever=Lever("argument", "bs", 4, "--bs"), largest_value=2048)
    assert "this run has 8, set with --bs 2048." in str(page._batch(answer))
    answer.lever = Lever("argument", "bs", 8, "--bs")
    assert "set with --bs." in str(page._batch(answer))
