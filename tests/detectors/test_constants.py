"""Every number by which a detector decides says why it is that number."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import premortem.detectors

FILES = sorted(Path(premortem.detectors.__file__).parent.glob("*.py"))
LEAST = 4  # words: fewer name a unit, and give no reason


def numeric(value: ast.expr | None) -> bool:
    match value:
        case ast.Constant(value=bool()):
            return False
        case ast.Constant(value=int() | float()):
            return True
        case ast.UnaryOp(operand=operand):
            return numeric(operand)
        case ast.BinOp(left=left, right=right):
            return numeric(left) and numeric(right)
    return False


def unexplained(text: str) -> Iterator[str]:
    lines = text.splitlines()
    for node in ast.parse(text).body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and numeric(node.value):
            own = lines[node.lineno - 1]
            above = lines[node.lineno - 2].strip()
            comment = own.partition("#")[2] or (above if above.startswith("#") else "")
            if len(comment.split()) < LEAST:
                yield own


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_number_has_its_reason_beside_it(path: Path) -> None:
    assert list(unexplained(path.read_text(encoding="utf-8"))) == []


def test_a_number_without_a_reason_is_found() -> None:
    assert list(
        unexplained("A = 3  # steps\nB = -0.5\n# Said with all the words it needs.\nC = 2**8\nD = True\n")
    ) == [
        "A = 3  # steps",
        "B = -0.5",
    ]
