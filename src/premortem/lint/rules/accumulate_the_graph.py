import ast
import re
from collections.abc import Iterator

from premortem.lint import meters
from premortem.lint.patterns import pattern
from premortem.lint.rule import Card, Diagnostic, Facts, Fix, Rule, Severity, Source
from premortem.lint.source import once_per_file
from premortem.lint.training import (
    Backward,
    backwards,
    backwards_in,
    by_loop,
    inside,
    is_epochs,
    is_loader,
    is_test,
    without_grad,
)
from premortem.lint.tree import FUNCTIONS, Function, Loop, constant, dotted, last_name, receiver
from premortem.lint.words_used import mentions

# A value that came through one of these carries no graph.
NUMBERS = frozenset("item float int detach numpy tolist cpu mean_item all_reduce reduce_tensor".split())

KEEPS_GRAPH = frozenset("sum mean cpu clone float double cuda squeeze".split())
STEPS = pattern(r"step|iter|batch", re.IGNORECASE)
DEPTH = 3  # sums of sums that a loss is followed through


class AccumulateTheGraph(Rule):
    """A running total keeps the loss tensors themselves, and with them the graph of every batch.

    ## Why it matters
    `total += loss` makes `total` depend on the graph of each loss. Nothing of it can be freed before `total` is:
    memory grows with every batch, and the run dies hours later of an out-of-memory error that points elsewhere.

    ## Usual causes
    - `.item()` forgotten in the bookkeeping of the loss

    ## What to do
    Add a number or a detached tensor: `total += loss.item()`, or `loss.detach()` where the host should not wait.

    ## When it stays silent
    When the total itself goes backward, under `no_grad`, and when the total is reset inside the loop. When a meter
    (`meter.update(loss)`) turns what it is given into a number, or when its class is not in the project.
    """

    card = Card("PM543", "accumulate-the-graph", "memory-leak", Severity.WARNING)
    triggers = (b".backward(",)

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        handed = _handed_back(source)
        scopes = {source.scope(one.call) for one in backwards(source)} | {source.scope(one) for one in handed}
        for loop in source.loops:
            scope = source.scope(loop)
            if scope not in scopes or is_test(source, loop):
                continue
            here = backwards_in(source, scope)
            trained = {
                name
                for one in _backwards_of(source).get(loop, ())
                for name in (*_names(source, one.loss), *_parts(source, one))
            }
            trained |= {name for one, names in handed.items() if inside(source, one, loop) for name in names}
            tables = _tables(source, _backwards_of(source).get(loop, []))
            for statement in source.within(loop, nested=False) if trained or tables else ():
                if not isinstance(statement, ast.stmt):
                    continue
                around = source.loops_around(statement)
                kept = [*_kept(source, project, statement, trained)] if around[:1] == (loop,) else []
                # The entries of a table are added up in a loop of their own.
                if loop in around[:2]:
                    kept += _kept_of_tables(source, statement, tables)
                for total, loss in kept:
                    if self._grows(source, statement, loop, total, loss, here):
                        text = source.text(loss)
                        # What a table gives where it has no such entry is a number.
                        maybe = last_name(loss) == "get"
                        number = f"float({text})" if maybe else f"{text}.item()"
                        yield self.report(
                            source,
                            statement,
                            f"`{total}` keeps the graph of `{text}` of every batch in memory",
                            remedy=f"Write `{number}`, or `.detach()` to avoid waiting for the device.",
                            fix=None if maybe else Fix((source.insert_after(loss, ".detach()"),)),
                        )

    @staticmethod
    def _grows(
        source: Source, statement: ast.stmt, loop: Loop, total: str, loss: ast.expr, here: list[Backward]
    ) -> bool:
        if without_grad(source, statement) or any(total in _names(source, one.loss) for one in here):
            return False
        while isinstance(loss, (ast.Call, ast.Subscript)):
            loss = loss.value if isinstance(loss, ast.Subscript) else receiver(loss) or loss.func
        name = dotted(loss)
        scope = source.scope(statement)
        flow = source.flow(scope)
        # The loss that is kept must be the one that went backward, not another of the same name.
        trained = {
            one.statement
            for backward in here
            if name
            in {*_names(source, backward.loss), *_parts(source, backward), *_tables(source, [backward])}
            and inside(source, backward.call, loop)
            for one in flow.definitions(backward.call, name)
        }
        for one in flow.definitions(loss):
            if trained and one.statement not in trained:
                return False
            if one.value is None or one.how not in {"assign", "unpack", "augmented"}:
                return False
            if _is_number(source, one.value, one.how):
                return False
        for node in source.within(scope, nested=False):
            if isinstance(node, ast.Call) and dotted(receiver(node)) in {name, total}:
                if last_name(node) in {"detach_", "clear", "pop", "popleft"} or (
                    dotted(receiver(node)) == total and last_name(node) in {"backward", "detach"}
                ):
                    return False
            # The total is part of something that goes backward.
            if isinstance(node, ast.Assign) and any(
                dotted(target) in _names(source, one.loss) for one in here for target in node.targets
            ):
                if any(dotted(part) == total for part in source.within(node.value)):
                    return False
        starts = [one for one in source.assignments.get(total, ()) if one is not statement]
        if total.startswith("self."):
            starts = [one for one in starts if source.class_of(one) is source.class_of(statement)]
        else:
            starts = [one for one in starts if source.scope(one) is scope]
        if not starts or any(inside(source, one, loop) for one in starts if not _adds(one)):
            return False
        outer = [
            around
            for around in source.loops_around(loop)
            if any(inside(source, one, around) for one in starts)
        ]
        if outer and is_epochs(source, outer[0]):
            return True
        if isinstance(loop, ast.While):
            return not outer
        if is_epochs(source, loop) or is_loader(source, loop.iter):
            return True
        # A short loop inside one batch frees everything at its end; a script's loop over steps does not.
        return not outer and (
            scope is source.tree or mentions(source, loop.target, STEPS) or mentions(source, loop.iter, STEPS)
        )


