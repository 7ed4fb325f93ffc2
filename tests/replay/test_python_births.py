"""Numbers that are not finite before torch has them: the line and the operation."""

import importlib.util
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from premortem.replay.python_births import PythonBirths

SOURCE = """
import numpy as np
import torch


def level(power):
    scaled = power * 2.0
    made = np.log(
        scaled
    )
    return torch.from_numpy(made + 1)


def cached(raw):
    kept = raw.astype(np.float16)
    return torch.from_numpy(kept)


def read(words):
    rows = []
    for word in words:
        rows.append(float(word))
    return torch.tensor(rows)


def standard(table):
    table = table - table.mean(0)
    table /= table.std(0)
    return torch.as_tensor(table)


def at_once(power):
    return looked_at(torch.from_numpy(np.log(power)))


def stored(raw):
    kept = raw.astype(np.float16)
    return looked_at(torch.from_numpy(kept.astype(np.float32)))


def hidden(power):
    made = np.log(power)
    made = np.where(power > 0, made, 0.0)
    made = made / power
    return torch.from_numpy(made)
"""


@pytest.fixture
def script(tmp_path: Path) -> Any:
    file = tmp_path / "data_of_mine.py"
    file.write_text(textwrap.dedent(SOURCE))
    spec = importlib.util.spec_from_file_location("data_of_mine", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("function", "given", "op", "line", "made"),
    [
        ("level", np.array([0.0, 1.0]), "log", "made = np.log(", "-inf"),
        ("cached", np.array([1e6, 1.0]), "to", "kept = raw.astype", "inf"),
        ("read", ["1", "nan"], "float", "rows.append", "nan"),
        ("standard", np.ones((4, 2)), "div", "table /= table.std", "nan"),
        (
            "hidden",
            np.array([0.0, 1.0]),
            "div",
            "made = made / power",
            "nan",
        ),  # not the log, which is replaced
    ],
)
def test_the_line_and_the_operation(script, function, given, op, line, made):
    births = PythonBirths()
    with births:
        tensor = getattr(script, function)(given)
    found = births.origin(tensor)
    lines = SOURCE.splitlines()
    assert found is not None
    assert (found.op, found.made) == (op, made)
    assert lines[found.at.line - 1].strip().startswith(line)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_in_the_middle_of_the_statement_that_makes_it(script):
    births, found = PythonBirths(), []
    script.looked_at = lambda tensor: found.append(births.origin(tensor))
    with births:
        script.at_once(np.array([0.0, 1.0]))
        script.stored(np.array([1e6, 1.0]))
    assert [(each.op, each.made) for each in found] == [("log", "-inf"), ("to", "inf")]


def test_finite_numbers_have_no_birth(script):
    births = PythonBirths()
    with births:
        tensor = script.level(np.array([1.0, 2.0]))
    assert births.origin(tensor) is None
    assert torch.isfinite(tensor).all()
