import ast
from collections.abc import Iterator

from premortem.lint.kinds import MODULE
from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.source import once_per_file
from premortem.lint.training import (
    bound_in,
    calls_in,
    helpers,
    inside,
    is_optimizer,
    is_test,
    names_in,
    steps_in,
)
from premortem.lint.tree import FUNCTIONS, LOOPS, Loop, argument, dotted, grouped, last_name, parts, receiver

# What these give holds the same tensors as what they are given.
_SAME_TENSORS = frozenset(("copy", "dict", "OrderedDict", "detach", "items"))
_COPYING = frozenset("clone cpu deepcopy numpy to tolist cuda half float bfloat16 double".split())
# Packages whose `state_dict()` gathers the weights of all processes into new tensors, or is not torch's.
_OTHERS = "torch.distributed deepspeed fairscale colossalai paddle jittor mindspore oneflow".split()


class BestWeightsNotCopied(Rule):
    """The best weights are kept as `model.state_dict()`, which is not a copy: training goes on inside it.

    ## Why it matters
    `state_dict()` gives the weights themselves, not a copy of them. Every later step of the optimizer changes what was
    kept, so that at the end "the best model" is the last one. Early stopping then returns the model it wanted to avoid.

    ## Usual causes
    - `best = model.state_dict()` in the place of `best = copy.deepcopy(model.state_dict())`
    - `.copy()` of the dict: it copies the table and not the tensors

    ## What to do
    Write `copy.deepcopy(model.state_dict())`, or save the weights to a file at once.

    ## When it stays silent
    When the weights are saved or loaded before the next step, when they are kept in every turn of the loop (then they are
    meant to be the last ones), when the loop builds a new model for every turn, and when nothing in the loop trains.
    """

    card = Card("PM564", "best-weights-not-copied", "persistence", Severity.WARNING)
    needs = (b".state_dict()",)

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        if any(map(source.names.imports, _OTHERS)):
            return
        for call in source.calls_to("state_dict"):
            model = dotted(receiver(call))
            if (
                call.args
                or call.keywords
                or not model
                or is_test(source, call)
                or not _is_module(source, model)
            ):
                continue
            kept = _kept_by(source, call)
            if kept is None:
                continue
            statement, name = kept
            loops = source.loops_around(statement)
            if not _is_chosen(source, statement):
                continue
            if (
                _changes_later(source, project, statement, name, loops[0], model)
                if loops
                else _is_kept_between_calls(source, project, statement, name, model)
            ):
                yield self.report(
                    source,
                    call,
                    f"`{name}` is not a copy: the steps after this one change the weights in it",
                    remedy=f"Write `copy.deepcopy({source.text(call)})`.",
                )


def _is_module(source: Source, name: str) -> bool:
    """Whether this can be a model: not an optimizer, a scheduler or a scaler."""
    kinds = source.kinds.of(name)
    if kinds:
        return kinds == {MODULE}
    last = name.rpartition(".")[2].lower()
    return not is_optimizer(source, name) and not any(
        one in last for one in ("sched", "scaler", "loader", "sampler")
    )


def _kept_by(source: Source, call: ast.Call) -> tuple[ast.Assign, str] | None:
    """The assignment that keeps these very tensors, and the name that has them: `best`, `self.best`."""
    way: list[ast.AST] = [call]
    for above in source.ancestors(call):
        if isinstance(above, ast.Assign):
            held = [part for target in above.targets for part in parts(target)]
            values = (
                above.value.elts if isinstance(above.value, ast.Tuple) and len(held) > 1 else [above.value]
            )
            if len(held) != len(values):
                return None
            one = next(part for part, value in zip(held, values, strict=True) if value in way)
            # An entry of a table: the table has them.
            while isinstance(one, ast.Subscript):
                one = one.value
            return (above, name) if (name := dotted(one)) else None
        if isinstance(above, ast.DictComp):
            inner = (above.value, *source.within(above.value))
            if any(isinstance(one, ast.Call) and last_name(one) in _COPYING for one in inner):
                return None
        elif isinstance(above, ast.Call):
            if last_name(above) not in _SAME_TENSORS:
                return None
        elif not isinstance(above, (ast.Attribute, ast.Dict, ast.Tuple, ast.comprehension, ast.IfExp)):
            return None
        way.append(above)
    return None


def _is_chosen(source: Source, statement: ast.Assign) -> bool:
    """Whether a condition decides if the weights of this turn, or of this call, are the ones to keep."""
    for above in source.ancestors(statement):
        if isinstance(above, (*LOOPS, *FUNCTIONS)):
            return False
        if isinstance(above, ast.If):
            return True
    return False


