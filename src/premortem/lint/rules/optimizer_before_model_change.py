import ast
from collections.abc import Iterator

from premortem.lint.layers import WITH_WEIGHTS
from premortem.lint.lines import move_behind
from premortem.lint.rule import Card, Diagnostic, Facts, Fix, Rule, Severity, Source
from premortem.lint.source import once_per_file
from premortem.lint.training import calls_in, is_test, names_in, one_cell, owned_parameters, steps, steps_in
from premortem.lint.tree import Assignment, Function, dotted, last_name, receiver

CONTAINERS = frozenset(("Sequential", "ModuleList", "ModuleDict"))
NEW_MODELS = ("torchvision.models.", "timm.create_model", "copy.deepcopy", "torch.load", "torch.hub.load")
HOPS = 3  # functions between the top level and the step
ADDS_PARAMETERS = frozenset(("peft.get_peft_model", "peft.mapping.get_peft_model"))


class OptimizerBeforeModelChange(Rule):
    """The optimizer is built, then the model is exchanged or gets new layers, then training starts.

    ## Why it matters
    The optimizer holds the parameters it was given. New ones get gradients and are never updated: a new head stays
    random, a new model does not learn at all, and the loss still moves a little or not at all.

    ## Usual causes
    - the head is replaced, or adapters are added, after the optimizer was built
    - the model is built a second time to load a checkpoint

    ## What to do
    Build the optimizer last, after everything that makes or replaces parameters.

    ## When it stays silent
    For `.to(device)`, `DataParallel`, `DistributedDataParallel` and `torch.compile`: they keep the parameters. When a
    new optimizer or `add_param_group` follows, for functions it does not know, and between cells of a notebook.
    """

    card = Card("PM539", "optimizer-before-model-change", "optimizer-ownership", Severity.ERROR)
    needs = (b".step(", b"optim", b"parameters()")

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        for built in source.bindings:
            if not isinstance(built, ast.Assign) or source.kinds.of_value(built.value) != "optimizer":
                continue
            optimizer = dotted(built.targets[0])
            if not optimizer or is_test(source, built):
                continue
            reported: set[ast.AST] = set()
            owned = _owned(source, built.value)
            scope = source.scope(built)
            for model, (change, what) in (
                (name, one) for name in owned for one in _changes(source, name, scope)
            ):
                if change not in reported and self._between(source, built, change, optimizer, model):
                    reported.add(change)
                    yield self.report(
                        source,
                        change,
                        f"{what} after `{optimizer}` was built from its parameters: the new ones are never updated",
                        remedy=f"Build `{optimizer}` after this line.",
                        fix=_built_later(source, built, change, optimizer),
                    )

    @staticmethod
    def _between(source: Source, built: ast.Assign, change: Assignment, optimizer: str, model: str) -> bool:
        scope = source.scope(built)
        if not one_cell(source, built, change):
            return False
        flow = source.flow(scope)
        renewed: list[ast.AST] = [*source.assigned_in(optimizer, scope)]
        renewed += calls_in(source, scope, "add_param_group")
        others = [one for one in renewed if one is not built]
        again = [one for one, _what in _changes(source, model, scope) if one is not change]
        if not flow.reaches(built, change, [*others, *again]):
            return False
        # It is built again somewhere behind the change: a way around that may be one that is never taken.
        loops = source.loops_around(change)
        if any(flow.reaches(change, one, [*loops, *again]) for one in renewed):
            return False
        if not optimizer.startswith("self."):
            return any(
                flow.reaches(change, use, renewed) and one_cell(source, use, built)
                for use in _uses(source, scope, optimizer, model)
            )
        return getattr(scope, "name", "") == "__init__" and flow.reaches(change, flow.end, renewed)


def _built_later(source: Source, built: ast.Assign, change: Assignment, optimizer: str) -> Fix | None:
    """The line that builds it, behind the change: where both stand in one block, and nothing between them uses it."""
    around = source.parent(built)
    block: list[ast.stmt] = getattr(around, "body", [])
    if built not in block or change not in block:
        return None
    between = block[block.index(built) + 1 : block.index(change) + 1]
    names = {dotted(node) for one in between for node in source.within(one) if isinstance(node, ast.expr)}
    return move_behind(source, built, change) if between and optimizer not in names else None