@once_per_file
def _handed_back(source: Source) -> dict[ast.Assign, set[str]]:
    """Assignments, with their names, that get a loss from a function of this file which has sent it backward."""
    found: dict[ast.Assign, set[str]] = {}
    for function in dict.fromkeys(source.scope(one.call) for one in backwards(source)):
        if not isinstance(function, FUNCTIONS) or function.decorator_list:
            continue
        for call in source.calls_to(function.name):
            statement = source.parent(call)
            if not isinstance(statement, ast.Assign) or source.callee(call) is not function:
                continue
            target = statement.targets[0]
            parts = target.elts if isinstance(target, ast.Tuple) else [target]
            whole = not isinstance(target, ast.Tuple)
            if names := {
                dotted(part)
                for place, part in enumerate(parts)
                if dotted(part) and _gives_loss(source, function, None if whole else place)
            }:
                found[statement] = names
    return found


def _gives_loss(source: Source, function: Function, place: int | None) -> bool:
    """Whether every `return` gives, at this place, a loss as it went backward, with its graph."""
    values = [one.value for one in source.returns(function)]
    if place is not None:
        values = [
            one.elts[place] if isinstance(one, ast.Tuple) and place < len(one.elts) else None
            for one in values
        ]
    return bool(values) and all(one is not None and _went_backward(source, function, one) for one in values)


