"""What a statement binds, and to what."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from premortem.lint.tree import FUNCTIONS, SCOPES, dotted


@dataclass(frozen=True, slots=True)
class Definition:
    """A place where a name gets its value.

    `how` is "assign", "augmented", "unpack", "for", "with", "parameter", "import", "except", "def" or "delete".
    `value` is the expression it comes from: the right-hand side, what is iterated, the context manager, a
    parameter's default; None where there is none.
    """

    name: str
    how: str
    statement: ast.AST
    value: ast.expr | None


def parameters(scope: ast.AST) -> Iterator[Definition]:
    if not isinstance(scope, FUNCTIONS):
        return
    given = scope.args
    plain = [*given.posonlyargs, *given.args]
    defaults: list[ast.expr | None] = [*([None] * (len(plain) - len(given.defaults))), *given.defaults]
    for argument, default in zip([*plain, *given.kwonlyargs], [*defaults, *given.kw_defaults], strict=True):
        yield Definition(argument.arg, "parameter", scope, default)
    for rest in (given.vararg, given.kwarg):
        if rest is not None:
            yield Definition(rest.arg, "parameter", scope, None)


def bindings(statement: ast.AST) -> Iterator[Definition]:
    if isinstance(statement, ast.Assign):
        for target in statement.targets:
            yield from _target(target, "assign", statement, statement.value)
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        yield from _target(statement.target, "assign", statement, statement.value)
    elif isinstance(statement, ast.AugAssign):
        yield from _target(statement.target, "augmented", statement, statement.value)
    elif isinstance(statement, (ast.For, ast.AsyncFor)):
        yield from _target(statement.target, "for", statement, statement.iter)
    elif isinstance(statement, (ast.With, ast.AsyncWith)):
        for item in statement.items:
            if item.optional_vars is not None:
                yield from _target(item.optional_vars, "with", statement, item.context_expr)
    elif isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
        yield Definition(statement.name, "def", statement, None)
    elif isinstance(statement, (ast.Import, ast.ImportFrom)):
        for alias in statement.names:
            yield Definition(alias.asname or alias.name.partition(".")[0], "import", statement, None)
    elif isinstance(statement, ast.ExceptHandler) and statement.name:
        yield Definition(statement.name, "except", statement, None)
    for node in _own_expressions(statement):
        if isinstance(node, ast.NamedExpr):
            yield Definition(node.target.id, "assign", statement, node.value)


def _target(target: ast.expr, how: str, statement: ast.AST, value: ast.expr) -> Iterator[Definition]:
    if isinstance(target, (ast.Tuple, ast.List)):
        values: list[ast.expr | None] = [None] * len(target.elts)
        paired = (
            how == "assign"
            and isinstance(value, (ast.Tuple, ast.List))
            and len(value.elts) == len(target.elts)
            and not any(isinstance(one, ast.Starred) for one in (*value.elts, *target.elts))
        )
        if paired:
            values = list(value.elts)  # type: ignore[attr-defined]
        for element, part in zip(target.elts, values, strict=True):
            inner = element.value if isinstance(element, ast.Starred) else element
            if part is not None:
                yield from _target(inner, how, statement, part)
            else:
                yield from _target(inner, how if how != "assign" else "unpack", statement, value)
    elif text := dotted(target):
        yield Definition(text, how, statement, value)


def _own_expressions(statement: ast.AST) -> Iterator[ast.AST]:
    """The expressions a statement itself evaluates, not those of the statements inside it."""
    stack: list[ast.AST] = [
        child for child in ast.iter_child_nodes(statement) if not isinstance(child, (ast.stmt, *SCOPES))
    ]
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.ExceptHandler, ast.match_case)):
            continue
        yield node
        stack.extend(
            child for child in ast.iter_child_nodes(node) if not isinstance(child, (ast.stmt, *SCOPES))
        )
