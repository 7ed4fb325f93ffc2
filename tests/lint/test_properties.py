"""Random programs: no rule breaks on them, what is fixed still parses, and fixing again changes nothing."""

import ast
import json
import warnings
from functools import cache
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from premortem.lint import engine, fixes
from premortem.lint.project_facts import Facts
from premortem.lint.summaries import Summary
from tests.lint.reading import target_of

CASES = Path(__file__).parent / "cases"
EVERYTHING = Summary(marks={"fp16", "compile", "yaml:pyyaml"})
WRAPPERS = [
    "if ready:\n    {}",
    "if ready:\n    {}\nelse:\n    {}",
    "for batch in loader:\n    {}",
    "while True:\n    {}\n    break",
    "try:\n    {}\nexcept Exception:\n    {}",
    "try:\n    {}\nexcept (ValueError, KeyError) as error:\n    raise\nelse:\n    {}\nfinally:\n    {}",
    "with torch.no_grad(), open(name) as file:\n    {}",
    "def step(self, model, loader, optimizer):\n    {}",
    "async def step(*args, **kwargs):\n    async for batch in loader:\n        {}",
    "class Net(nn.Module):\n    def forward(self, x):\n        {}",
    "match kind:\n    case 1:\n        {}\n    case _:\n        {}",
    "@torch.no_grad()\ndef evaluate(model, loader):\n    {}",
]
many = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@cache
def rules():
    return engine.all_rules()


@cache
def where():
    return target_of(CASES, "2.6")


@cache
def statements():
    """Every statement of every case, as text: what rules look at, torn out of its place."""
    found = {}
    for path in sorted(CASES.rglob("*.py")):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(path.read_bytes())
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.stmt) and (node.end_lineno or 0) - node.lineno < 12:
                found.setdefault(ast.unparse(node))
    return list(found)


@st.composite
def programs(draw):
    """Statements of the cases, reshuffled and put into random blocks."""
    parts = ["import torch", "from torch import nn"]
    for _number in range(draw(st.integers(1, 6))):
        block = [draw(st.sampled_from(statements())) for _ in range(draw(st.integers(1, 4)))]
        for _depth in range(draw(st.integers(0, 3))):
            tree = ast.parse(draw(st.sampled_from(WRAPPERS)).replace("{}", "HOLE"))
            for node in ast.walk(tree):
                for name in ("body", "orelse", "finalbody"):
                    inner = getattr(node, name, None)
                    if isinstance(inner, list) and any(_is_hole(one) for one in inner):
                        filled = ast.parse("\n".join(block)).body
                        setattr(
                            node, name, [x for one in inner for x in (filled if _is_hole(one) else [one])]
                        )
            block = [ast.unparse(tree)]
        parts += block
    return "\n".join(parts) + "\n"


def _is_hole(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Name) and node.value.id == "HOLE"


def check(name, data):
    project = Facts(CASES, where(), [EVERYTHING])
    found = engine.check_file(name, data, rules(), project)
    assert [one.message for one in found.diagnostics if one.card.code == "PM599"] == []
    assert found.waiting == []
    return found.diagnostics


@many
@given(programs())
def test_no_rule_breaks_on_any_program(program):
    for one in check("train.py", program.encode()):
        assert one.message
        assert 1 <= one.line <= one.end_line <= program.count("\n") + 1
        assert one.column >= 1


@many
@given(programs(), st.booleans())
def test_what_is_fixed_parses_and_fixing_again_changes_nothing(program, unsafe):
    data = program.encode()
    for _turn in range(fixes.TURNS):
        mended = fixes.fixed("train.py", data, check("train.py", data), unsafe=unsafe)
        if not mended.fixes:
            break
        data = mended.data
        ast.parse(data)
    assert fixes.fixed("train.py", data, check("train.py", data), unsafe=unsafe) == fixes.Fixed(data, 0)


@many
@given(st.data())
def test_half_a_file_is_one_diagnostic_or_a_program(data):
    program = data.draw(programs()).encode()
    check("train.py", program[: data.draw(st.integers(0, len(program)))])


@many
@given(st.binary(max_size=200), st.sampled_from(["x.py", "x.ipynb", "x.yaml", "x.toml", "x.json"]))
def test_bytes_of_any_kind_are_no_trouble(data, name):
    check(name, data)


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from("cells cell_type source metadata kernelspec".split()), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@many
@given(plain)
def test_json_that_is_almost_a_notebook_is_no_trouble(value):
    check("x.ipynb", json.dumps(value).encode())


@many
@given(
    st.lists(programs() | st.sampled_from(["%time f()", "!ls", "%%bash\nls", "x?", "def f(:"]), max_size=3)
)
def test_notebooks_keep_every_place(cells):
    notebook = {"cells": [{"cell_type": "code", "source": text} for text in cells]}
    for one in check("x.ipynb", json.dumps(notebook).encode()):
        assert 1 <= one.cell <= len(cells)
        assert 1 <= one.line <= cells[one.cell - 1].count("\n") + 1
