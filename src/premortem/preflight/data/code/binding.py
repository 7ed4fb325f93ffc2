"""What names, attributes and settings may hold. Order is not followed: everything that is ever assigned counts."""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from premortem.lint.source import Source
from premortem.lint.tree import Function, last_name
from premortem.preflight.data.code.syntax import text, with_defaults
from premortem.preflight.values import UNKNOWN, Texts

_ROUNDS = 4  # of values handed from caller to callee


class Text(NamedTuple):
    """A text, or only its beginning."""

    text: str
    whole: bool = True


class Bindings:
    """Built once for all files; `texts(source, node)` is what an expression in one of them may say."""

    def __init__(self, sources: Sequence[Source], settings: Mapping[str, set[str]]) -> None:
        self.sources = sources
        self._settings = {name: set(values) for name, values in settings.items()}
        self._names: dict[tuple[ast.AST, str], set[str]] = defaultdict(set)  # of a function or a module
        self._attributes: dict[str, set[str]] = defaultdict(set)
        self._functions: dict[str, list[tuple[Function, bool]]] = defaultdict(list)  # is it a method?
        own = {stem for path in map(_path, sources) for stem in (path.stem, path.parent.name)}
        self._libraries = {source.path: libraries(source, own) for source in sources}
        for source in sources:
            for function in source.functions:
                owner = source.parent(function)
                self._functions[function.name].append((function, isinstance(owner, ast.ClassDef)))
                if isinstance(owner, ast.ClassDef) and function.name == "__init__":
                    self._functions[owner.name].append((function, True))
        for _ in range(_ROUNDS):
            for source in sources:
                for node in source.within(source.tree):
                    self._bind(source, node)

    def texts(self, source: Source, node: ast.expr) -> Iterator[Text]:
        """What is known of each from its beginning, up to the last folder."""
        for said in self._said(source, node):
            known, unknown, _ = said.partition(UNKNOWN)
            if not unknown:
                yield Text(known)
            elif "/" in known:
                yield Text(known.rpartition("/")[0], False)

    def _said(self, source: Source, node: ast.expr, around: ast.AST | None = None) -> set[str]:
        scope = source.scope(around or node)
        found = Texts(lambda named, _: self._look_up(source, scope, named), source.path).of(node)
        return {text for text in found if not text.startswith(UNKNOWN)}

    def _look_up(self, source: Source, scope: ast.AST, node: ast.expr) -> set[str]:
        match node:
            case ast.Name(id=name):
                for place in (scope, source.tree):
                    if found := self._names.get((place, name)):
                        return found
                # Imported from another of the files.
                named = (at for at in self._names if at[1] == name and isinstance(at[0], ast.Module))
                return next((self._names[at] for at in named), set())
            case ast.Attribute(attr=name):
                return self._settings.get(name) or self._attributes.get(name, set())
            case ast.Subscript(value=ast.Attribute(attr="argv"), slice=ast.Constant(value=int(place))):
                return self._settings.get(f"argv[{place}]", set())
            case ast.Subscript(slice=ast.Constant(value=str(name))):
                return self._settings.get(name) or self._attributes.get(name, set())
        return set()

    def _bind(self, source: Source, node: ast.AST) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._assign(source, target, self._said(source, value))
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._assign(source, target, self._said(source, value))
                if isinstance(target, ast.Name):
                    self._attributes[target.id] |= self._said(source, value)
            case ast.For(target=target, iter=ast.Tuple(elts=items) | ast.List(elts=items)):
                for item in items:
                    self._assign(source, target, self._said(source, item))
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    if (name := text(key)) is not None:
                        self._attributes[name] |= self._said(source, value)
            case ast.Call():
                self._hand_over(source, node)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._defaults(source, node)

    def _assign(self, source: Source, target: ast.expr, found: set[str]) -> None:
        match target:
            case ast.Name(id=name):
                scope = source.scope(target)
                self._names[scope, name] |= found
                if scope is source.tree:  # a class variable, or a module used as settings
                    self._attributes[name] |= found
            case ast.Attribute(attr=name):
                self._attributes[name] |= found

    def _hand_over(self, source: Source, node: ast.Call) -> None:
        name = last_name(node)
        match node.func:
            case ast.Attribute(value=ast.Name(id=owner)) if owner in self._libraries[source.path]:
                return  # `torch.load` is not the script's own `load`
        if name == "dict" or name[:1].isupper():
            for keyword in node.keywords:
                if keyword.arg:
                    self._attributes[keyword.arg] |= self._said(source, keyword.value)
        for function, method in self._functions.get(name, ()):
            taken = [arg.arg for arg in [*function.args.posonlyargs, *function.args.args]][int(method) :]
            given = [
                (parameter, value)
                for parameter, value in zip(taken, node.args, strict=False)
                if not isinstance(value, ast.Starred)
            ]
            named = {*taken, *(arg.arg for arg in function.args.kwonlyargs)}
            given += [(word.arg, word.value) for word in node.keywords if word.arg in named]
            for parameter, value in given:
                self._names[function, parameter] |= self._said(source, value)

    def _defaults(self, source: Source, node: Function) -> None:
        for parameter, default in with_defaults(node.args):
            if not self._names.get((node, parameter.arg)):
                self._names[node, parameter.arg] |= self._said(source, default, node)
        for arg in [
            *node.args.posonlyargs,
            *node.args.args,
        ]:  # click, typer and fire hand options over by name
            if arg.arg in self._settings and node.decorator_list:
                self._names[node, arg.arg] = set(self._settings[arg.arg])


def libraries(source: Source, own: set[str]) -> set[str]:
    """The names that this file has given to imported packages which are not the project's."""
    return {
        alias.asname or alias.name.partition(".")[0]
        for node in source.nodes(ast.Import)
        for alias in node.names
        if alias.name.partition(".")[0] not in own
    }


def _path(source: Source) -> Path:
    return Path(source.path)
