"""One Python file: its bytes, its tree, and one flat walk that sorts the nodes into buckets.

Rules ask for buckets (`source.calls["backward"]`, `source.nodes(ast.Try)`); parents, scopes and flow are worked
out when they are first asked for, because most files need none of them.
"""

from __future__ import annotations

import ast
import bisect
import io
import re
import tokenize
import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from premortem.lint.diagnostics import Edit
from premortem.lint.names import Names

if TYPE_CHECKING:
    from premortem.lint.flow import Flow
    from premortem.lint.kinds import Kinds

BOM = b"\xef\xbb\xbf"
NEWLINE = re.compile(rb"\r\n|\r|\n")

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Scope: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef | ast.Module
Loop: TypeAlias = ast.For | ast.AsyncFor | ast.While
Assignment: TypeAlias = ast.Assign | ast.AnnAssign | ast.AugAssign
Node = TypeVar("Node", bound=ast.AST)

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
SCOPES = (*FUNCTIONS, ast.Lambda, ast.ClassDef)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
TRIES: tuple[type[ast.AST], ...] = tuple(
    getattr(ast, name) for name in ("Try", "TryStar") if hasattr(ast, name)
)

# Fields that hold no code, or code that never runs a training step.
_SKIPPED = frozenset(
    "ctx op ops type_comment type_ignores kind id attr arg name is_async module level simple conversion "
    "returns annotation type_params".split()
)
_LEAVES = frozenset(
    (str, int, float, complex, bytes, bool, type(None), type(...), ast.Name, ast.Constant, ast.Pass)
)
_fields: dict[type, tuple[str, ...]] = {}


# Classes of other packages that are torch modules.
_MODULE_BASES = frozenset(
    (
        "lightning.LightningModule",
        "lightning.pytorch.LightningModule",
        "pytorch_lightning.LightningModule",
        "transformers.PreTrainedModel",
    )
)


