"""Sources from text, with places marked in comments: `x = 1  # a` is the statement called a."""

import ast
import re
import textwrap

from premortem.lint.source import Source

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
