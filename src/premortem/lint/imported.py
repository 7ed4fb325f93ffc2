"""The files that a run has imported, read while it trains: what lint suspects there, and what stands at its calls.

In a thread beside the training, so nothing of the process is changed: no other process, no cache, no pause of the
garbage collector. Between two files the training has its turn.
"""

import ast
import time
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from premortem.errors import UsageError
from premortem.events import Argument, SourceRead, Suspicion
from premortem.files import untrusted
from premortem.lint import engine, files, fixes, project, settings
from premortem.lint.diagnostics import Diagnostic
from premortem.lint.parsing import Unreadable
from premortem.lint.project_facts import Facts
from premortem.lint.provenance import values
from premortem.lint.source import Source
from premortem.lint.tree import argument, constant, dotted, last_name, receiver

MOST_FILES = 200  # the nearest to the script: a project of more has its training loop among these
MOST_BYTES = 2_000_000  # of code in all: a second of reading
MOST_ARGUMENTS = 200
TURN = 0.002  # seconds between two files, in which the training has the interpreter for itself
# Methods whose argument says by its name what a number means.
METHODS = ("step",)


def read(paths: Sequence[str], codes: Collection[str]) -> SourceRead:
    """Lint's reports of these rules about these files, of which the first is the script. Rules in preview too: what the
    run does decides."""
    entry = Path(paths[0])
    try:
        asked = settings.read(entry).changed(preview=True, select=())
    except UsageError:
        asked = settings.Settings(preview=True)  # a wrong table is `premortem lint`'s to report
    root = settings.project_root(entry) or entry.parent
    plan = project.Plan(root, asked)
    rules = [rule for rule in engine.all_rules() if rule.card.code in codes]
    texts = dict(_texts(paths))
    found: list[Diagnostic] = []
    waiting: dict[str, list[str]] = {}
    known = []
    for path, data in texts.items():
        checked = engine.check_file(path, data, rules, Facts(root, None, path=path))
        found += checked.diagnostics
        known += [checked.summary] if checked.summary else []
        if checked.waiting:
            waiting[path] = checked.waiting
        time.sleep(TURN)
    for path, late in waiting.items():
        again = [rule for rule in rules if rule.card.code in late]
        found += engine.check_file(path, texts[path], again, Facts(root, None, known, path)).diagnostics
        time.sleep(TURN)
    wanted = [one for one in engine.in_order(project.wanted(found, plan)) if one.card.code in codes]
    return SourceRead(
        files=len(texts),
        suspicions=tuple(suspicion(one, texts[one.path]) for one in wanted),
        arguments=tuple(one for path, data in texts.items() for one in arguments(path, data))[
            :MOST_ARGUMENTS
        ],
    )


def _texts(paths: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    left = MOST_BYTES
    for path in paths[:MOST_FILES]:
        try:
            data = untrusted.read(path)
        except OSError:
            continue  # it was imported, and was removed since
        left -= len(data)
        if left < 0:
            return
        yield path, data


def suspicion(one: Diagnostic, data: bytes) -> Suspicion:
    lines = data.decode(errors="replace").splitlines()[one.line - 1 : one.end_line]
    if lines:
        lines[-1] = lines[-1][: one.end_column - 1] if one.end_column > 1 else lines[-1]
        lines[0] = lines[0][one.column - 1 :]
    text = "\n".join(lines).strip()
    return Suspicion(
        one.card, one.path, one.line, one.end_line, text, one.message, one.remedy, fixes.alone(one, data)
    )


def arguments(path: str, data: bytes) -> Iterator[Argument]:
    """Calls of one value whose name says what it is."""
    if not any(f".{method}(".encode() in data for method in METHODS):
        return
    try:
        source = Source.read(path, data, module=files.module_name(path))
    except (Unreadable, RecursionError, MemoryError):
        return
    try:
        for call in source.calls_to(*METHODS):
            given = argument(call, "metrics", 0)
            owner = receiver(call)
            names = tuple(dict.fromkeys(_names(source, given))) if given is not None else ()
            if owner is not None and names:
                last = call.end_lineno or call.lineno
                yield Argument(path, call.lineno, last, last_name(call), dotted(owner), names)
    finally:
        source.release()


def _names(source: Source, given: ast.expr) -> list[str]:
    """The words of a value: its own name first, then those that it came by. A value that is turned round has none."""
    names = []
    assigned = source.assigned_at(given) if isinstance(given, ast.Name) else []
    for one in (given, *assigned, *(values(source, given) or ())):
        expr = _bare(one)
        if isinstance(expr, ast.UnaryOp) or (isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Sub)):
            return []
        if isinstance(expr, ast.Subscript):
            key = constant(expr.slice)
            names.append(key if isinstance(key, str) else "")
        else:
            called = last_name(expr) if isinstance(expr, ast.Call) else ""
            names.append(dotted(expr).rpartition(".")[2] or called)
    return [name for name in names if name]


def _bare(expr: ast.expr) -> ast.expr:
    """`val_acc` of `val_acc.mean().item()` and of `float(val_acc)`."""
    while isinstance(expr, ast.Call) and last_name(expr) in {"item", "detach", "cpu", "mean", "float"}:
        inner = receiver(expr) or (expr.args[0] if expr.args else None)
        if inner is None:
            break
        expr = inner
    return expr
