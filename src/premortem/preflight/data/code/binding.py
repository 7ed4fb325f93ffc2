"""What names, attributes and settings may hold. Order is not followed: everything that is ever assigned counts."""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from premortem.files.syntax import last_name
from premortem.preflight.data.code.modules import Module
from premortem.preflight.data.code.paths import Reader, Text

_ROUNDS = 4  # of values handed from caller to callee
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class Bindings:
    """Built once for all modules; `reader(module, scope)` evaluates in one of their scopes."""

    def __init__(self, modules: list[Module], settings: Mapping[str, set[str]]) -> None:
        self.modules = modules
        self._settings = {name: {Text(value) for value in values} for name, values in settings.items()}
        self._names: dict[tuple[str, str], set[Text]] = defaultdict(set)  # (scope, name)
        self._attributes: dict[str, set[Text]] = defaultdict(set)
        self._functions: dict[str, list[tuple[str, _Function, bool]]] = defaultdict(
            list
        )  # scope, node, is a method
        self._libraries = {module.shown: libraries(module, modules) for module in modules}
        for module in modules:
            self._find_functions(module)
        for _ in range(_ROUNDS):
            for module in modules:
                for scope, node in scoped(module):
                    self._bind(module, scope, node)

    def reader(self, module: Module, scope: str) -> Reader:
        return Reader(lambda node: self._look_up(module, scope, node), str(Path(module.path).parent))

    def _look_up(self, module: Module, scope: str, node: ast.expr) -> set[Text]:
        match node:
            case ast.Name(id=name):
                for place in (scope, module.shown):
                    if found := self._names.get((place, name)):
                        return found
                # Imported from another of the modules.
                return next(
                    (v for (place, n), v in self._names.items() if n == name and ":" not in place), set()
                )
            case ast.Attribute(attr=name):
                return self._settings.get(name) or self._attributes.get(name, set())
            case ast.Subscript(value=ast.Attribute(attr="argv"), slice=ast.Constant(value=int(place))):
                return self._settings.get(f"argv[{place}]", set())
            case ast.Subscript(value=inner, slice=ast.Constant(value=str(name))):
                if isinstance(inner, ast.Attribute) and inner.attr == "environ":
                    return set()
                return self._settings.get(name) or self._attributes.get(name, set())
        return set()

    def _find_functions(self, module: Module) -> None:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                for each in node.body:
                    if isinstance(each, _Function):
                        scope = scope_of(module, each)
                        self._functions[each.name].append((scope, each, True))
                        if each.name == "__init__":
                            self._functions[node.name].append((scope, each, True))
        methods = {id(node) for known in self._functions.values() for _, node, _ in known}
        for node in ast.walk(module.tree):
            if isinstance(node, _Function) and id(node) not in methods:
                self._functions[node.name].append((scope_of(module, node), node, False))

    def _bind(self, module: Module, scope: str, node: ast.AST) -> None:
        reader = self.reader(module, scope)
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._assign(scope, target, reader.texts(value))
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._assign(scope, target, reader.texts(value))
                if isinstance(target, ast.Name):
                    self._attributes[target.id] |= reader.texts(value)
            case ast.For(target=target, iter=ast.Tuple(elts=items) | ast.List(elts=items)):
                for item in items:
                    self._assign(scope, target, reader.texts(item))
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        self._attributes[key.value] |= reader.texts(value)
            case ast.Call():
                self._hand_over(reader, node, self._libraries[module.shown])
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._defaults(reader, scope_of(module, node), node)

    def _assign(self, scope: str, target: ast.expr, texts: set[Text]) -> None:
        match target:
            case ast.Name(id=name):
                self._names[scope, name] |= texts
                if ":" not in scope:  # a class variable, or a module used as settings
                    self._attributes[name] |= texts
            case ast.Attribute(attr=name):
                self._attributes[name] |= texts

    def _hand_over(self, reader: Reader, node: ast.Call, foreign: set[str]) -> None:
        name = last_name(node)
        match node.func:
            case ast.Attribute(value=ast.Name(id=owner)) if owner in foreign:
                return  # `torch.load` is not the script's own `load`
        if name == "dict" or name[:1].isupper():
            for keyword in node.keywords:
                if keyword.arg:
                    self._attributes[keyword.arg] |= reader.texts(keyword.value)
        for scope, function, method in self._functions.get(name, ()):
            parameters = [arg.arg for arg in [*function.args.posonlyargs, *function.args.args]][int(method) :]
            for parameter, value in zip(parameters, node.args, strict=False):
                if not isinstance(value, ast.Starred):
                    self._names[scope, parameter] |= reader.texts(value)
            known = {*parameters, *(arg.arg for arg in function.args.kwonlyargs)}
            for keyword in node.keywords:
                if keyword.arg in known:
                    self._names[scope, str(keyword.arg)] |= reader.texts(keyword.value)

    def _defaults(self, reader: Reader, scope: str, node: _Function) -> None:
        positional = [*node.args.posonlyargs, *node.args.args]
        for arg, default in zip(reversed(positional), reversed(node.args.defaults), strict=False):
            self._default(reader, scope, arg.arg, default)
        for arg, each in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
            if each is not None:
                self._default(reader, scope, arg.arg, each)
        for arg in positional:  # click, typer and fire hand options over by name
            if arg.arg in self._settings and node.decorator_list:
                self._names[scope, arg.arg] = set(self._settings[arg.arg])

    def _default(self, reader: Reader, scope: str, name: str, default: ast.expr) -> None:
        if not self._names.get((scope, name)):
            self._names[scope, name] |= reader.texts(default)


def libraries(module: Module, own: list[Module]) -> set[str]:
    """The names that this module has given to imported packages which are not the project's."""
    stems = {Path(each.path).stem for each in own} | {Path(each.path).parent.name for each in own}
    return {
        alias.asname or alias.name.partition(".")[0]
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name.partition(".")[0] not in stems
    }


def scope_of(module: Module, node: ast.AST) -> str:
    return f"{module.shown}:{getattr(node, 'lineno', 0)}"


def scoped(module: Module) -> Iterator[tuple[str, ast.AST]]:
    """Every node with the function that it stands in."""
    pending: list[tuple[str, ast.AST]] = [(module.shown, module.tree)]
    while pending:
        scope, node = pending.pop()
        yield scope, node
        inner = scope_of(module, node) if isinstance(node, _Function) else scope
        pending += ((inner, child) for child in reversed(list(ast.iter_child_nodes(node))))
