"""Edits of the user's source that make a change permanent: lint's, so that they are applied and shown as lint's are.

Each is made at all places of the file that it fits, and only where names surely mean what they seem to.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial

from premortem.files.syntax import last_name
from premortem.lint.diagnostics import Edit, Fix
from premortem.lint.source import Source
from premortem.lint.tree import argument, constant

OPTIMIZERS = tuple("Adadelta Adagrad Adam AdamW Adamax ASGD NAdam RAdam RMSprop Rprop SGD".split())
_HOMES = (
    "torch.optim.",
    "torch.nn.utils.",
    "torch.nn.utils.clip_grad.",
    "torch.",
    "torch.amp.",
    "torch.cuda.amp.",
)


def _calls(source: Source, names: Collection[str]) -> list[ast.Call]:
    """Calls of these functions of torch's, under whatever name they were imported."""
    meant = {home + name for home in _HOMES for name in names}
    return [call for call in source.nodes(ast.Call) if source.names.all_in(call.func, meant)]


def _fix(edits: list[Edit]) -> Fix | None:
    return Fix(tuple(edits), safe=False) if edits else None


def argument_edits(
    source: Source, names: Mapping[str, str], position: int | None, new: Callable[[object], str | None]
) -> Fix | None:
    """Another value for an argument of these functions: `names` says what each calls it. `new` is given the number that
    stands there (None for anything else)."""
    edits = []
    for call in _calls(source, names):
        value = argument(call, names.get(last_name(call), next(iter(names.values()))), position)
        value = _written(source, value) if value is not None else None
        text = new(constant(value)) if value is not None else None
        if value is not None and text is not None:
            edits.append(source.replace(value, text))
    return _fix(list(dict.fromkeys(edits)))


def rate_keys(source: Source) -> Iterator[tuple[str, ...]]:
    """What a config would call the rate of each optimizer: ("train", "lr") for `cfg["train"]["lr"]` or `cfg.train.lr`."""
    for call in _calls(source, OPTIMIZERS):
        value = argument(call, "lr", 1)
        path: list[str] = []
        while isinstance(value, (ast.Attribute, ast.Subscript)):
            part = value.attr if isinstance(value, ast.Attribute) else constant(value.slice)
            path.insert(0, str(part))
            value = value.value
        if path and isinstance(value, ast.Name):
            yield tuple(path)


def _written(source: Source, value: ast.expr, more: int = 2) -> ast.expr:
    """Where the number stands that a name, an attribute or a key means, if there is one place that it can be; else itself.
    `more`: steps on the way, as in `self.lr = lr` and `def __init__(self, lr=1e-3)`."""
    if isinstance(value, ast.Name):
        found = [*_assigned(source, value.id), *_defaults(source, value.id)]
    elif isinstance(value, ast.Attribute):
        name = value.attr
        found = [*_assigned(source, name), *_options(source, name), *_keywords(source, name)]
        found = found or list(_attributes(source, name))
    elif isinstance(value, ast.Subscript) and isinstance(key := constant(value.slice), str):
        found = [*_keywords(source, key)]
    else:
        return value
    if len(found) != 1:
        return value
    if isinstance(constant(found[0]), (int, float)):
        return found[0]
    further = _written(source, found[0], more - 1) if more else value
    return further if isinstance(constant(further), (int, float)) else value


def _assigned(source: Source, name: str) -> Iterator[ast.expr]:
    pairs = [(target, each.value) for each in source.nodes(ast.Assign) for target in each.targets]
    pairs += [(each.target, each.value) for each in source.nodes(ast.AnnAssign) if each.value is not None]
    yield from (value for target, value in pairs if isinstance(target, ast.Name) and target.id == name)


def _attributes(source: Source, name: str) -> Iterator[ast.expr]:
    for each in source.nodes(ast.Assign):
        if any(isinstance(target, ast.Attribute) and target.attr == name for target in each.targets):
            yield each.value


def _defaults(source: Source, name: str) -> Iterator[ast.expr]:
    for function in source.nodes(ast.FunctionDef):
        given = function.args
        with_default = given.args[len(given.args) - len(given.defaults) :]
        pairs = [
            *zip(with_default, given.defaults, strict=True),
            *zip(given.kwonlyargs, given.kw_defaults, strict=True),
        ]
        yield from (default for each, default in pairs if each.arg == name and default is not None)


def _options(source: Source, name: str) -> Iterator[ast.expr]:
    for call in source.calls_to("add_argument"):
        options = [constant(each) for each in call.args]
        if any(isinstance(o, str) and o.lstrip("-").replace("-", "_") == name for o in options):
            default = argument(call, "default")
            yield from [] if default is None else [default]


