"""What a dotted name means in a wheel: modules read with `ast`, imports followed, nothing imported."""

from __future__ import annotations

import ast
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

STAR = "*"


@dataclass(frozen=True, slots=True)
class Binding:
    """One thing a name may be: a definition, an assigned expression, a module, or another name."""

    module: str
    node: ast.AST | None = None
    # `from x import y` as y: the dotted name it stands for.
    alias: str = ""

    @property
    def is_module(self) -> bool:
        return self.node is None and not self.alias


@dataclass(slots=True)
class Namespace:
    """The names a module binds at its top level, each with everything it may be bound to."""

    names: dict[str, list[Binding]] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    exported: list[ast.expr] = field(default_factory=list)


class Wheel:
    """The Python sources of one release."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._files = {name for name in archive.namelist() if name.endswith((".py", ".pyi"))}
        self._namespaces: dict[str, Namespace] = {}
        self._resolving: set[str] = set()
        self._resolved: dict[str, tuple[Binding, ...]] = {}

    def read(self, path: str) -> str | None:
        """A file of the wheel that is not Python, if it is there."""
        matching = [name for name in self._archive.namelist() if name.endswith(path)]
        return self._archive.read(matching[0]).decode("utf-8") if matching else None

    @cached_property
    def modules(self) -> frozenset[str]:
        names = (name.rsplit(".", 1)[0].replace("/", ".") for name in self._files)
        return frozenset(name.removesuffix(".__init__") for name in names)

    def is_package(self, module: str) -> bool:
        return self._path(module).rpartition("/")[2].startswith("__init__.")

    def is_stub(self, module: str) -> bool:
        return self._path(module).endswith(".pyi")

    def _path(self, module: str) -> str:
        base = module.replace(".", "/")
        # The stub only where there is no source: of two descriptions the source is the one that runs.
        spellings = (f"{base}/__init__.py", f"{base}.py", f"{base}/__init__.pyi", f"{base}.pyi")
        return next((path for path in spellings if path in self._files), "")

    def namespace(self, module: str) -> Namespace:
        if module not in self._namespaces:
            space = Namespace()
            if path := self._path(module):
                tree = ast.parse(self._archive.read(path))
                _fill(space, tree.body, module, package=self.is_package(module), certain=True)
            self._namespaces[module] = space
        return self._namespaces[module]

    def listed(self, module: str) -> set[str]:
        """The names in a module's `__all__`, as far as they can be read."""
        return {name for expr in self.namespace(module).exported for name in self._strings(expr, module)}

    def public(self, module: str) -> set[str]:
        """What `from module import *` would bring."""
        space = self.namespace(module)
        if listed := self.listed(module):
            return listed
        names = {name for name in space.names if not name.startswith("_")}
        return names.union(*(self.public(star) for star in space.stars if star != module))

    def _strings(self, expr: ast.expr, module: str) -> Iterator[str]:
        match expr:
            case ast.List(elts=elements) | ast.Tuple(elts=elements):
                for element in elements:
                    if isinstance(element, ast.Constant) and isinstance(element.value, str):
                        yield element.value
            case ast.BinOp(left=left, right=right, op=ast.Add()):
                yield from self._strings(left, module)
                yield from self._strings(right, module)
            case ast.Attribute(value=value, attr="__all__"):
                for binding in self.resolve(f"{module}.{ast.unparse(value)}"):
                    if binding.is_module and binding.module != module:
                        yield from self.public(binding.module)

    def resolve(self, dotted: str) -> tuple[Binding, ...]:
        """Every definition this name may stand for; empty when it is not in the wheel."""
        if dotted not in self._resolved:
            if dotted in self._resolving:
                return ()
            self._resolving.add(dotted)
            try:
                self._resolved[dotted] = tuple(dict.fromkeys(self._resolve(dotted)))
            finally:
                self._resolving.discard(dotted)
        return self._resolved[dotted]

    def _resolve(self, dotted: str) -> Iterator[Binding]:
        parent, _, name = dotted.rpartition(".")
        if parent in self.modules:
            found = list(self._member(parent, name))
            if found:
                yield from found
                return
        elif parent:
            for binding in self.resolve(parent):
                if binding.is_module and binding.module != parent:
                    yield from self.resolve(f"{binding.module}.{name}")
        if dotted in self.modules:
            yield Binding(dotted)

    def _member(self, module: str, name: str) -> Iterator[Binding]:
        space = self.namespace(module)
        for binding in space.names.get(name, ()):
            if not binding.alias:
                yield binding
            elif binding.alias != f"{module}.{name}":
                yield from self.resolve(binding.alias)
        if name not in space.names:
            for star in space.stars:
                if star != module and name in self.public(star):
                    yield from self.resolve(f"{star}.{name}")


