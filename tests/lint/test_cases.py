"""Every case folder: `bad_*` files are reported exactly where they are marked, `good_*` files not at all.

A mark is a comment at the end of the line: `# expect: PM501` (several codes with commas). A file that cannot hold
comments (JSON, a notebook) has a sidecar `NAME.expect` with lines `LINE CODE` or `CELL:LINE CODE`. A `fixed_X.py`
is what `bad_X.py` looks like after all its fixes; its marks are what no fix can mend.

All files of a folder `project_*` are checked together, so that facts of one file reach another.
"""

import re
from pathlib import Path

import pytest

from premortem.lint import engine, fixes, rules
from premortem.lint.target import Pin, Target
from tests.lint.reading import lint_files

CASES = Path(__file__).parent / "cases"
MARK = re.compile(r"#\s*expect:\s*(PM\d+(?:\s*,\s*PM\d+)*)")
SKIPPED = (".expect",)


def expected(path):
    sidecar = path.with_name(path.name + ".expect")
    if sidecar.exists():
        return sorted(tuple(line.split()) for line in sidecar.read_text().splitlines() if line.strip())
    text = path.read_text(encoding="latin-1")
    return sorted(
        (str(number), code.strip())
        for number, line in enumerate(text.split("\n"), start=1)
        for codes in MARK.findall(line)
        for code in codes.split(",")
    )


def found(paths, rule_name):
    """What the rule of this folder says about these files, by file. Preview rules are on."""
    chosen = [rule for rule in engine.all_rules() if module_of(rule) == rule_name]
    said = lint_files([str(path) for path in paths], CASES, chosen, target_of(paths))
    places = {path: [] for path in paths}
    for one in said:
        cell = f"{one.cell}:" if one.cell is not None else ""
        places[Path(one.path)].append((f"{cell}{one.line}", one.card.code))
    return {path: sorted(marks) for path, marks in places.items()}, said


def target_of(paths):
    """The versions a case is written for: `# runs with: torch>=2.0,<2.5; torchvision==0.15.2` in its first line."""
    for path in paths:
        first = path.read_text(encoding="latin-1").partition("\n")[0]
        if pins := re.findall(r"(\w+)([<>=][^\s;]+)", first.partition("# runs with:")[2]):
            return Target(tuple(Pin(name, spec, "its first line") for name, spec in pins))
    return None


def module_of(rule):
    return type(rule).__module__.rpartition(".")[2]


def case_files():
    for folder in sorted(CASES.iterdir()):
        for path in sorted(folder.iterdir()):
            if path.is_file() and path.suffix not in SKIPPED:
                yield pytest.param(path, id=f"{folder.name}/{path.name}")


def projects():
    for path in sorted(CASES.glob("*/project_*")):
        if path.is_dir():
            yield pytest.param(path, id=f"{path.parent.name}/{path.name}")


@pytest.mark.parametrize("path", [*case_files()])
def test_case(path):
    marks = expected(path)
    if path.name.startswith("good_"):
        assert marks == [], "a good case has no marks"
    elif path.name.startswith("bad_"):
        assert marks, "a bad case without a mark proves nothing"
    else:
        assert path.name.startswith("fixed_"), "a case is called bad_*, good_* or fixed_*"
    places, _said = found([path], path.parent.name)
    assert places[path] == marks


@pytest.mark.parametrize("path", [p for p in case_files() if p.values[0].name.startswith("fixed_")])
def test_the_fixes_of_the_bad_case_give_the_fixed_one(path):
    bad = path.with_name("bad_" + path.name.removeprefix("fixed_"))
    _places, said = found([bad], path.parent.name)
    mended = fixes.apply(bad.read_bytes(), said, unsafe=True).data.decode()
    assert MARK.sub("", mended) == MARK.sub("", path.read_text())


@pytest.mark.parametrize("folder", [*projects()])
def test_project(folder):
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix not in SKIPPED)
    places, _said = found(paths, folder.parent.name)
    assert places == {path: expected(path) for path in paths}


@pytest.mark.parametrize("rule", rules.ALL, ids=lambda rule: rule.card.code)
def test_every_rule_has_cases_that_it_reports_and_look_alikes_that_it_does_not(rule):
    folder = CASES / rule.__module__.rpartition(".")[2]
    names = [path.name for path in folder.rglob("*") if path.is_file()]
    projects = any(path.is_dir() for path in folder.glob("project_*"))
    assert projects or any(name.startswith("bad_") for name in names)
    assert projects or any(name.startswith("good_") for name in names)
