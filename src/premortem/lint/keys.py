"""Which settings a file reads and which it turns into numbers itself, as marks for the facts of the project.

Settings are read in files that name neither torch nor YAML, so every file is asked. That has to stay cheap: of all the
names a file reads only those are written down that are usual for a number.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from premortem.lint.patterns import pattern
from premortem.lint.source import once_per_file
from premortem.lint.tree import argument, constant, dotted, grouped, last_name

if TYPE_CHECKING:
    from premortem.lint.source import Source
    from premortem.lint.tree import Function

# `float(cfg["lr"])`: the project turns this key into a number itself.
CONVERTED = "number:"
# `cfg["lr"]`, `cfg.get("lr")`, `cfg.optim.lr`: the project reads this key.
READ = "reads:"
# `AdamW(params, **cfg["optim"])`: the project reads all there is below this key.
SPREAD = "spreads:"
EVERYTHING = SPREAD + "*"

_USUAL = pattern(
    r"(?:^|_)(?:lr|learning_?rate|rate|decay|wd|eps|epsilon|delta|tol|tolerance|min|max|steps?|iters?|beta\d?|gamma|"
    r"alpha|lambda|lam|momentum|warmup|smooth|smoothing|threshold|thresh|temperature|sigma|std|scale|coef|weight|"
    r"factor|noise|size|norm|clip)(?:_|\d|$)",
    re.IGNORECASE,
)
_SETTINGS = pattern(r"cfg|conf|param|opt|arg|setting|hyp", re.IGNORECASE)


@lru_cache(maxsize=8192)
def is_usual(key: str) -> bool:
    """Whether a key of this name is written down where it is read."""
    return _USUAL.search(key) is not None


def keys(source: Source) -> Iterator[str]:
    """What this file does with settings."""
    yield from _converted(source)
    yield from (READ + key for key in set(_read(source)) if is_usual(key))
    if b"**" in source.data:
        yield from _spread(source)


def _converted(source: Source) -> Iterator[str]:
    for call in source.calls_to("float", "eval", "literal_eval", "Decimal"):
        if len(call.args) == 1:
            if _is_each(source, call.args[0]):
                yield CONVERTED + "*"
            for node in (call.args[0], *source.within(call.args[0])):
                if isinstance(node, ast.Attribute):
                    yield CONVERTED + node.attr
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield CONVERTED + node.value
                elif isinstance(node, ast.Name):
                    yield CONVERTED + node.id
    # `parser.add_argument("--lr", type=float)`: argparse converts defaults that are text.
    for call in source.calls_to("add_argument"):
        if last_name(argument(call, "type") or call) == "float":
            for one in call.args:
                if isinstance(name := constant(one), str):
                    yield CONVERTED + name.lstrip("-").replace("-", "_")


def _is_each(source: Source, value: ast.expr) -> bool:
    """`config[name]` of `for name in (...)`, `value` of `for key, value in config.items()`: every key is converted."""
    if isinstance(value, ast.Subscript):
        value = value.slice
    elif not isinstance(value, ast.Name) or not any(
        isinstance(loop, ast.For) and last_name(loop.iter) == "items" for loop in source.loops_around(value)
    ):
        return False
    return isinstance(value, ast.Name) and any(
        isinstance(loop, ast.For)
        and any(
            isinstance(one, ast.Name) and one.id == value.id
            for one in (loop.target, *source.within(loop.target))
        )
        for loop in source.loops_around(value)
    )


def _read(source: Source) -> Iterator[str]:
    for attribute in source.nodes(ast.Attribute):
        # `self.lr` is what the object was given, not where it came from.
        owner = attribute.value
        if attribute.ctx.__class__ is ast.Load and not (owner.__class__ is ast.Name and owner.id == "self"):
            yield attribute.attr
    for subscript in source.nodes(ast.Subscript):
        if isinstance(key := constant(subscript.slice), str):
            yield key
    for call in source.calls_to("get", "pop", "getattr", "setdefault"):
        for one in call.args[:2]:
            if isinstance(key := constant(one), str):
                yield key


def _spread(source: Source) -> Iterator[str]:
    everything = False
    for call in source.nodes(ast.Call):
        for keyword in call.keywords:
            if keyword.arg is not None:
                continue
            value = keyword.value
            if isinstance(value, ast.Subscript) and isinstance(key := constant(value.slice), str):
                yield SPREAD + key
            elif isinstance(value, ast.Attribute):
                yield SPREAD + value.attr
            elif isinstance(value, ast.Call):
                # `Settings(**yaml.safe_load(file))`, `AdamW(**cfg.get("optim", {}))`
                key = constant(value.args[0]) if value.args else None
                yield SPREAD + key if isinstance(key, str) else EVERYTHING
            elif not everything and _SETTINGS.search(dotted(value)) and not _is_passed_on(source, value):
                everything = True
                yield EVERYTHING


def _is_passed_on(source: Source, value: ast.expr) -> bool:
    """`**kwargs` of a function that takes `**kwargs` itself."""
    # By its lines: who is whose parent is worked out for the rules that need it, and this is asked of every file.
    taking = _rests(source).get(dotted(value), ())
    return any(one.lineno <= value.lineno <= (one.end_lineno or one.lineno) for one in taking)


@once_per_file
def _rests(source: Source) -> dict[str, list[Function]]:
    """The names under which functions of this file take `**kwargs`, with those functions."""
    return grouped(
        [one for one in source.functions if one.args.kwarg is not None],
        lambda one: one.args.kwarg.arg if one.args.kwarg is not None else "",
    )
