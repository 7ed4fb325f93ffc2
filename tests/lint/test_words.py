"""Comments and strings say nothing: with every word that a rule knows in them, the findings are the same."""

import ast
import re
from pathlib import Path

import pytest

import premortem.lint
from premortem.lint.rules import ALL
from tests.lint.reading import lint_files

CASES = Path(__file__).parent / "cases"
ROOM = Path(premortem.lint.__file__).parent


def _words():
    """Every word in a string of the rules, which is where keywords and patterns stand, and some from real files."""
    found = {
        "npu",
        "Input",
        "torch_npu",
        "no_grad",
        "# %%",
        "grad",
        "shuffle(",
        "window",
        "wandb.save",
        "eval()",
    }
    for path in (*ROOM.glob("*.py"), *ROOM.glob("rules/*.py")):
        for literal in re.findall(r'"([^"\n]{3,400})"', path.read_text()):
            found.update(re.findall(r"[A-Za-z_]{3,}", literal))
    return sorted(found - {"premortem", "ignore", "noqa", "coding"})


WORDS = _words()
LINES = ["# " + " ".join(WORDS[start : start + 8]) for start in range(0, len(WORDS), 8)]
COMMENT = "\n".join(f"#{line[1:]}" for line in LINES)
PROSE = '_TEXT_OF_THE_TEST = """\n' + "\n".join(line[2:].replace("\\", "") for line in LINES) + '\n"""\n'


def _said(path, text, tmp_path):
    copy = tmp_path / path.name
    copy.write_text(text)
    found = lint_files([str(copy)], tmp_path, [rule() for rule in ALL])
    return sorted((one.card.code, one.line, one.message) for one in found)


@pytest.mark.parametrize(
    "path", sorted(CASES.glob("*/*_*.py")), ids=lambda path: f"{path.parent.name}/{path.name}"
)
def test_comments_and_strings_say_nothing(path, tmp_path):
    text = path.read_text()
    if not text.endswith("\n"):
        text += "\n"
    plain = _said(path, text, tmp_path)
    assert _said(path, f"{text}{COMMENT}\n{PROSE}", tmp_path) == plain


def _filled(text):
    """The same code: every function and class has the words in its docstring, every block in a comment."""
    everything = " ".join(WORDS).replace("\\", "")
    added = {}
    for node in ast.walk(ast.parse(text)):
        blocks = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.For, ast.While, ast.With, ast.Try,
                  ast.ExceptHandler)  # fmt: skip
        if not isinstance(node, blocks):
            continue
        first = node.body[0]
        documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
        line = min([first.lineno, *(one.lineno for one in getattr(first, "decorator_list", ()))])
        if documented or line == node.lineno:
            continue
        room = " " * first.col_offset
        named = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        added[line] = [f'{room}"""{everything}"""'] * named + [f"{room}# {everything}"]
    lines = text.split("\n")
    return "\n".join(one for number, line in enumerate(lines, 1) for one in (*added.get(number, ()), line))


@pytest.mark.parametrize("folder", sorted({path.parent.name for path in CASES.glob("*/*_*.py")}))
def test_nor_do_they_inside_of_functions(folder, tmp_path):
    def said(path, text):
        lines = text.split("\n")
        found = _said(path, text, tmp_path)
        return sorted(
            (code, re.sub(r"\d+", "", message), lines[line - 1].strip()) for code, line, message in found
        )

    for path in sorted((CASES / folder).glob("*_*.py")):
        text = path.read_text()
        try:
            filled = _filled(text)
        except SyntaxError:
            continue
        assert said(path, filled) == said(path, text), path.name
