"""What a project does with its settings decides how sure lint is of a number that is read as text."""

import pytest

from premortem.findings import Severity
from premortem.lint import files
from premortem.lint.rules.number_read_as_string import NumberReadAsString
from tests.lint.reading import lint_files

LOADS = "import yaml\nconfig = yaml.safe_load(open('c.yaml'))\n"


def severity(folder, code, config="optim:\n  min_lr: 1e-7\n"):
    (folder / "c.yaml").write_text(config)
    (folder / "load.py").write_text(LOADS)
    (folder / "other.py").write_text(code)
    found = lint_files(files.find([str(folder)]), folder, [NumberReadAsString()], None)
    return [one.severity for one in found]


@pytest.mark.parametrize(
    "code",
    [
        "rate = settings['optim']['min_lr']",
        "rate = settings.get('min_lr', 0)",
        "rate = settings.optim.min_lr",
        "class A:\n    def f(self):\n        return self.settings.min_lr",
        "rate = getattr(settings, 'min_lr')",
        "scheduler = build(**settings['optim'])",
        "scheduler = build(**settings.optim)",
        "scheduler = build(**settings.get('optim', {}))",
    ],
)
def test_a_setting_that_is_read_as_text_is_an_error(tmp_path, code):
    assert severity(tmp_path, code) == [Severity.ERROR]


@pytest.mark.parametrize(
    "code",
    [
        "scheduler = build(min_lr=0.1)",
        "min_lr = 0.1",
        "class A:\n    def f(self):\n        return self.min_lr",
        "def f(**params):\n    return g(**params)",
        "output = model(**batch)",
        "scheduler = build(**settings['model'])",
        "scheduler = build(**config)",
    ],
)
def test_a_setting_that_nothing_reads_is_a_note(tmp_path, code):
    assert severity(tmp_path, code) == [Severity.INFO]


def test_a_name_that_is_not_written_down_is_a_note(tmp_path):
    assert severity(tmp_path, "", "something: 1e-7\n") == [Severity.INFO]


def test_a_setting_without_a_name(tmp_path):
    assert severity(tmp_path, "", "--- 1e-7\n") == [Severity.INFO]


def test_a_project_that_converts_every_key_converts_this_one(tmp_path):
    code = "for name in NUMBERS:\n    config[name] = float(config[name])\nrate = config['min_lr']"
    assert severity(tmp_path, code) == []


def test_the_files_of_macos_are_left_out(tmp_path):
    for name in ("._train.py", "train.py", "_train.py"):
        (tmp_path / name).write_bytes(b"\x00\x05\x16\x07" if name.startswith("._") else b"")
    assert [path.rpartition("/")[2] for path in files.find([str(tmp_path)])] == ["_train.py", "train.py"]
