"""What holds for every check of data: documented, quiet about nothing, and in its range of codes."""

import inspect

import pytest

from premortem import detectors, preflight
from premortem.preflight import data
from premortem.preflight.data.data_facts import DataFacts, Root

every = pytest.mark.parametrize("check", data.ALL, ids=lambda check: check.card.code)


@every
def test_the_page_has_its_headings(check):
    text = inspect.getdoc(check)
    places = [text.index(heading) for heading in ("## Why it matters", "## Usual causes", "## What to do")]
    assert places == sorted(places)


@every
def test_without_facts_there_is_nothing_to_say(check):
    assert list(check().look(DataFacts())) == []
    assert (
        list(check().look(DataFacts(roots=(Root(name="x", samples=9, files=9, kinds=(("image", 9),)),))))
        == []
    )


def test_codes_are_in_order_and_in_their_range():
    codes = [check.card.code for check in data.ALL]
    assert codes == sorted(codes)
    ranges = (
        ("PM615", "PM619"),
        ("PM620", "PM629"),
        ("PM639", "PM649"),
        ("PM650", "PM679"),
        ("PM694", "PM699"),
        ("PM700", "PM760"),
    )
    assert all(any(first <= code <= last for first, last in ranges) for code in codes)


def test_every_explained_name_exists():
    """A check also explains what the detectors of the rehearsal say."""
    names = {unit.card.name for unit in (*preflight.ALL, *detectors.ALL)}
    assert {name for check in data.ALL for name in check.card.explains} <= names
