"""Sources from text, with places marked in comments: `x = 1  # a` is the statement called a."""

import ast
import re
import textwrap
from pathlib import Path

from premortem.lint import engine
from premortem.lint.project_facts import Facts
from premortem.lint.source import Source
from premortem.lint.target import Targets

MARK = re.compile(r"#\s*(\w+)\s*$")


def source(text, path="train.py", module=""):
    return Source.read(path, textwrap.dedent(text).encode(), module=module)


def marked(text):
    """The source, the flow of its first function (else of the module), and its marked statements by name."""
    parsed = source(text)
    places = {
        match[1]: number
        for number, line in enumerate(textwrap.dedent(text).splitlines(), start=1)
        if (match := MARK.search(line))
    }
    statements = {}
    for node in ast.walk(parsed.tree):
        if isinstance(node, (ast.stmt, ast.ExceptHandler)):
            for name, line in places.items():
                if node.lineno == line:
                    statements[name] = node
    scope = parsed.functions[0] if parsed.functions else parsed.tree
    return parsed, parsed.flow(scope), statements


def lint_files(paths, root, rules, target=None):
    """Exactly these files, with the facts of all of them, in this process and without a cache."""
    texts = {path: Path(path).read_bytes() for path in paths}
    checked = {
        path: engine.check_file(path, data, rules, Facts(root, target)) for path, data in texts.items()
    }
    known = [one.summary for one in checked.values() if one.summary is not None]
    for path, one in checked.items():
        again = [rule for rule in rules if rule.card.code in one.waiting]
        if again:
            facts = Facts(root, target, known, path)
            one.diagnostics += engine.check_file(path, texts[path], again, facts).diagnostics
    return engine.in_order(diagnostic for one in checked.values() for diagnostic in one.diagnostics)


def target_of(root, asked=None):
    """The versions that files in this folder run with."""
    return Targets(root, asked).of(str(root / "any.py"))