def _keywords(source: Source, name: str) -> Iterator[ast.expr]:
    """Of a namespace, a dict."""
    for call in source.nodes(ast.Call):
        if last_name(call) in {"SimpleNamespace", "Namespace", "dict"}:
            yield from (each.value for each in call.keywords if each.arg == name)
    for each in source.nodes(ast.Dict):
        for key, value in zip(each.keys, each.values, strict=True):
            if key is not None and constant(key) == name:
                yield value


def clipping_edits(
    source: Source, names: Mapping[str, str], new: Callable[[object], str | None]
) -> Fix | None:
    """The threshold of clipping, in a call of torch's, in a method of an accelerator's, or in what a Trainer is built with."""
    direct = argument_edits(source, names, 1, new)
    edits = list(direct.edits) if direct is not None else []
    others: list[tuple[ast.Call, str, int | None]]
    others = [(call, names[name], 1) for name in names for call in source.calls_to(name)]
    others += [(call, "gradient_clip_val", None) for call in source.calls_to("Trainer")]
    for call, keyword, position in others:
        value = argument(call, keyword, position)
        value = _written(source, value) if value is not None else None
        if value is not None and isinstance(number := constant(value), (int, float)):
            edits.append(source.replace(value, new(number) or "1.0"))
    return _fix(list(dict.fromkeys(edits)))


def unscheduled(source: Source) -> Fix | None:
    """Statements that step a scheduler of torch's are left out."""
    edits = []
    for call in source.calls_to("step"):
        statement = source.parent(call)
        made = source.assigned_at(call.func.value) if isinstance(call.func, ast.Attribute) else []
        if isinstance(statement, ast.Expr) and made and all(_is_scheduler(source, each) for each in made):
            edits.append(_left_out(source, statement))
    return _fix(edits)


def _left_out(source: Source, statement: ast.stmt) -> Edit:
    """The statement with its line; `pass` where it is the only one of a block, or shares its line."""
    start, end = source.range(statement)
    first = source.data.rfind(b"\n", 0, start) + 1
    last = source.data.find(b"\n", end) + 1 or len(source.data)
    alone = not source.data[first:start].strip() and not source.data[end:last].strip()
    blocks = (getattr(source.parent(statement), name, ()) for name in ("body", "orelse", "finalbody"))
    needed = any(block == [statement] for block in blocks)
    return source.replace(statement, "pass") if needed or not alone else Edit(first, last, "")


def _is_scheduler(source: Source, value: ast.expr) -> bool:
    found = source.names.of(value.func) if isinstance(value, ast.Call) else ()
    return bool(found) and all(name.startswith("torch.optim.lr_scheduler.") for name in found)


def rate_edit(factor: float) -> Callable[[Source], Fix | None]:
    """A multiple of the rate that optimizers are built with. Of a schedule with rates of its own nothing is known here."""

    def scaled(value: object) -> str | None:
        return f"{value * factor:g}" if isinstance(value, (int, float)) else None

    return partial(argument_edits, names=dict.fromkeys(OPTIMIZERS, "lr"), position=1, new=scaled)


def with_keyword(source: Source, names: Collection[str], keyword: str, text: str) -> Fix | None:
    """These calls with `keyword=text`, in the place of what they say about it now."""
    edits = []
    for call in _calls(source, names):
        if any(each.arg is None for each in call.keywords):
            continue
        value = argument(call, keyword)
        everything = [*call.args, *call.keywords]
        if value is not None:
            edits.append(source.replace(value, text))
        elif everything:
            edits.append(source.insert_after(max(everything, key=source.range), f", {keyword}={text}"))
    return _fix(edits)


def without_keyword(source: Source, method: str, keyword: str, position: int) -> Fix | None:
    """Calls of this method without an argument: its default is what is wanted."""
    edits = []
    for call in source.calls_to(method):
        given: list[ast.keyword | ast.expr] = [each for each in call.keywords if each.arg == keyword]
        given += call.args[position : position + 1]
        edits += [source.without_argument(call, each) for each in given]
    return _fix(edits)


def unfreezing(source: Source) -> Fix | None:
    """`p.requires_grad = False` and `module.requires_grad_(False)` with True."""
    edits = [
        source.replace(each.value, "True")
        for each in source.nodes(ast.Assign)
        if isinstance(each.targets[0], ast.Attribute)
        and each.targets[0].attr == "requires_grad"
        and constant(each.value) is False
    ]
    for call in source.calls_to("requires_grad_"):
        value = argument(call, "requires_grad", 0)
        if value is not None and constant(value) is False:
            edits.append(source.replace(value, "True"))
    return _fix(edits)