class Unreadable(Exception):  # noqa: N818 - a state of the file, not an error of premortem
    """The file cannot be parsed; the text is a sentence for people."""

    def __init__(self, message: str, line: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


class Cell:
    """A code cell of a notebook: where it begins in the joined source."""

    __slots__ = ("first_line", "number")

    def __init__(self, number: int, first_line: int) -> None:
        self.number = number  # counted from 1 among all cells, as editors count them
        self.first_line = first_line


def _children(node: ast.AST) -> tuple[str, ...]:
    """Fields that can hold code, last first: a stack then yields them in the order of the source."""
    found = tuple(name for name in reversed(node._fields) if name not in _SKIPPED)
    _fields[node.__class__] = found
    return found


class Source:
    """One parsed file. Offsets are in bytes of `data`, which is UTF-8 whatever the file's own encoding."""

    def __init__(
        self, path: str, data: bytes, *, module: str = "", cells: Sequence[Cell] = (), encoding: str = "utf-8"
    ) -> None:
        self.path = path
        self.data = data
        self.module = module  # dotted name in the project, where it is known
        self.encoding = encoding
        self.cells = tuple(cells)
        self.tree = _parse(path, data, notebook=bool(cells))
        self._buckets = _walk(self.tree)

    @classmethod
    def read(cls, path: str, data: bytes, module: str = "") -> Source:
        """A `.py` file from its bytes; raises `Unreadable`."""
        encoding = "utf-8"
        # Nearly every file is UTF-8: look for a declaration only where there can be one.
        if b"coding" in data[:400]:
            encoding, data = _reencoded(data)
        return cls(path, data, module=module, encoding=encoding)

    # --- buckets ---------------------------------------------------------------------------------

    def nodes(self, kind: type[Node]) -> Sequence[Node]:
        """All nodes of this class in the order of the source. Not for Name and Constant: see `within`."""
        return self._buckets.get(kind, ())  # type: ignore[return-value]

    @cached_property
    def calls(self) -> dict[str, list[ast.Call]]:
        """Calls by the last part of what is called: `a.b.step()` and `step()` are both under "step"."""
        found: defaultdict[str, list[ast.Call]] = defaultdict(list)
        for call in self.nodes(ast.Call):
            func = call.func
            if func.__class__ is ast.Attribute:
                found[func.attr].append(call)
            elif func.__class__ is ast.Name:
                found[func.id].append(call)
        found.default_factory = None
        return found

    def calls_to(self, *names: str) -> Iterator[ast.Call]:
        """Calls whose last name is one of these: `source.calls_to("clip_grad_norm_", "clip_grad_value_")`."""
        for name in names:
            yield from self.calls.get(name, ())

    @cached_property
    def bindings(self) -> tuple[Assignment, ...]:
        """All assignment statements: plain, annotated, augmented."""
        return _in_order(*self.nodes(ast.Assign), *self.nodes(ast.AnnAssign), *self.nodes(ast.AugAssign))

    @cached_property
    def assignments(self) -> dict[str, list[Assignment]]:
        """Statements that bind a target, by its text: "x", "self.model", "model.head"; tuples count each part."""
        found: defaultdict[str, list[Assignment]] = defaultdict(list)
        for statement in self.bindings:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                for part in _parts(target):
                    if text := dotted(part):
                        found[text].append(statement)
        found.default_factory = None
        return found

    @property
    def expressions(self) -> Sequence[ast.Expr]:
        """Statements that are only an expression."""
        return self.nodes(ast.Expr)

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """All functions and methods, nested ones too."""
        return _in_order(*self.nodes(ast.FunctionDef), *self.nodes(ast.AsyncFunctionDef))

    @property
    def classes(self) -> Sequence[ast.ClassDef]:
        return self.nodes(ast.ClassDef)

    @cached_property
    def module_classes(self) -> frozenset[str]:
        """Names of the classes of this file that are surely torch modules: through their bases, in this file."""
        found: set[str] = set()
        size = -1
        while size != len(found):
            size = len(found)
            for cls in self.classes:
                if any(self._is_module_base(base, found) for base in cls.bases):
                    found.add(cls.name)
        return frozenset(found)

    def _is_module_base(self, base: ast.expr, known: set[str]) -> bool:
        names = self.names.of(base)
        return bool(names) and all(
            (name.startswith("torch.nn.") and name.rpartition(".")[2][:1].isupper())
            or name in _MODULE_BASES
            or (name.startswith("<local>.") and name[8:] in known)
            for name in names
        )

    @cached_property
    def loops(self) -> tuple[Loop, ...]:
        """`for` and `while` statements; comprehensions are not loops here."""
        return _in_order(*self.nodes(ast.For), *self.nodes(ast.AsyncFor), *self.nodes(ast.While))

    @cached_property
    def tries(self) -> tuple[ast.Try, ...]:
        return _in_order(*(node for kind in TRIES for node in self.nodes(kind)))  # type: ignore[arg-type]

    @cached_property
    def withs(self) -> tuple[ast.With | ast.AsyncWith, ...]:
        return _in_order(*self.nodes(ast.With), *self.nodes(ast.AsyncWith))

    @cached_property
    def names(self) -> Names:
        """What names can stand for: `source.names.of(call.func)`."""
        return Names(self)

    @cached_property
    def kinds(self) -> Kinds:
        """Which names hold a module, an optimizer, a scheduler, a scaler: by positive evidence."""
        from premortem.lint.kinds import Kinds

        return Kinds(self)

    # --- around a node ---------------------------------------------------------------------------

    @cached_property
    def _parents(self) -> dict[ast.AST, ast.AST]:
        parents: dict[ast.AST, ast.AST] = {}
        stack: list[ast.AST] = [self.tree]
        while stack:
            node = stack.pop()
            for child in ast.iter_child_nodes(node):
                parents[child] = node
                stack.append(child)
        return parents

    def parent(self, node: ast.AST) -> ast.AST | None:
        return self._parents.get(node)

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """The parent, its parent, and so on up to the module."""
        parents = self._parents
        while (above := parents.get(node)) is not None:
            yield above
            node = above

    def statement(self, node: ast.AST) -> ast.stmt:
        """The statement this node is part of (itself, when it is one)."""
        here: ast.AST | None = node
        while here is not None and not isinstance(here, ast.stmt):
            here = self._parents.get(here)
        if here is None:
            raise ValueError(f"{type(node).__name__} is in no statement")
        return here

    def function(self, node: ast.AST) -> Function | None:
        """The innermost function around this node; a lambda is part of the function it stands in."""
        return next((above for above in self.ancestors(node) if isinstance(above, FUNCTIONS)), None)

    def scope(self, node: ast.AST) -> Function | ast.Module:
        """The innermost function around this node, or the module."""
        return self.function(node) or self.tree

    def class_of(self, node: ast.AST) -> ast.ClassDef | None:
        """The innermost class around this node."""
        return next((above for above in self.ancestors(node) if isinstance(above, ast.ClassDef)), None)

    def loops_around(self, node: ast.AST) -> tuple[Loop, ...]:
        """The loops whose body holds this node within its function, innermost first."""
        found: list[Loop] = []
        below = node
        for above in self.ancestors(node):
            if isinstance(above, (*FUNCTIONS, ast.Lambda, ast.ClassDef)):
                break
            # What a `for` iterates over, and its `else`, are evaluated once.
            if isinstance(above, LOOPS) and any(below is statement for statement in above.body):
                found.append(above)
            below = above
        return tuple(found)

    @cached_property
    def _within(self) -> dict[tuple[ast.AST, bool], tuple[ast.AST, ...]]:
        return {}

    def within(self, node: ast.AST, *, nested: bool = True) -> tuple[ast.AST, ...]:
        """Every node below this one, in the order of the source, names and constants included.

        `nested=False` leaves out what belongs to functions, lambdas and classes defined inside.
        """
        key = (node, nested)
        if key not in self._within:
            self._within[key] = tuple(_below(node, nested=nested))
        return self._within[key]

    def flow(self, scope: ast.AST) -> Flow:
        """The control flow of a function or of the module."""
        from premortem.lint.flow import Flow

        if scope not in self._flows:
            self._flows[scope] = Flow(self, scope)
        return self._flows[scope]

    @cached_property
    def _flows(self) -> dict[ast.AST, Flow]:
        return {}

    # --- places and text -------------------------------------------------------------------------

    @cached_property
    def _line_starts(self) -> list[int]:
        first = len(BOM) if self.data.startswith(BOM) else 0
        return [first, *(match.end() for match in NEWLINE.finditer(self.data))]

    def offset(self, line: int, column: int) -> int:
        """The byte at which ast's (line, column) stands."""
        return self._line_starts[line - 1] + column

    def range(self, node: ast.AST) -> tuple[int, int]:
        """The bytes this node covers."""
        start = self.offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]
        return start, self.offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def text(self, node: ast.AST) -> str:
        """What the file says at this node, as it is written."""
        start, end = self.range(node)
        return self.data[start:end].decode()

    def line_text(self, line: int) -> str:
        """A line of the (joined) source without its end."""
        starts = self._line_starts
        end = starts[line] if line < len(starts) else len(self.data)
        return self.data[starts[line - 1] : end].decode(errors="replace").rstrip("\r\n")

    def span(self, node: ast.AST) -> tuple[int | None, int, int, int, int]:
        """(cell, line, column, end line, end column) for people: from 1, columns in characters."""
        line: int = getattr(node, "lineno", 1)
        end_line: int = getattr(node, "end_lineno", None) or line
        column = self._characters(line, getattr(node, "col_offset", 0))
        end_column = self._characters(end_line, getattr(node, "end_col_offset", None) or 0)
        cell, first = self.cell_at(line)
        return cell, line - first, column, end_line - first, end_column

    def cell_at(self, line: int) -> tuple[int | None, int]:
        """The cell a line of the joined source is in, and how many lines precede that cell."""
        if not self.cells:
            return None, 0
        place = bisect.bisect_right([cell.first_line for cell in self.cells], line) - 1
        cell = self.cells[max(place, 0)]
        return cell.number, cell.first_line - 1

    def _characters(self, line: int, column: int) -> int:
        start = self._line_starts[line - 1]
        return len(self.data[start : start + column].decode(errors="replace")) + 1

    # --- edits -----------------------------------------------------------------------------------

    def replace(self, node: ast.AST, text: str) -> Edit:
        return Edit(*self.range(node), text)

    def insert_before(self, node: ast.AST, text: str) -> Edit:
        start, _end = self.range(node)
        return Edit(start, start, text)

    def insert_after(self, node: ast.AST, text: str) -> Edit:
        _start, end = self.range(node)
        return Edit(end, end, text)

    def without_argument(self, call: ast.Call, argument: ast.keyword | ast.expr) -> Edit:
        """Removes one argument of a call with its comma."""
        everything = sorted((*call.args, *call.keywords), key=self.range)
        place = next(index for index, one in enumerate(everything) if one is argument)
        start, end = self.range(argument)
        if place + 1 < len(everything):
            return Edit(start, self.range(everything[place + 1])[0], "")
        if place:
            return Edit(self.range(everything[place - 1])[1], end, "")
        comma = re.compile(rb"\s*,").match(self.data, end)
        return Edit(start, comma.end() if comma else end, "")


