"""Notebooks: what is not Python is blanked, byte for byte, so that every place stays true."""

import json

import pytest

from premortem.lint import engine, notebooks
from premortem.lint.parsing import Unreadable
from premortem.lint.project_facts import Facts
from tests.lint.test_cases import CASES


@pytest.mark.parametrize(
    ("cell", "plain"),
    [
        ("x = 1\n", "x = 1\n"),
        ("%matplotlib inline\nx = 1", "0                 \nx = 1"),
        ("!ls -l\nx = 1", "0     \nx = 1"),
        ("if a:\n    !ls\n", "if a:\n    0  \n"),
        ("files = !ls\nx", "files = 0  \nx"),
        ("t = %timeit -o f()\n", "t = 0             \n"),
        ("model?\nx = 1", "0     \nx = 1"),
        ("?model\nx = 1", "0     \nx = 1"),
        ("!python train.py \\\n    --lr 1\nx = 1", "0                 \n          \nx = 1"),
        ("pip install torch\nx = 1", "0                \nx = 1"),
        ("%%bash\nls | wc", "      \n       "),
        ("%%time\nx = 1", "0     \nx = 1"),
        ("x = (a\n  % b)\n", "x = (a\n  % b)\n"),
        ("é = '%d' % 1\n!ls é\n", "é = '%d' % 1\n0     \n"),
        ("await f()\n", "await f()\n"),
    ],
)
def test_cells_as_python(cell, plain):
    text, problem = notebooks.as_python(cell)
    assert (text, problem) == (plain, None)
    assert sizes(text) == sizes(cell)


def sizes(text):
    return [len(line.encode()) for line in text.split("\n")]


def test_a_broken_cell_is_a_remark_and_the_others_are_checked():
    cells = [{"cell_type": "code", "source": source} for source in ("def f(:\n", "x = 1\n")]
    data = json.dumps({"cells": cells}).encode()
    (found,) = engine.check_file("n.ipynb", data, [], Facts(CASES)).diagnostics
    assert (found.card.code, found.cell, found.line, found.severity.value) == ("PM590", 1, 1, "info")


@pytest.mark.parametrize(
    ("notebook", "lines"),
    [
        ({"cells": []}, []),
        ({"cells": [{"cell_type": "markdown", "source": "# x"}]}, []),
        ({"worksheets": [{"cells": [{"cell_type": "code", "input": ["a = 1\n", "b"]}]}]}, ["a = 1", "b", ""]),
        (
            {
                "metadata": {"kernelspec": {"language": "R"}},
                "cells": [{"cell_type": "code", "source": "x <- 1"}],
            },
            [],
        ),
    ],
)
def test_shapes_of_notebooks(notebook, lines):
    source, broken = notebooks.read("n.ipynb", json.dumps(notebook).encode())
    assert source.data.decode().split("\n") == (lines or [""])
    assert broken == []


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{}", b'{"cells": 3}', b'{"cells": [3]}', b"\xff"])
def test_what_is_no_notebook_is_one_sentence(data):
    with pytest.raises(Unreadable, match="this is not a notebook"):
        notebooks.read("n.ipynb", data)
