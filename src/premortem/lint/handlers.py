"""What an `except` does with what it caught: shared by the rules about swallowed failures."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from premortem import metric_words
from premortem.lint.patterns import pattern
from premortem.lint.training import names_in
from premortem.lint.tree import caught, constant, dotted, last_name, parts, receiver
from premortem.lint.words_used import mentions

if TYPE_CHECKING:
    from premortem.lint.source import Source

_LEAVING = frozenset("exit _exit abort quit fail skip skipTest sleep".split())
_LOGGING = frozenset(
    "print info warning warn error exception debug log critical print_exc write secho echo rank_zero_info "
    "warning_once rank_zero_warn print_log print_rank_0 tqdm_write".split()
)
_MEMORY = pattern(r"memory|oom|\bcuda\b", re.IGNORECASE)
_WORD = pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

# Calls that look a number up rather than compute it.
_LOOKUPS = frozenset(
    "float int str get load loads open read readline split strip item index eval match search group import_module "
    "getattr find json parse pop loadtxt safe_load torch_load from_pretrained stat getsize rsplit partition rpartition "
    "lstrip rstrip splitlines lower upper replace join format startswith endswith keys values items".split()
)
SHORT = 5  # statements

# Names of numbers that say how good a model is.
METRICS = (
    metric_words.METRICS | {"metric", "metrics", "divergence", "correlation", "similarity"}
) - frozenset(
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
    """What a handler does, under its conditions and in its loops too; not what a function or a handler inside it does."""
    pending: list[ast.stmt] = [*handler.body]
    while pending:
        statement = pending.pop(0)
        yield statement
        if isinstance(statement, (ast.If, ast.With, ast.For)):
            pending = [*statement.body, *getattr(statement, "orelse", ()), *pending]


def falls_to(source: Source, block: ast.Try, handler: ast.ExceptHandler) -> ast.Return | None:
    """The `return` that comes right after a handler that at most prints: what it gives is what the handler gives."""
    if not all(
        isinstance(one, ast.Pass) or (isinstance(one, ast.Expr) and is_logging(one.value))
        for one in handler.body
    ):
        return None
    here: ast.AST = block
    for above in source.ancestors(block):
        for name in ("body", "orelse", "finalbody"):
            statements_here = getattr(above, name, None)
            if isinstance(statements_here, list) and here in statements_here:
                after = statements_here[statements_here.index(here) + 1 :]
                if after:
                    return after[0] if isinstance(after[0], ast.Return) else None
        if not isinstance(above, (ast.If, ast.With)):
            return None
        here = above
    return None


def is_logging(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and (
        last_name(node) in _LOGGING or last_name(node).startswith(("print_", "log_"))
    )


def logs(source: Source, handler: ast.ExceptHandler) -> bool:
    """Whether it prints or logs the failure."""
    return any(is_logging(node) for statement in handler.body for node in source.within(statement))


def words(name: str) -> list[str]:
    """`bestValLoss_ema` as best, val, loss, ema."""
    return [word.lower() for word in _WORD.findall(name)]


def names_metric(name: str) -> bool:
    found = words(name)
    if not found or "reward" in found or "rewards" in found:
        return False  # a reward of 0 for an answer that cannot be parsed is meant, and is not a failure
    if found[-1] in {"fn", "func", "function", "name", "type", "weight", "weights", "scale", "index", "idx"}:
        return False
    # f1 and mAP are two words or half a word to the splitter.
    return bool(METRICS.intersection(found)) or name.lower() in {"f1", "map", "map50", "f1_score", "map_50"}


def held_name(target: ast.expr) -> str:
    """`loss` of `loss`, of `self.loss` and of `scores["loss"]`; `scores[name]` of itself."""
    if isinstance(target, ast.Subscript):
        key = constant(target.slice)
        if isinstance(key, str):
            return key
        return ast.unparse(target) if dotted(target.value) and dotted(target.slice) else ""
    return last_name(target)


def is_kept(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and last_name(value) == "append" and len(value.args) == 1


def computes(source: Source, value: ast.expr) -> bool:
    return any(
        isinstance(node, ast.Call) and last_name(node) not in _LOOKUPS
        for node in (value, *source.within(value))
    )


def computed_by(
    source: Source,
    block: ast.Try,
    made_by: Callable[[Source, ast.expr], bool] = computes,
    *,
    probing: bool = True,
) -> set[str]:
    """Names that the `try` computes by calling something; "return" when it gives back what it computed.

    `probing`: nothing counts in a short `try` that imports something, because it may only ask whether that is there.
    """
    found: set[str] = set()
    for statement in block.body:
        for node in (statement, *source.within(statement, nested=False)):
            if isinstance(node, (ast.Assign, ast.AugAssign)) and (
                made_by(source, node.value) or names_in(source, node.value) & found
            ):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                held = [part for target in targets for part in parts(target)]
                found.update(held_name(part) for part in held)
                # `metrics["entropy"] = ...`: the table stands for its entries.
                found.update(last_name(part.value) for part in held if isinstance(part, ast.Subscript))
            elif isinstance(node, ast.Call) and is_kept(node):
                if made_by(source, node.args[0]) or names_in(source, node.args[0]) & found:
                    found.add(f"{held_name(receiver(node) or node.func)}.append")
            elif isinstance(node, ast.Return) and node.value is not None:
                # Computed in the return itself, or before it: `return psnr.item()`.
                if made_by(source, node.value) or names_in(source, node.value) & found:
                    found.add("return")
            elif probing and isinstance(node, (ast.Import, ast.ImportFrom)) and _is_short(source, block):
                return set()  # the question is whether a package is there
    return found - {""}


def _is_short(source: Source, block: ast.Try) -> bool:
    inner = [one for statement in block.body for one in source.within(statement) if isinstance(one, ast.stmt)]
    return len(block.body) + len(inner) < SHORT
