"""What the rules about changed interfaces share: uses of known packages, guards around them, the versions allowed."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from premortem.lint import signatures
from premortem.lint.patterns import pattern
from premortem.lint.project_facts import Facts
from premortem.lint.signatures import Minor, Symbol
from premortem.lint.source import Source, once_per_file
from premortem.lint.target import UNKNOWN, Pin, Target
from premortem.lint.tree import caught, dotted
from premortem.lint.words_used import mentions

# A file without one of these imports nothing that is known.
TRIGGERS = (b"torch", b"lightning", b"accelerate", b"transformers")
# Words of a condition that asks which version is there, or what it can do.
ASKS_VERSION = pattern(
    r"version|hasattr|getattr|signature|parameters|_available|greater|torch_\w*\d|TORCH|[._](ge|gt|lt|le)_|IS_|compat"
    r"|TYPE_CHECKING",
    re.IGNORECASE,
)
# Vendors' packages that replace parts of torch: what it takes is then not in the tables.
VENDORS = ("torch_npu", "torch_mlu", "intel_extension_for_pytorch", "habana_frameworks")
# A block in which an exception is wanted, or does not matter.
EXPECTS_FAILURE = pattern(r"raises|assertRaises|suppress|expect", re.IGNORECASE)
CATCHES_MISSING = frozenset("Exception BaseException ImportError ModuleNotFoundError AttributeError".split())
CATCHES_REFUSED = frozenset("Exception BaseException TypeError".split())


@dataclass(frozen=True, slots=True)
class Use:
    """An expression that stands for one of these known names, whichever import was taken."""

    node: ast.expr
    symbols: tuple[Symbol, ...]
    pin: Pin

    @property
    def name(self) -> str:
        return dotted(self.node).rpartition(".")[2]

    @property
    def package(self) -> str:
        return self.pin.distribution


@once_per_file
def is_patched(source: Source) -> bool:
    """Whether the file runs with a torch that was changed from outside."""
    if any(source.names.imports(vendor) for vendor in VENDORS) or "npu" in source.calls:
        return True
    # `torch.npu.set_device(0)`
    return b".npu" in source.data and any(node.attr == "npu" for node in source.nodes(ast.Attribute))


def is_own(source: Source, name: str) -> bool:
    """Whether the project brings its own copy of a package, as some do of transformers: the tables say nothing then."""
    return _is_beside_file(source.path, name.partition(".")[0])


@lru_cache(maxsize=256)
def _is_beside_file(path: str, package: str) -> bool:
    return _is_beside(os.path.dirname(os.path.abspath(path)), package)  # noqa: PTH100, PTH120 - once for every file


@lru_cache(maxsize=4096)
def _is_beside(folder: str, package: str) -> bool:
    for _up in range(6):
        beside = os.path.join(folder, package)  # noqa: PTH118 - many folders, several packages
        if os.path.exists(os.path.join(beside, "__init__.py")) or os.path.exists(f"{beside}.py"):  # noqa: PTH110, PTH118
            return os.path.basename(folder) != "site-packages"  # noqa: PTH119
        above = os.path.dirname(folder)  # noqa: PTH120
        if above == folder:
            break
        folder = above
    return False


def calls(source: Source, project: Facts) -> tuple[tuple[ast.Call, Use], ...]:
    """Calls of names of which every candidate is known, in the order of the source."""
    return _calls(source, project.target or UNKNOWN)


@once_per_file
def named_calls(source: Source) -> list[tuple[ast.Call, str]]:
    """The calls of what this file imports from a package that there is a table for, with the text of what is called."""
    roots = source.names.bound_to(signatures.distribution_of)
    found = []
    for call in source.nodes(ast.Call) if roots else ():
        root: ast.AST = call.func
        while root.__class__ is ast.Attribute:
            root = root.value
        if root.__class__ is ast.Name and root.id in roots:
            found.append((call, dotted(call.func)))
    return found


@lru_cache(maxsize=1)  # the rules ask about one file after the other
def _calls(source: Source, target: Target) -> tuple[tuple[ast.Call, Use], ...]:
    seen: dict[str, tuple[tuple[Symbol, ...], Pin] | None] = {}
    found: list[tuple[ast.Call, Use]] = []
    for call, text in named_calls(source):
        if text not in seen:
            seen[text] = _known(source, call.func, target)
        if (known := seen[text]) is not None:
            found.append((call, Use(call.func, *known)))
    return tuple(found)


def made_by_name(source: Source, project: Facts) -> Iterator[tuple[ast.Call, Use]]:
    """Calls that hand their keywords on: `partial(StepLR, gamma=…)`, `super().__init__(…)` of a known base."""
    target = project.target or UNKNOWN
    for call in source.calls_to("partial"):
        if call.args and source.names.all_in(call.func, {"functools.partial"}):
            if (known := _known(source, call.args[0], target)) is not None:
                yield call, Use(call.args[0], *known)
    inits = source.calls.get("__init__", ())
    # With several bases it is not this class that decides which comes next.
    single = [one for one in source.classes if len(one.bases) == 1] if inits else ()
    bases = {one: known for one in single if (known := _known(source, one.bases[0], target)) is not None}
    for call in inits if bases else ():
        match call.func:
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super"))):
                above = source.class_of(call)
                if above in bases:
                    yield call, Use(above.bases[0], *bases[above])


def _known(source: Source, func: ast.expr, target: Target) -> tuple[tuple[Symbol, ...], Pin] | None:
    candidates = source.names.of(func)
    distributions = {signatures.distribution_of(name) for name in candidates}
    if len(distributions) != 1 or "" in distributions or any(is_own(source, name) for name in candidates):
        return None
    symbols = tuple(symbol for name in sorted(candidates) if (symbol := signatures.find(name)) is not None)
    if len(symbols) != len(candidates):
        return None
    return symbols, target.pin(distributions.pop())


def pin(project: Facts, distribution: str) -> Pin:
    return (project.target or UNKNOWN).pin(distribution)


def spelled(minor: Minor) -> str:
    return f"{minor[0]}.{minor[1]}"


def is_guarded(source: Source, node: ast.AST, exceptions: frozenset[str]) -> bool:
    """Whether the program is prepared: it asked for the version, or catches what will be raised."""
    below: ast.AST = node
    for above in source.ancestors(node):
        if isinstance(above, ast.Try) and any(below is statement for statement in above.body):
            if any(not exceptions.isdisjoint(caught(handler)) for handler in above.handlers):
                return True
        if isinstance(above, (ast.With, ast.AsyncWith)):
            if any(mentions(source, item.context_expr, EXPECTS_FAILURE) for item in above.items):
                return True
        if isinstance(above, (ast.If, ast.IfExp)) and below is not above.test:
            if mentions(source, above.test, ASKS_VERSION, given=True):
                return True
        if isinstance(below, ast.stmt) and _is_never_reached(below, above):
            return True
        if isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef)):
            # An early return, or a decorator that skips a test, guards all of the function.
            tests = [inner.test for inner in above.body if isinstance(inner, ast.If)]
            if any(
                mentions(source, test, ASKS_VERSION, given=True) for test in (*tests, *above.decorator_list)
            ):
                return True
        below = above
    return False


def _is_never_reached(statement: ast.stmt, above: ast.AST) -> bool:
    """Whether it stands behind a `raise` or `return` of its own block."""
    for before in getattr(above, "body", ()):
        if before is statement:
            return False
        if isinstance(before, (ast.Raise, ast.Return, ast.Continue, ast.Break)):
            return True
    return False


def is_hidden(source: Source, node: ast.expr) -> bool:
    """Whether a function around the use binds the name again, or the program replaces the attribute."""
    text = dotted(node)
    if "." in text and text in source.assignments:
        return True
    first = text.partition(".")[0]
    for above in source.ancestors(node):
        if isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            if any(_binds(inner, first) for inner in source.within(above)):
                return True
    return False


def _binds(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Name):
        return node.id == name and not isinstance(node.ctx, ast.Load)
    return isinstance(node, ast.arg) and node.arg == name


def imported(source: Source) -> Iterator[tuple[ast.alias, str]]:
    """Names that `import` statements take from known packages."""
    for statement in source.nodes(ast.ImportFrom):
        if statement.level == 0 and statement.module and signatures.distribution_of(statement.module):
            if not is_own(source, statement.module):
                for alias in statement.names:
                    yield alias, f"{statement.module}.{alias.name}"
    for plain in source.nodes(ast.Import):
        for alias in plain.names:
            if signatures.distribution_of(alias.name) and not is_own(source, alias.name):
                yield alias, alias.name


def pin_of(project: Facts, name: str) -> Pin | None:
    """The versions allowed of the package a dotted name belongs to; None for an unknown package."""
    distribution = signatures.distribution_of(name)
    return pin(project, distribution) if distribution else None