def _owned(source: Source, value: ast.expr) -> list[str]:
    """Whose parameters an optimizer is built from; for a function of this file, the one thing it is given."""
    found = owned_parameters(source, value)
    if not found and isinstance(value, ast.Call) and source.callee(value) is not None:
        found = [dotted(arg) for arg in value.args]
        found = found if len(found) == 1 else []
    return sorted({name for name in found if name})


def _uses(source: Source, scope: ast.AST, optimizer: str, model: str) -> Iterator[ast.AST]:
    """Where this scope steps the optimizer, or hands both on."""
    for step in steps_in(source, scope):
        if step.optimizer == optimizer:
            yield step.call
    for end in source.within(scope, nested=False):
        if isinstance(end, ast.Return) and isinstance(end.value, ast.Tuple):
            if {optimizer, model} <= {dotted(part) for part in end.value.elts}:
                yield end
    for call in calls_in(source, scope):
        given = {dotted(value) for value in (*call.args, *(one.value for one in call.keywords))}
        if optimizer in given and {model, model.partition(".")[0]} & given:
            yield call

    if scope is source.tree:
        running = _stepping(source, optimizer, model)
        yield from (call for call in calls_in(source, scope) if source.callee(call) in running)


def _stepping(source: Source, optimizer: str, model: str) -> set[Function | None]:
    """The functions of this file that step an optimizer of the top level, themselves or through others."""
    found: set[Function | None] = set()
    for step in steps(source):
        function = source.function(step.call)
        if step.optimizer == optimizer and function is not None:
            if not source.flow(function).definitions(step.call, optimizer):
                if model.partition(".")[0] in names_in(source, function):
                    found.add(function)
    for _hop in range(HOPS if found else 0):
        found |= {source.function(call) for call in source.nodes(ast.Call) if source.callee(call) in found}
        found.discard(None)
    return found


def _changes(source: Source, model: str, scope: ast.AST) -> Iterator[tuple[Assignment, str]]:
    """Statements that give a model other parameters than it had, with the beginning of a sentence."""
    for statement in source.assigned_in(model, scope):
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
            if len(statement.targets) == 1 and dotted(statement.targets[0]) == model:
                if _is_new(source, statement.value, model) or _owns(source, statement.value):
                    yield statement, f"`{model}` is made anew"
                elif source.names.all_in(statement.value.func, ADDS_PARAMETERS):
                    yield statement, f"`{model}` gets adapters"
    for target, statement in _new_layers(source).get((scope, model), ()):
        yield statement, f"`{target}` is replaced by a new layer"


@once_per_file
def _new_layers(source: Source) -> dict[tuple[ast.AST, str], list[tuple[str, Assignment]]]:
    """`model.head = nn.Linear(…)` by the scope it is in and each name it changes: "model"."""
    found: dict[tuple[ast.AST, str], list[tuple[str, Assignment]]] = {}
    for target, statements in source.assignments.items():
        owner = target
        while "." in owner:
            owner = owner.rpartition(".")[0]
            for statement in statements:
                if isinstance(statement.value, ast.Call) and _owns(source, statement.value):
                    found.setdefault((source.scope(statement), owner), []).append((target, statement))
    return found


def _is_new(source: Source, value: ast.Call, model: str) -> bool:
    if isinstance(value.func, ast.Attribute) and last_name(value) in {"to", "cuda", "cpu"}:
        owner = receiver(value)
        return isinstance(owner, ast.Call) and _is_new(source, owner, model)
    names = source.names.of(value.func)
    if names and all(
        name.startswith(NEW_MODELS)
        or (name.startswith("transformers.") and name.endswith(".from_pretrained"))
        for name in names
    ):
        return True
    made = source.kinds.of_value(value) == "module" and bool(names)
    made = made and all(name.startswith("<local>.") for name in names)
    return made and not _derives(source, value, model.partition(".")[0])


def _derives(source: Source, value: ast.expr, model: str) -> bool:
    """`model = wrap(raw)` where `raw = unwrap(model)`: the parameters are still the ones it had."""
    if model in names_in(source, value):
        return True
    flow = source.flow(source.scope(value))
    held = [node for node in source.within(value) if isinstance(node, ast.Name)]
    return any(model in names_in(source, origin) for name in held for origin in flow.origins(name))


def _owns(source: Source, value: ast.Call) -> bool:
    names = source.names.of(value.func)
    if not names or not all(name.startswith("torch.nn.") for name in names):
        return False
    kind = last_name(value)
    if kind in CONTAINERS:
        return any(isinstance(one, ast.Call) and _owns(source, one) for one in source.within(value))
    return kind in WITH_WEIGHTS