def dotted(node: ast.AST | None) -> str:
    """`self.model.head` as text; "" for what is not a plain chain of names."""
    parts: list[str] = []
    while node.__class__ is ast.Attribute:
        parts.append(node.attr)
        node = node.value
    if node.__class__ is not ast.Name:
        return ""
    parts.append(node.id)
    return ".".join(reversed(parts))


def receiver(call: ast.Call) -> ast.expr | None:
    """`x` in `x.step()`; None for a plain function call."""
    return call.func.value if isinstance(call.func, ast.Attribute) else None


def last_name(node: ast.AST) -> str:
    """`step` of `a.step`, `a.step()` and `step`; "" for anything else."""
    if isinstance(node, ast.Call):
        node = node.func
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def argument(call: ast.Call, name: str, position: int | None = None) -> ast.expr | None:
    """The value given for a parameter, by keyword or by position (counted from 0); None when not given."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    if position is None or len(call.args) <= position:
        return None
    if any(isinstance(arg, ast.Starred) for arg in call.args[: position + 1]):
        return None
    return call.args[position]


def constant(node: ast.AST | None) -> object:
    """The value of a literal, signs included (`-1e9`); None for anything else, and for None itself."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        value = constant(node.operand)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return -value if isinstance(node.op, ast.USub) else value
    return None


