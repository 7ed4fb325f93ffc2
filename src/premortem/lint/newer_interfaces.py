"""What a file uses that one version of a package does not have yet: the evidence of two rules."""

import ast
from collections.abc import Callable, Iterable, Iterator

from premortem.lint import drift, signatures
from premortem.lint.patterns import pattern
from premortem.lint.project_facts import Facts
from premortem.lint.signatures import Minor
from premortem.lint.source import Source
from premortem.lint.target import Pin
from premortem.lint.tree import dotted
from premortem.lint.words_used import mentions

# A file with one of these knows that versions differ; what its functions use may be guarded where they are called.
KNOWS_VERSIONS = pattern(
    r"__version__|torch_version|TORCH_(GREATER|VERSION|\d)|_torch_(greater|less|version)|TORCH_?\d"
)
# Data types are constants; the tables know functions and classes.
DTYPES: dict[str, Minor] = {
    "torch.float8_e4m3fn": (2, 1),
    "torch.float8_e5m2": (2, 1),
    "torch.uint16": (2, 3),
    "torch.uint32": (2, 3),
    "torch.uint64": (2, 3),
}


def newcomers(
    source: Source, project: Facts, bound: Callable[[Pin], Minor | None]
) -> Iterator[tuple[ast.AST, str, Minor, Pin]]:
    """What this file uses and one version of the pin does not have yet: the place, words for it, since when."""
    if drift.is_patched(source):
        return
    reported: set[str] = set()
    for node, name in drift.imported(source):
        found = drift.pin_of(project, name)
        since = _later(name, bound(found)) if found and found.binds else None
        if found and since and _is_bare(source, node, drift.CATCHES_MISSING):
            reported.add(name)
            yield node, f"`{name}`", since, found
    for call, use in drift.calls(source, project):
        version = bound(use.pin)
        if version is None or not use.pin.binds:
            continue
        names = [symbol.name for symbol in use.symbols]
        since = _earliest(_later(name, version) for name in names)
        if since is not None:
            known = isinstance(call.func, ast.Name) and not reported.isdisjoint(names)
            if not known and _is_bare(source, call, drift.CATCHES_MISSING):
                yield call.func, f"`{min(names)}`", since, use.pin
            continue
        for keyword in call.keywords:
            if keyword.arg is None or signatures.accepts(names, keyword.arg, version) is not False:
                continue
            starts = [signatures.since(symbol, keyword.arg) for symbol in use.symbols]
            later = _earliest(start if start and start > version else None for start in starts)
            if later is not None and _is_bare(source, call, drift.CATCHES_REFUSED):
                yield keyword, f"`{keyword.arg}` of `{use.name}`", later, use.pin
    mentioned = any(part in source.data for part in _DTYPE_PARTS)
    for attribute in source.nodes(ast.Attribute) if mentioned else ():
        if attribute.attr in _DTYPE_NAMES:
            names = sorted(source.names.of(attribute))
            found = drift.pin_of(project, names[0]) if names else None
            version = bound(found) if found and found.binds else None
            if found and version and all(DTYPES.get(name, version) > version for name in names):
                if _is_bare(source, attribute, drift.CATCHES_MISSING):
                    yield attribute, f"`{names[0]}`", DTYPES[names[0]], found


_DTYPE_NAMES = frozenset(name.rpartition(".")[2] for name in DTYPES)
_DTYPE_PARTS = (b"float8_", b"uint")  # each name has one of them


def _is_bare(source: Source, node: ast.AST, caught: frozenset[str]) -> bool:
    """Whether nothing shows that the program is prepared for a version without this."""
    named = node.func if isinstance(node, ast.Call) else node
    if isinstance(named, ast.expr):
        if drift.is_hidden(source, named) or _is_imported_with_care(source, named):
            return False
    elif source.function(node) is not None:
        return False  # an import inside a function keeps apart what not every version has
    if source.function(node) is not None and mentions(source, source.tree, KNOWS_VERSIONS):
        return False
    return not drift.is_guarded(source, node, caught)


def _is_imported_with_care(source: Source, named: ast.expr) -> bool:
    """Whether the import that gives the first name is itself in a function or under a guard."""
    first = dotted(named).partition(".")[0]
    imports: list[ast.Import | ast.ImportFrom] = [*source.nodes(ast.Import), *source.nodes(ast.ImportFrom)]
    for statement in imports:
        for alias in statement.names:
            if (alias.asname or alias.name.partition(".")[0]) == first:
                if source.function(statement) is not None or drift.is_guarded(
                    source, statement, drift.CATCHES_MISSING
                ):
                    return True
    return False


def _later(name: str, version: Minor | None) -> Minor | None:
    """The release this name came with, if that is later than the version."""
    symbol = signatures.find(name)
    if symbol is None or version is None or version < symbol.minors[0] or symbol.exists(version):
        return None
    since = signatures.since(symbol)
    return since if since and since > version and symbol.is_understood(since) else None


def _earliest(starts: Iterable[Minor | None]) -> Minor | None:
    """The first of them, when every candidate is too new; one that is not settles it."""
    found = list(starts)
    known = [start for start in found if start is not None]
    return min(known) if found and len(known) == len(found) else None