def _changes_later(
    source: Source, project: Facts, statement: ast.Assign, name: str, loop: Loop, model: str
) -> bool:
    """Whether the loop can go on to train the model before what was kept is put to use."""
    if _is_made_anew(source, loop, model):
        return False
    flow = source.flow(source.scope(statement))
    return any(
        flow.reaches(statement, one, avoiding=[statement]) and _is_used(source, one, statement, name, loop)
        for one in _trained(source, project, loop, model)
    )


def _is_kept_between_calls(
    source: Source, project: Facts, statement: ast.Assign, name: str, model: str
) -> bool:
    """Whether a method keeps the weights on its object, and a later call puts them to use: `stopper(score, model)`.

    Weights that are loaded into the model they were just taken from would change nothing: that is a later call.
    """
    owner = source.class_of(statement)
    if owner is None or not name.startswith("self."):
        return False
    scope = source.scope(statement)
    for use in _uses(source, name, statement):
        if last_name(use) == "save":
            continue
        if source.scope(use) is not scope or (isinstance(use, ast.Call) and dotted(receiver(use)) == model):
            return True
    return project.loads_from(name.removeprefix("self."))


def _is_made_anew(source: Source, loop: Loop, model: str) -> bool:
    root = model.partition(".")[0] if not model.startswith("self.") else ".".join(model.split(".")[:2])
    return bool({model, root} & bound_in(source, loop))


def _trained(source: Source, project: Facts, loop: Loop, model: str) -> list[ast.AST]:
    """Where the loop steps an optimizer, itself or through a function of the project that is given the model, or owns it."""
    root = model.removesuffix(".module")
    run = {dotted(one.func).removesuffix(".forward") for one in calls_in(source, loop) if one.args}
    run |= {dotted(receiver(one)) for one in calls_in(source, loop, "train", "zero_grad")}
    found: list[ast.AST] = []
    # Another model's optimizer says nothing about this one.
    if any(root == one or root.startswith(f"{one}.") for one in run - {"", "self"}):
        found += [
            step.call for step in steps_in(source, source.scope(loop)) if inside(source, step.call, loop)
        ]
    own = helpers(source, loop)
    for call in calls_in(source, loop):
        name, owner = last_name(call), dotted(receiver(call))
        given = {dotted(one) for one in (*call.args, *(one.value for one in call.keywords))}
        handed = root in given or owner == root or (owner == "self" and root.startswith("self."))
        if handed and name in own and project.does(name, "backward") and project.does(name, "step"):
            found.append(call)
    return found


def _is_used(source: Source, training: ast.AST, statement: ast.Assign, name: str, loop: Loop) -> bool:
    """Whether what was kept is loaded, saved or given back after further training, outside of the loop."""
    scope = source.scope(statement)
    flow = source.flow(scope)
    for use in _uses(source, name, statement):
        if inside(source, use, loop):
            continue
        if source.scope(use) is scope:
            if flow.reaches(training, use, avoiding=[statement]):
                return True
        elif name.startswith("self.") and source.class_of(use) is source.class_of(statement) is not None:
            function = source.function(use)
            # A method that the loop itself calls can do so in the same turn.
            if function is None or not calls_in(source, loop, function.name):
                return True
    return False


def _uses(source: Source, name: str, statement: ast.Assign) -> Iterator[ast.AST]:
    """Where the kept weights are put to use: `model.load_state_dict(best)`, `torch.save(best, path)`, `return best`."""
    own = name.startswith("self.")
    places = _by_class(source) if own else _by_scope(source)
    around = source.class_of(statement) if own else source.scope(statement)
    for use in places.get(around, ()):
        if isinstance(use, ast.Call):
            given = argument(use, "state_dict", 0) if last_name(use) == "load_state_dict" else use.args[0]
            if given is not None and _holds(source, given, name):
                yield use
        elif isinstance(use, ast.Return):
            values = use.value.elts if isinstance(use.value, ast.Tuple) else [use.value]
            if any(value is not None and dotted(value) == name for value in values):
                yield use


@once_per_file
def _all_uses(source: Source) -> list[ast.AST]:
    """Everything that may put weights to use."""
    saved = [call for call in source.calls_to("save") if call.args]
    return [*source.calls_to("load_state_dict"), *saved, *source.nodes(ast.Return)]


@once_per_file
def _by_scope(source: Source) -> dict[ast.AST | None, list[ast.AST]]:
    return grouped(_all_uses(source), source.scope)


@once_per_file
def _by_class(source: Source) -> dict[ast.AST | None, list[ast.AST]]:
    return grouped(_all_uses(source), source.class_of)


def _holds(source: Source, value: ast.expr, name: str) -> bool:
    if "." not in name:
        return name in names_in(source, value)
    return any(dotted(one) == name for one in (value, *source.within(value)))