def _parts(target: ast.expr) -> Iterator[ast.expr]:
    if isinstance(target, (ast.Tuple, ast.List)):
        for element in target.elts:
            yield from _parts(element)
    else:
        yield target.value if isinstance(target, ast.Starred) else target


def _in_order(*nodes: Node) -> tuple[Node, ...]:
    return tuple(sorted(nodes, key=lambda node: (node.lineno, node.col_offset)))  # type: ignore[attr-defined]


def _below(node: ast.AST, *, nested: bool) -> Iterator[ast.AST]:
    stack: list[ast.AST] = [*reversed(list(ast.iter_child_nodes(node)))]
    while stack:
        here = stack.pop()
        yield here
        if nested or not isinstance(here, SCOPES):
            stack.extend(reversed(list(ast.iter_child_nodes(here))))


def _walk(tree: ast.Module) -> dict[type, list[ast.AST]]:
    """Every node that is not a leaf, by its class, in the order of the source. The only walk of a whole file."""
    buckets: defaultdict[type, list[ast.AST]] = defaultdict(list)
    stack: list[ast.AST] = [tree]
    pop, push, extend = stack.pop, stack.append, stack.extend
    fields, leaves = _fields, _LEAVES
    while stack:
        node = pop()
        kind = node.__class__
        if kind in leaves:
            continue
        buckets[kind].append(node)
        values = node.__dict__
        for name in fields.get(kind) or _children(node):
            value = values.get(name)
            if value is None:
                continue
            if value.__class__ is list:
                extend(value[::-1])
            else:
                push(value)
    buckets.default_factory = None
    return buckets


def _parse(path: str, data: bytes, *, notebook: bool) -> ast.Module:
    flags = ast.PyCF_ONLY_AST | (ast.PyCF_ALLOW_TOP_LEVEL_AWAIT if notebook else 0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # From text where the bytes declare an encoding: they have been turned into UTF-8 already.
            code = data.decode("utf-8-sig") if b"coding" in data[:400] else data
            tree = compile(code, path, "exec", flags, dont_inherit=True)
    except SyntaxError as error:
        raise Unreadable(_sentence(error), error.lineno or 1, error.offset or 1) from None
    except (ValueError, UnicodeError) as error:
        raise Unreadable(f"this file is not Python text ({error})") from None
    except (RecursionError, MemoryError):
        raise Unreadable("this file is nested too deeply to be read") from None
    assert isinstance(tree, ast.Module)  # noqa: S101 - mode "exec" gives nothing else
    return tree


_PYTHON_2 = re.compile(
    r"Missing parentheses in call to '(print|exec)'|multiple exception types must be parenthesized"
    r"|leading zeros in decimal|invalid hexadecimal literal|inconsistent use of tabs"
)


def _sentence(error: SyntaxError) -> str:
    what = error.msg or "invalid syntax"
    if _PYTHON_2.search(what):
        return f"this file looks like Python 2 ({what}); nothing in it was checked"
    return f"this file cannot be parsed ({what}); nothing in it was checked"


def _reencoded(data: bytes) -> tuple[str, bytes]:
    try:
        encoding, _lines = tokenize.detect_encoding(io.BytesIO(data).readline)
        if encoding in {"utf-8", "utf-8-sig"}:
            return "utf-8", data
        return encoding, data.decode(encoding).encode()
    except (SyntaxError, UnicodeError, LookupError) as error:
        raise Unreadable(f"this file's text does not fit its encoding ({error})") from None
