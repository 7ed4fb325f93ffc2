"""Messages are plain English, as far as a test can hold it: the habits that CONTRIBUTING.md names do not come back."""

import ast
import re
import tokenize
from functools import cache
from pathlib import Path

import pytest

from premortem import catalog
from premortem.cli.verbs import VERBS

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src" / "premortem").rglob("*.py"))

# Words that hide who does something. What a person reads names the code, the file or the program instead.
HABITS = re.compile(r"\b(?:told|said|nobody|somebody|mend(?:s|ed|ing)?)\b", re.IGNORECASE)
# "is no number": English says "is not a number". "There is no file" is fine, and so is "no longer".
IS_NO = re.compile(r"(?<!there )(?<!There )\b(?:is|are|was) no (?!longer\b|more\b|one\b)[a-z]+")
# Sentences that readers stumbled over.
RIDDLES = re.compile(
    r"manieth|mended safely|does not give back|for as many steps|can be turned stands|cannot be told|could not be told"
    r"|is out of reach\.|calls that it gets|where they part\b|goes on without both|answer no is|the loop does not ask"
    r"|longer than others wait|only way there is|editors like to|earlier runs could not send|a code for something",
)


def shown(path):
    """The strings of a module that can reach a person: sentences, not names, patterns or documentation."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    bodies = [node for node in ast.walk(tree) if isinstance(getattr(node, "body", None), list) and node.body]
    documentation = {
        id(node.body[0].value)
        for node in bodies
        if isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            # Two words at least, and no regular expression or word list of thirty names.
            if " " in node.value.strip() and not re.search(r"\(\?|\\b|\[\^", node.value):
                if re.search(r"[.,:;{}`']|\b(?:the|a|is|of|to)\b", node.value):
                    yield node.lineno, node.value


@cache
def messages():
    return [(path, line, text) for path in SOURCES for line, text in shown(path)]


@pytest.mark.parametrize("pattern", [HABITS, IS_NO, RIDDLES], ids=["habits", "is-no", "riddles"])
def test_messages_do_without(pattern):
    found = [(path, line, text) for path, line, text in messages() if pattern.search(text)]
    assert [f"{path.relative_to(ROOT)}:{line}: {text.strip()[:100]}" for path, line, text in found] == []


def comments(path):
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type == tokenize.COMMENT or token.string.lstrip("rRbBfF").startswith('"""'):
                yield token.start[0], token.string


def test_comments_and_docstrings_do_without_the_habits():
    suspects = [path for path in SOURCES if HABITS.search(path.read_text(encoding="utf-8"))]
    found = [(path, line) for path in suspects for line, text in comments(path) if HABITS.search(text)]
    assert [f"{path.relative_to(ROOT)}:{line}" for path, line in found] == []


def test_the_test_sees_messages():
    assert any("processes" in text for path, _line, text in messages() if path.name == "torchrun.py")
    assert HABITS.search("the server could not be told")
    assert IS_NO.search("`x` is no number")
    assert not IS_NO.search("there is no file `x`")


@pytest.mark.parametrize("name", VERBS)
def test_help_texts_do_without_the_habits(name):
    text = VERBS[name].about + VERBS[name].parser().format_help()
    assert not HABITS.search(text)
    assert not RIDDLES.search(text)


def test_pages_of_units_do_without_riddles_and_habits():
    pages = {entry.card.code: entry.page for entry in catalog.entries()}
    assert not [code for code, page in pages.items() if RIDDLES.search(page) or HABITS.search(page)]


def test_pages_written_by_hand_do_without_the_habits():
    """But for the rule itself, which lists the words in italics."""
    pages = [path for path in (ROOT / "docs").rglob("*.md") if path.parent.name != "units"]
    found = []
    for page in [ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", *pages]:
        lines = enumerate(page.read_text(encoding="utf-8").splitlines(), start=1)
        found += [
            f"{page.relative_to(ROOT)}:{n}"
            for n, line in lines
            if HABITS.search(re.sub(r"\*\w+\*", "", line))
        ]
    assert found == []


def test_the_glossary_has_one_meaning_for_each_word():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("### Glossary")[2]
    words = re.findall(r"(?m)^\| ([a-z]+) \|", text)
    assert len(words) >= 20
    assert len(set(words)) == len(words)
