"""Whose method a bare call runs, and whether anybody looks at it afterwards: for results that are thrown away."""

import ast

from premortem.lint.source import Source
from premortem.lint.training import is_test
from premortem.lint.tree import constant, dotted, last_name, parameters, receiver
from premortem.lint.values import built_from

# Methods of tensors that give something else.
_NO_TENSORS = frozenset(
    "numpy tolist item size dim shape split chunk unbind max min sort topk nelement numel".split()
)
TENSOR_TYPES = frozenset(
    ("torch.Tensor", "torch.FloatTensor", "torch.LongTensor", "torch.BoolTensor", "torch.cuda.FloatTensor")
)


def is_something_else(source: Source, target: ast.expr) -> bool:
    """Whether `isinstance` shows here that this is not a tensor, or a test made it of a class that is not torch's."""
    name = dotted(target)
    below: ast.AST = target
    for above in source.ancestors(target):
        if isinstance(above, ast.If) and _excludes(source, above, below, name):
            return True
        below = above
    return is_test(source, target) and not _made_by_torch(source, target)


def _excludes(source: Source, branch: ast.If, below: ast.AST, name: str) -> bool:
    """Whether the side of this `if` on which a statement stands leaves out that `name` is a tensor."""
    for test in _required(branch.test):
        if isinstance(test, ast.Call) and last_name(test) == "isinstance" and len(test.args) == 2:
            if dotted(test.args[0]) != name:
                continue
            kinds = test.args[1].elts if isinstance(test.args[1], ast.Tuple) else [test.args[1]]
            tensor = any(source.names.any_in(kind, TENSOR_TYPES) for kind in kinds)
            if below in branch.body and not tensor:
                return True
            if below in branch.orelse and test is branch.test and tensor:
                return True
    return False


def _required(test: ast.expr) -> list[ast.expr]:
    """What must hold for a test to hold: the parts of an `and`."""
    return test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]


def _made_by_torch(source: Source, expr: ast.expr, depth: int = 6) -> bool:
    """`torch.rand(3)`, and what is made from it by methods: `torch.rand(3).to(device)`, `x.clone()`."""
    return any(_is_made_by_torch(source, made, depth) for made in _origins(source, expr, depth))


def is_surely_tensor(source: Source, expr: ast.expr, depth: int = 6) -> bool:
    """Whether every way this value comes is a tensor of torch, through expressions and chains of methods."""
    made = _origins(source, expr, depth)
    return bool(made) and all(_is_made_by_torch(source, one, depth) for one in made)


def _origins(source: Source, expr: ast.expr, depth: int) -> tuple[ast.expr, ...]:
    return source.flow(source.scope(expr)).origins(expr) if depth else ()


def _is_made_by_torch(source: Source, made: ast.expr, depth: int) -> bool:
    if is_batch_item(source, made):
        return True
    if isinstance(made, ast.Name):
        return any(
            one.arg == made.id
            and one.annotation is not None
            and source.names.all_in(one.annotation, TENSOR_TYPES)
            for function in (source.function(made),)
            if function is not None
            for one in parameters(function)
        )
    if isinstance(made, ast.Call):
        if any(source.kinds.of_name(name) == "tensor" for name in source.names.of(made.func)):
            return True
        owner = receiver(made)
        kept = last_name(made) not in _NO_TENSORS
        return owner is not None and kept and _made_by_torch(source, owner, depth - 1)
    if isinstance(made, ast.BinOp):
        return any(_made_by_torch(source, one, depth - 1) for one in (made.left, made.right))
    if isinstance(made, ast.Compare):
        compared = (made.left, *made.comparators)
        found = not isinstance(made.ops[0], (ast.Is, ast.IsNot, ast.In, ast.NotIn))
        return found and any(_made_by_torch(source, one, depth - 1) for one in compared)
    if isinstance(made, ast.UnaryOp):
        return _made_by_torch(source, made.operand, depth - 1)
    return False


def is_batch_item(source: Source, made: ast.expr) -> bool:
    """Whether this is one part of a batch that torch's own loader has put together: `for x, y in loader`, `batch[0]`."""
    place = isinstance(made, ast.Subscript) and isinstance(constant(made.slice), int)
    batch = made.value if isinstance(made, ast.Subscript) and place else made
    if not isinstance(batch, ast.Name):
        return False
    found = source.flow(source.scope(batch)).definitions(batch)
    return bool(found) and all(
        one.how == "for"
        and isinstance(one.statement, ast.For)
        and (place or _is_unpacked(one.statement, batch.id))
        and _is_torch_loader(source, one.statement.iter)
        for one in found
    )


def _is_unpacked(loop: ast.For, name: str) -> bool:
    """`x` of `for x, y in loader` and of `for i, (x, y) in enumerate(loader)`; not `batch` of `for i, batch in ...`."""
    target: ast.expr = loop.target
    if last_name(loop.iter) == "enumerate" and isinstance(target, ast.Tuple) and len(target.elts) == 2:
        target = target.elts[1]
    return isinstance(target, ast.Tuple) and any(dotted(one) == name for one in target.elts)


def _is_torch_loader(source: Source, loader: ast.expr) -> bool:
    while isinstance(loader, ast.Call) and last_name(loader) in {"enumerate", "tqdm"} and loader.args:
        loader = loader.args[0]
    built = built_from(source, loader)
    return bool(built) and all(
        isinstance(one, ast.Call)
        and source.names.all_in(one.func, {"torch.utils.data.DataLoader"})
        and not any(keyword.arg in {"collate_fn", None} for keyword in one.keywords)
        for one in built
    )


def is_needed(source: Source, statement: ast.Expr, target: ast.expr) -> bool:
    """Whether something is done with the receiver later; only asked at the top of a script, where values are shown."""
    if source.scope(statement) is not source.tree or not isinstance(target, ast.Name) or source.cells:
        return True
    flow = source.flow(source.tree)
    again: list[ast.AST] = [
        one for one in source.assignments.get(target.id, ()) if source.scope(one) is source.tree
    ]
    for use in source.within(source.tree):
        if not (isinstance(use, ast.Name) and use.id == target.id and isinstance(use.ctx, ast.Load)):
            continue
        if use is target or _is_shown_only(source, use):
            continue
        # A new binding hides what comes after it, not what it is computed from.
        hidden = [one for one in again if one is not source.statement(use)]
        if source.scope(use) is not source.tree or flow.reaches(statement, use, hidden):
            return True
    return False


def _is_shown_only(source: Source, use: ast.Name) -> bool:
    """`x.shape`, `x[:, 0]` or `x.repeat(2)` as a whole statement."""
    here: ast.AST = use
    above = source.parent(here)
    while above is not None and not isinstance(above, ast.stmt):
        if getattr(above, "value", None) is not here and getattr(above, "func", None) is not here:
            return False
        here, above = above, source.parent(above)
    return isinstance(above, ast.Expr)
