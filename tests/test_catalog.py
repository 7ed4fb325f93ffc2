import pytest

from premortem import catalog
from premortem.errors import UsageError
from tests.units import OrphanParameter, SleepyScheduler, only_stand_ins


@pytest.fixture(autouse=True)
def stand_ins(monkeypatch):
    only_stand_ins(monkeypatch)


def test_entries_come_in_the_order_of_their_codes():
    assert [entry.card.code for entry in catalog.entries()] == ["T001", "T101"]


@pytest.mark.parametrize("word", ["T101", "t101", "orphan-parameter", "Orphan-Parameter", " T101 "])
def test_a_unit_is_found_by_code_or_name(word):
    assert catalog.lookup(word) == catalog.Entry(OrphanParameter.card, OrphanParameter)


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("T102", "no finding is called `T102`; did you mean `T101`?"),
        ("orphan-parametr", "no finding is called `orphan-parametr`; did you mean `orphan-parameter`?"),
        ("SLEEPY", "no finding is called `SLEEPY`; `premortem explain --all` lists them"),
        ("xyz", "no finding is called `xyz`; `premortem explain --all` lists them"),
    ],
)
def test_a_wrong_word_gets_a_hint(word, sentence):
    with pytest.raises(UsageError) as caught:
        catalog.lookup(word)
    assert str(caught.value) == sentence


def test_the_summary_is_the_first_paragraph_in_one_line():
    assert catalog.lookup("T101").summary == "A trainable parameter that no optimizer holds."


def test_the_page_is_the_docstring_under_the_card():
    assert catalog.lookup("T001").page == (
        "T001 sleepy-scheduler (warning, scheduler, since 0.1)\n\nA scheduler that never steps.\n"
    )
    assert catalog.lookup("T001").unit is SleepyScheduler


def test_no_two_units_share_a_code_or_a_name(monkeypatch):
    monkeypatch.undo()
    cards = [entry.card for entry in catalog.entries()]
    assert len({card.code for card in cards}) == len({card.name for card in cards}) == len(cards)
