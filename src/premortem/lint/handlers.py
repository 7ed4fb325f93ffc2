"""What an `except` does with what it caught: shared by the rules about swallowed failures."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from premortem import metric_words
from premortem.lint.tree import caught, last_name
from premortem.lint.words_used import mentions

if TYPE_CHECKING:
    from premortem.lint.source import Source

_LEAVING = frozenset("exit _exit abort quit fail skip skipTest sleep".split())
_LOGGING = frozenset(
    "print info warning warn error exception debug log critical print_exc write secho echo rank_zero_info "
    "rank_zero_warn print_log print_rank_0 tqdm_write".split()
)
_MEMORY = re.compile(r"memory|oom|\bcuda\b", re.IGNORECASE)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

# Names of numbers that say how good a model is.
METRICS = (metric_words.METRICS | {"metric", "metrics"}) - frozenset(
    # In code these are as often something else: what was caught, a built-in, a type of numbers, a penalty.
    "err error errors map precision cost score hit correct l1 l2 ce kl".split()
)


def hides_runtime_errors(source: Source, handler: ast.ExceptHandler) -> bool:
    """Whether it catches `RuntimeError`, which is what most faults of torch are, and at most prints it.

    One that frees memory, or speaks of it, is meant for the memory of the device.
    """
    if "RuntimeError" not in caught(handler):
        return False
    only_logs = all(
        isinstance(one, (ast.Pass, ast.Continue))
        or (isinstance(one, ast.Expr) and (is_logging(one.value) or isinstance(one.value, ast.Constant)))
        for one in handler.body
    )
    return only_logs and not mentions(source, handler, _MEMORY, given=True)


def gives_up(source: Source, handler: ast.ExceptHandler) -> bool:
    """Whether it raises again, ends the program, or waits to try once more, on any path."""
    return any(
        isinstance(node, ast.Raise) or (isinstance(node, ast.Call) and last_name(node) in _LEAVING)
        for statement in handler.body
        for node in (statement, *source.within(statement))
    )


def statements(source: Source, handler: ast.ExceptHandler) -> Iterator[ast.stmt]:
    """What a handler does, under its conditions too; not what a function or a handler inside it does."""
    pending: list[ast.stmt] = [*handler.body]
    while pending:
        statement = pending.pop(0)
        yield statement
        if isinstance(statement, (ast.If, ast.With)):
            pending = [*statement.body, *getattr(statement, "orelse", ()), *pending]


def is_logging(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and last_name(node) in _LOGGING


def logs(source: Source, handler: ast.ExceptHandler) -> bool:
    """Whether it prints or logs the failure."""
    return any(is_logging(node) for statement in handler.body for node in source.within(statement))


def words(name: str) -> list[str]:
    """`bestValLoss_ema` as best, val, loss, ema."""
    return [word.lower() for word in _WORD.findall(name)]


def names_metric(name: str) -> bool:
    found = words(name)
    if not found or "reward" in found or "rewards" in found:
        return False  # a reward of 0 for an answer that cannot be parsed is meant, and is no failure
    if found[-1] in {"fn", "func", "function", "name", "type", "weight", "weights", "scale", "index", "idx"}:
        return False
    # f1 and mAP are two words or half a word to the splitter.
    return bool(METRICS.intersection(found)) or name.lower() in {"f1", "map", "map50", "f1_score", "map_50"}
