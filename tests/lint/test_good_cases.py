"""What is a look-alike to one rule is plain code to all the others: they must be silent about it too."""

from pathlib import Path

import pytest

from premortem.findings import Severity
from premortem.lint import engine, files
from tests.lint.reading import lint_files

CASES = Path(__file__).parent / "cases"
GOOD = sorted(path for path in CASES.rglob("good_*") if path.is_file() and path.suffix != ".expect")


@pytest.mark.parametrize("folder", sorted({path.parent for path in GOOD}), ids=lambda path: path.name)
def test_no_other_rule_speaks(folder):
    others = [
        rule
        for rule in engine.all_rules()
        if type(rule).__module__.rpartition(".")[2] != folder.name and not rule.card.preview
    ]
    for path in (path for path in GOOD if path.parent == folder):
        said = lint_files([str(path)], CASES, others)
        assert [
            f"{one.path}:{one.line} {one.card.code}" for one in said if one.severity is not Severity.INFO
        ] == []


@pytest.mark.parametrize("folder", ["src", "tools", "tests/twins/clean", "tests/twins/fixed"])
def test_healthy_scripts_and_this_very_program_are_silent(folder):
    root = CASES.parent.parent.parent
    # The one script that shows a fault on purpose.
    paths = [path for path in files.below(str(root / folder)) if not path.endswith("/scripts/finetune.py")]
    said = lint_files(paths, root, [rule for rule in engine.all_rules() if not rule.card.preview])
    assert paths
    assert [
        f"{one.path}:{one.line} {one.card.code}" for one in said if one.severity is not Severity.INFO
    ] == []