def _fill(space: Namespace, body: list[ast.stmt], module: str, *, package: bool, certain: bool) -> None:
    for statement in body:
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                # Overloads stand together; outside a condition anything else takes the place of what was there.
                together = not certain or _is_overload(space.names.get(name, [])[-1:])
                _bind(space, name, Binding(module, statement), replace=not together)
            case ast.Assign(targets=[ast.Name(id="__all__")], value=value):
                space.exported.append(value)
            case ast.AugAssign(target=ast.Name(id="__all__"), value=value):
                space.exported.append(value)
            case ast.AnnAssign(target=ast.Name(id="__all__"), value=ast.expr() as value):
                space.exported.append(value)
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=ast.Name(id="__all__"), attr="extend" | "append"),
                    args=[argument],
                )
            ):
                space.exported.append(
                    argument if isinstance(argument, ast.List) else ast.List(elts=[argument])
                )
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    if isinstance(target, ast.Name):
                        _bind(space, target.id, Binding(module, value), replace=certain)
            case ast.AnnAssign(target=ast.Name(id=name), value=value):
                _bind(space, name, Binding(module, value or statement), replace=certain)
            case ast.Import(names=names):
                for imported in names:
                    bound = imported.asname or imported.name.partition(".")[0]
                    alias = imported.name if imported.asname else bound
                    _bind(space, bound, Binding(module, alias=alias), replace=False)
            case ast.ImportFrom():
                _import_from(space, statement, module, package=package)
            case ast.If(body=inner, orelse=other):
                _fill(space, inner, module, package=package, certain=False)
                _fill(space, other, module, package=package, certain=False)
            case ast.Try(body=inner, handlers=handlers, orelse=other, finalbody=last):
                for part in (inner, *(handler.body for handler in handlers), other, last):
                    _fill(space, part, module, package=package, certain=False)
            case ast.With(body=inner):
                _fill(space, inner, module, package=package, certain=False)


def _import_from(space: Namespace, statement: ast.ImportFrom, module: str, *, package: bool) -> None:
    source = statement.module or ""
    if statement.level:
        parts = module.split(".")
        kept = len(parts) - statement.level + (1 if package else 0)
        source = ".".join([*parts[:kept], *([source] if source else [])])
    for imported in statement.names:
        if imported.name == STAR:
            space.stars.append(source)
        else:
            bound = imported.asname or imported.name
            _bind(space, bound, Binding(module, alias=f"{source}.{imported.name}"), replace=False)


def _bind(space: Namespace, name: str, binding: Binding, *, replace: bool) -> None:
    if replace:
        space.names[name] = [binding]
    else:
        space.names.setdefault(name, []).append(binding)


def _is_overload(bindings: list[Binding]) -> bool:
    return any(is_overloaded(binding.node) for binding in bindings)


def is_overloaded(node: ast.AST | None) -> bool:
    decorators = getattr(node, "decorator_list", [])
    return any(
        ast.unparse(decorator).rpartition(".")[2] in {"overload", "_overload"} for decorator in decorators
    )
