"""The sources of the user's modules are read once in a run."""

import importlib.util
import sys

from premortem.events.run import FileFacts
from premortem.probes.files_read import FileReading, configs, switches


def imported(path, name, monkeypatch):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)


def test_a_module_keeps_the_text_it_had_and_later_ones_are_added(tmp_path, monkeypatch):
    first, second = tmp_path / "first_of_two.py", tmp_path / "second_of_two.py"
    first.write_text("a = 1\n")
    second.write_text("b = 2\n")
    reading = FileReading(session=None)
    imported(first, "first_of_two", monkeypatch)
    assert reading.sources()[str(first)] == b"a = 1\n"
    assert str(second) not in reading.sources()

    first.write_text("a = 3  # edited while it runs\n")
    imported(second, "second_of_two", monkeypatch)
    assert reading.sources()[str(second)] == b"b = 2\n"
    assert reading.sources()[str(first)] == b"a = 1\n"


def test_no_without_quotes_is_false_for_most_readers(tmp_path):
    code = {
        "train.py": b"import yaml\nconfig = yaml.safe_load(open('c.yaml'))\nif config['freeze']:\n    pass\n"
    }
    config = tmp_path / "c.yaml"
    for written, accused in (("freeze: no", False), ("freeze: 'no'", True), ("freeze: 'false'", True)):
        config.write_text(written + "\n")
        file = FileFacts(path=str(config), size=20)
        assert bool(list(switches(list(configs([file])), code))) is accused, written
