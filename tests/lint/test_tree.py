"""The quick walks see what ast's own walks see."""

import ast
from pathlib import Path

import pytest

from premortem.lint import tree

FILES = sorted(Path(tree.__file__).parent.glob("*.py"))
IGNORED = (ast.expr_context, ast.operator, ast.cmpop, ast.boolop, ast.unaryop)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_children_are_those_of_ast(path):
    for node in ast.walk(ast.parse(path.read_bytes())):
        wanted = [child for child in ast.iter_child_nodes(node) if not isinstance(child, IGNORED)]
        assert tree.children(node) == wanted


def test_every_field_that_can_hold_a_node_is_looked_at():
    text = """
import a as b
match x:
    case Point(x=1, y=[*rest, {**others}]) | None as z if w: pass
@d
def f(a: int, /, b=1, *c, d, e=2, **g) -> int: global h; lambda: (yield)
class K(B, metaclass=M): x: int = f"{a!r:>{b}}"
async def g():
    async with a as b, c: await d
    async for x in y: [z async for z in w if v]
try: raise A from B
except* E as error: del x, y
a < b <= c and not d or e @ f; x[1:2, ...]; x += 1; (y := 2); assert a, b; f(*a, **k, n=1)
"""
    try:
        parsed = ast.parse(text)
    except SyntaxError:  # before Python 3.11 there is no except*
        parsed = ast.parse(text.replace("except*", "except"))
    for node in ast.walk(parsed):
        wanted = [child for child in ast.iter_child_nodes(node) if not isinstance(child, IGNORED)]
        assert tree.children(node) == wanted


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_parents(path):
    parsed = ast.parse(path.read_bytes())
    nodes = [*ast.walk(parsed)]
    # From the end, from the beginning: what is learned first must not matter.
    for order in (nodes, nodes[::-1]):
        parent_of = tree.Parents(parsed)
        wanted = {child: node for node in nodes for child in tree.children(node)}
        assert {node: parent_of(node) for node in order} == {node: wanted.get(node) for node in order}


def test_parents_of_statements_that_share_a_line():
    parsed = ast.parse(
        "a(1); b(2)\n@d(3)\ndef f(x=4): pass\nclass K(B, m=C):\n    x = 5; y = 6\n    @e\n    def g(): 7\n"
    )
    for node in ast.walk(parsed):
        parent_of = tree.Parents(parsed)
        for child in tree.children(node):
            assert parent_of(child) is node
            assert [*parent_of.above(child)][-1] is parsed


def test_a_node_of_another_tree_has_no_parent():
    parent_of = tree.Parents(ast.parse("a(1)\n"))
    assert parent_of(ast.parse("b(2)").body[0]) is None
    assert tree.Parents(ast.parse(""))(ast.Name("x")) is None