def _went_backward(source: Source, function: Function, value: ast.expr) -> bool:
    """Whether a value, or a factor of it, is a loss that went backward and that nothing has turned into a number since."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Mult, ast.Div)):
        return _went_backward(source, function, value.left) or _went_backward(source, function, value.right)
    flow = source.flow(function)
    for backward in backwards_in(source, function):
        losses = _names(source, backward.loss)
        losses |= {one for one in _parts(source, backward, DEPTH) if "loss" in one.lower()}
        loss = _loss_of(value, losses)
        while isinstance(loss, ast.Call):
            loss = receiver(loss)
        made = flow.definitions(loss) if loss is not None else ()
        before = {one.statement for one in flow.definitions(backward.call, dotted(loss))}
        if any(not isinstance(one.value, ast.Constant) for one in made) and all(
            one.statement in before
            and one.how in {"assign", "unpack", "augmented"}
            and one.value is not None
            and not _is_number(source, one.value, one.how)
            for one in made
        ):
            return True
    return False


@once_per_file
def _backwards_of(source: Source) -> dict[Loop, list[Backward]]:
    return by_loop(source, backwards(source))


def _names(source: Source, loss: ast.expr) -> set[str]:
    """The losses of `loss.backward()`, of `(loss / k).backward()` and of `loss.mean().backward()`."""
    if isinstance(loss, ast.BinOp):
        return _names(source, loss.left) | _names(source, loss.right)
    if isinstance(loss, ast.Call) and last_name(loss) in KEEPS_GRAPH:
        return _names(source, receiver(loss) or loss.func)
    return {dotted(loss)} - {""}


def _kept(
    source: Source, project: Facts, statement: ast.stmt, losses: set[str]
) -> Iterator[tuple[str, ast.expr]]:
    """(total, loss) of `total += loss`, `total = total + loss * n`, `losses.append(loss)`, `meter.update(loss)`."""
    for total, value in _added(source, project, statement, losses):
        if total and (loss := _loss_of(value, losses)) is not None:
            yield total, loss


def _parts(source: Source, backward: Backward, depth: int = 1) -> set[str]:
    """`first` and `second` of `loss = first + 0.5 * second`: what a loss is the sum of has the same graph behind it."""
    flow = source.flow(source.scope(backward.call))
    found: set[str] = set()
    reached = _names(source, backward.loss)
    for _hop in range(depth):
        reached = {
            part
            for name in reached
            for one in flow.definitions(backward.call, name)
            if one.how == "assign"
            and isinstance(one.value, ast.BinOp)
            and isinstance(one.value.op, (ast.Add, ast.Sub))
            for part in _names(source, one.value)
            if "." not in part
        } - found
        found |= reached
    return found


def _added(
    source: Source, project: Facts, statement: ast.stmt, losses: set[str]
) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add):
        target = statement.target
        # `totals["loss"] += loss`: the table stands for its entries.
        held = target.value if isinstance(target, ast.Subscript) else target
        added = statement.value
        # `losses += [loss]`
        if isinstance(added, (ast.List, ast.Tuple)) and len(added.elts) == 1:
            added = added.elts[0]
        yield dotted(held), added
    elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        total = dotted(statement.targets[0])
        value = statement.value
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add) and total not in losses:
            if dotted(value.left) == total:
                yield total, value.right
            elif dotted(value.right) == total:
                yield total, value.left
    elif isinstance(statement, ast.Expr) and isinstance(call := statement.value, ast.Call):
        if last_name(call) == "append" and len(call.args) == 1:
            owner = receiver(call)
            # `history["loss"].append(loss)`: again the table stands for its entries.
            owner = owner.value if isinstance(owner, ast.Subscript) else owner
            yield dotted(owner), call.args[0]
        elif any(
            _loss_of(one, losses) is not None for one in (*call.args, *(k.value for k in call.keywords))
        ):
            yield from meters.kept(source, project, call)


def _tables(source: Source, here: list[Backward]) -> dict[str, set[object]]:
    """`parts`, with "total", of `loss = parts["total"]; loss.backward()`: the entry has a graph behind it."""
    found: dict[str, set[object]] = {}
    for backward in here:
        entries = [backward.loss]
        if backward.name:
            made = source.flow(source.scope(backward.call)).definitions(backward.loss)
            entries = [one.value for one in made if one.how == "assign" and one.value is not None]
        for entry in entries:
            if isinstance(entry, ast.Subscript) and isinstance(key := constant(entry.slice), str):
                if table := dotted(entry.value):
                    found.setdefault(table, set()).add(key)
    return found


def _kept_of_tables(
    source: Source, statement: ast.stmt, tables: dict[str, set[object]]
) -> Iterator[tuple[str, ast.expr]]:
    """`totals[k] += parts[k]` and `totals[k] += parts.get(k, 0)`, where `k` goes through the key of the loss too."""
    if not isinstance(statement, ast.AugAssign) or not isinstance(statement.op, ast.Add):
        return
    value = statement.value
    if isinstance(value, ast.Call) and last_name(value) == "get" and value.args:
        table, key = dotted(receiver(value)), value.args[0]
    elif isinstance(value, ast.Subscript):
        table, key = dotted(value.value), value.slice
    else:
        return
    keys = tables.get(table)
    if keys is None:
        return
    held = statement.target.value if isinstance(statement.target, ast.Subscript) else statement.target
    if constant(key) in keys or _goes_through(source, key, table, keys):
        yield dotted(held), value


def _goes_through(source: Source, key: ast.expr, table: str, keys: set[object]) -> bool:
    """Whether a name is the variable of a loop over all keys of a table, or over keys of which one is among `keys`."""
    if not isinstance(key, ast.Name):
        return False
    flow = source.flow(source.scope(key))
    for one in flow.definitions(key):
        if (
            one.how != "for"
            or not isinstance(one.statement, ast.For)
            or dotted(one.statement.target) != key.id
        ):
            continue
        over = one.statement.iter
        if isinstance(over, ast.Call) and last_name(over) == "keys":
            over = receiver(over) or over
        if dotted(over) == table or keys & _keys_of(source, over):
            return True
    return False


def _keys_of(source: Source, over: ast.expr) -> set[object]:
    """The texts that a loop over this goes through, as far as the code shows them."""
    found: set[object] = set()
    for made in source.flow(source.scope(over)).origins(over):
        if isinstance(made, (ast.DictComp, ast.ListComp, ast.SetComp)):
            own = made.key if isinstance(made, ast.DictComp) else made.elt
            if dotted(own) == dotted(made.generators[0].target) and not made.generators[0].ifs:
                found |= _keys_of(source, made.generators[0].iter)
        elif isinstance(made, (ast.List, ast.Tuple, ast.Set, ast.Dict)):
            members = made.keys if isinstance(made, ast.Dict) else made.elts
            found |= {constant(one) for one in members} - {None}
    return found


def _loss_of(value: ast.expr, losses: set[str]) -> ast.expr | None:
    if dotted(value) in losses:
        return value
    # These give a new tensor with the same graph behind it.
    if isinstance(value, ast.Call) and last_name(value) in KEEPS_GRAPH and receiver(value) is not None:
        inner = _loss_of(receiver(value) or value, losses)
        return value if inner is not None else None
    if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Mult, ast.Div)):
        return _loss_of(value.left, losses) or (
            _loss_of(value.right, losses) if isinstance(value.op, ast.Mult) else None
        )
    return None


def _is_number(source: Source, value: ast.expr, how: str) -> bool:
    if isinstance(value, ast.Attribute) and value.attr == "data":
        return True
    return isinstance(value, ast.Call) and last_name(value) in NUMBERS and how != "unpack"


def _adds(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.AugAssign)
