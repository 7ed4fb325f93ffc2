"""What every lint rule keeps: documented, named after its file, in order, cheap to pass over, without state."""

import inspect
import re
from pathlib import Path

import pytest

from premortem.lint import engine, problems, rules
from premortem.lint.project_facts import Facts
from premortem.lint.rule import ConfigRule, Rule, _Unit
from tests.lint.reading import lint_files

HEADINGS = ["## Why it matters", "## Usual causes", "## What to do"]
RANGES = {
    Rule: [range(501, 560), range(562, 570), range(580, 590)],
    ConfigRule: [range(560, 562), range(570, 590)],
}
CASES = Path(__file__).parent / "cases"
each = pytest.mark.parametrize("rule", rules.ALL, ids=lambda rule: rule.card.code)


@pytest.mark.parametrize("unit", [*rules.ALL, *problems.ALL], ids=lambda unit: unit.card.code)
def test_it_is_documented(unit):
    page = inspect.getdoc(unit)
    places = [page.find(heading) for heading in HEADINGS]
    assert -1 not in places
    assert places == sorted(places)
    assert page.partition("\n")[0].endswith((".", ",")) or len(page.partition("\n")[0]) > 60
    assert "!" not in re.sub(r"`[^`]*`", "", page)


@each
def test_file_class_and_name_agree(rule):
    file = rule.__module__.rpartition(".")[2]
    assert rule.card.name == file.replace("_", "-")
    assert rule.__name__.lower() == file.replace("_", "")


@each
def test_the_code_is_of_its_kind(rule):
    kind = ConfigRule if issubclass(rule, ConfigRule) else Rule
    assert any(int(rule.card.code.removeprefix("PM")) in numbers for numbers in RANGES[kind])


def test_codes_and_names_are_unique_and_in_order():
    cards = [unit.card for unit in (*rules.ALL, *problems.ALL)]
    codes = [card.code for card in cards]
    assert codes == sorted(set(codes))
    assert len({card.name for card in cards}) == len(cards)


@each
def test_most_files_are_passed_over(rule):
    assert rule.needs or rule.triggers or rule.wants is not _Unit.wants
    assert not rule().wants(b"print('hello')\n")


@each
def test_a_rule_keeps_no_state(rule):
    one = rule()
    paths = [path for path in (CASES / rule.__module__.rpartition(".")[2]).rglob("bad_*") if path.is_file()]
    for path in paths:
        if path.suffix != ".expect":
            first = engine.check_file(str(path), path.read_bytes(), [one], Facts(CASES))
            assert engine.check_file(str(path), path.read_bytes(), [one], Facts(CASES)) == first
    assert vars(one) == {}


@each
def test_what_it_says_is_for_people(rule):
    folder = CASES / rule.__module__.rpartition(".")[2]
    paths = [str(p) for p in folder.rglob("bad_*") if p.is_file() and p.suffix != ".expect"]
    for one in lint_files(paths, CASES, [rule()]):
        assert one.message
        assert "!" not in re.sub(r"`[^`]*`", "", one.message + one.remedy)
        assert not one.message.endswith(".")
        assert one.remedy.endswith((".", "?", "`")) or not one.remedy
        assert "\n" not in one.message + one.remedy
