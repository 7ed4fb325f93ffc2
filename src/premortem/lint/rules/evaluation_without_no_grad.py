import ast
from collections.abc import Collection, Iterator
from functools import lru_cache

from premortem.lint.fates import spent
from premortem.lint.patterns import pattern
from premortem.lint.provenance import callers
from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.source import once_per_file
from premortem.lint.training import (
    PARTS,
    bound_in,
    calls_in,
    helpers,
    is_learned_layer,
    is_loader,
    is_model,
    is_test,
    iterated,
    names_in,
    not_entered,
    one_cell,
    sounds_like_model,
    switches_off,
    without_grad,
)
from premortem.lint.tree import (
    FUNCTIONS,
    LOOPS,
    Function,
    Loop,
    constant,
    dotted,
    given,
    in_order,
    last_name,
    parameters,
    receiver,
)
from premortem.lint.words_used import mentions

EVALUATES = pattern(
    r"(?:^|_)(?:val|valid|validate|validation|eval|evaluate|evaluation|test|testing|infer|inference|predict)"
    r"(?:_|\d|$)"
)
NOT_EVALUATION = pattern(r"train|attack|adversarial|explain|saliency|load|collate|build|get_|make")
# Work that needs gradients, or says how it does without.
GRADIENTS = pattern(
    r"attack|adversar|perturb|fgsm|pgd|saliency|attribut|explain|^volatile$|^(?:jacobian|hessian|jvp|vjp|hvp)\(|"
    r"^grads?(?:_|\(|$)|(?<!no)(?<!zero)_grads?(?:_|\(|$)|gradient"
)
SWITCHES = "no_grad inference_mode enable_grad set_grad_enabled backward grad requires_grad_".split()
EVALUATION_DATA = pattern(r"val|test|eval|dev")
TRAINS = pattern(r"^(?:zero_grad|backward|fit)\($|optimi[sz]er")
STEP = pattern(r"(?:^|_)(?:val|valid|validate|validation|eval|evaluate|evaluation|test)(?:_|$)")
_CAPITAL = pattern(r"(?<=[a-z0-9])(?=[A-Z])")
HARMLESS_DECORATORS = frozenset(("staticmethod", "classmethod", "timer", "timeit"))


class EvaluationWithoutNoGrad(Rule):
    """An evaluation loop runs the model with gradients on.

    ## Why it matters
    Every forward pass of the evaluation records a graph for a backward pass that never comes. That costs memory,
    often twice what the same batch needs without, and time; an evaluation batch that is larger than the training
    batch then ends the run.

    ## Usual causes
    - `model.eval()` is taken for a switch of the gradients; it is not

    ## What to do
    Put the loop under `with torch.no_grad():` or decorate the function with `@torch.no_grad()`.

    ## When it stays silent
    When gradients are used in the function, when a caller switches them off, after `model.freeze()`, and in tests. A bare `torch.no_grad()` switches nothing off.
    A loop over a loader that is not called an evaluation counts where all that is made of the model's output are numbers.
    A loop over something else than a loader (files, frames, steps of an environment) counts only where a model was
    switched to evaluation and nothing around the loop trains.
    """

    card = Card("PM536", "evaluation-without-no-grad", "eval-mode", Severity.WARNING)
    needs = (b"torch", b"for ")

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        for over, what in self._found(source, project):
            far = "over a whole loader" if is_loader(source, over) else "in a loop"
            if (
                isinstance(over, ast.Call)
                and source.text(over.func).startswith("self.")
                and over not in _heads(source)
            ):
                far = "on every batch of an evaluation"
            message = f"{what} {far} with gradients on"
            yield self.report(source, over, message, remedy="Put the loop under `with torch.no_grad():`.")

    @classmethod
    def loops(cls, source: Source, project: Facts) -> list[ast.expr]:
        """What the loops iterate over that this rule reports."""
        return [over for over, _what in cls._found(source, project) if source.statement(over) in source.loops]

    @classmethod
    def _found(cls, source: Source, project: Facts) -> Iterator[tuple[ast.expr, str]]:
        if not source.names.imports("torch") or _off_for_good(source):
            return
        reported: set[ast.AST] = set()
        for function in source.functions:
            if not _is_evaluation(_spelt(function.name)):
                continue
            for over, model in evaluation_loops(source, function):
                if _takes_gradients(source, function) or frozen(source, function, model):
                    break
                if cls._guarded(source, function, project):
                    break
                reported.add(function)
                yield over, f"`{function.name}` runs `{model}`"
                break
        for call, model, function in evaluation_steps(source):
            if not cls._guarded(source, function, project):
                yield call, f"`{function.name}` runs `{model}`"
        for loop, model, flag in told_to_evaluate(source):
            owner = source.function(loop)
            if owner is not None and not cls._guarded(source, owner, project):
                reported.add(owner)
                yield loop.iter, f"where `{flag}` turns training off, this runs `{model}`"
        seen: set[Loop] = set()
        for inline, model in inline_loops(source):
            around = source.function(inline)
            # One report says it for all models of a loop, and for the loops inside.
            if not seen.isdisjoint((inline, *source.loops_around(inline))):
                continue
            seen.add(inline)
            if around is None or not cls._guarded(source, around, project):
                yield _head(inline), f"this evaluation runs `{model}`"
        for spending, model in spending_loops(source):
            owner = source.function(spending)
            if owner in reported or not seen.isdisjoint((spending, *source.loops_around(spending))):
                continue
            seen.add(spending)
            if any(project.does(name, "backward") for name in helpers(source, spending)):
                continue
            if owner is None or not cls._guarded(source, owner, project):
                yield spending.iter, f"nothing that `{model}` gives goes backward: it runs"

    @staticmethod
    def _guarded(source: Source, function: Function, project: Facts) -> bool:
        if _guards(function):
            return True
        calls = callers(source, function)
        if any(without_grad(source, call) for call in calls):
            return True
        return project.called_without_grad(function.name)


def evaluation_loops(
    source: Source, function: Function, *, recorded: bool = True
) -> Iterator[tuple[ast.expr, str]]:
    """The loaders, with the model, over which a function that is called an evaluation runs a model.

    `recorded`: only where gradients are on.
    """
    name = _spelt(function.name)
    if not _is_evaluation(name):
        return
    # `evaluate_training_loss` evaluates when it says so to the model.
    if NOT_EVALUATION.search(name) and not (
        name.startswith(("eval", "valid")) and calls_in(source, function, "eval")
    ):
        return
    # What is switched to evaluation is a model, whatever it is called.
    switched = {dotted(receiver(one)) for one in calls_in(source, function, "eval") if not one.args} - {""}
    only = bool(switched) and not trains(source, function)
    for loop in source.within(function, nested=False):
        if isinstance(loop, (ast.For, ast.While)):
            over = _head(loop)
        elif isinstance(loop, (ast.ListComp, ast.GeneratorExp)):
            over = loop.generators[0].iter
        else:
            continue
        # Whoever switches the gradients off around a loop evaluates, whatever the loop goes through.
        batches = is_loader(source, over) or (not recorded and without_grad(source, loop))
        if not batches and not only:
            continue
        models = _models_called(source, loop, switched, recorded=recorded)
        model = next((one for one in models if batches or one in switched), "")
        if model and not is_test(source, loop):
            yield over, model


def _guards(function: Function) -> bool:
    """Whether a decorator may switch the gradients off."""
    return any(last_name(one) not in HARMLESS_DECORATORS for one in function.decorator_list)


def evaluation_steps(source: Source) -> Iterator[tuple[ast.Call, str, Function]]:
    """Where the trainer of this file evaluates one batch: the method switches a model to evaluation and runs it."""
    for switch in source.calls_to("eval"):
        model = dotted(receiver(switch))
        function = source.function(switch)
        owner = source.class_of(switch)
        if not model.startswith("self.") or switch.args or function is None or owner is None:
            continue
        if not STEP.search(_spelt(function.name)) or is_test(source, switch) or source.loops_around(switch):
            continue
        # The same class trains the same model, one batch for each call.
        if not any(source.class_of(one) is owner for one in source.calls.get("backward", ())):
            continue
        if trains(source, function) or _takes_gradients(source, function) or frozen(source, function, model):
            continue
        if any(isinstance(one, LOOPS) for one in source.within(function, nested=False)):
            continue
        for call in calls_in(source, function):
            if call.lineno > switch.lineno and (call.args or call.keywords) and _is_run(call, model):
                yield call, model, function
                break


def trains(source: Source, scope: ast.AST) -> bool:
    """Whether this code trains something; neither a step of an environment nor the way back to training mode does."""
    if mentions(source, scope, TRAINS):
        return True
    switched = {dotted(receiver(one)) for one in calls_in(source, scope, "eval")} - {""}
    return any(
        "env" not in dotted(receiver(call)).lower() for call in calls_in(source, scope, "step")
    ) or any(dotted(receiver(call)) not in switched for call in calls_in(source, scope, "train"))


@once_per_file
def _heads(source: Source) -> set[ast.expr]:
    return {_head(loop) for loop in source.loops if isinstance(loop, (ast.For, ast.While))}


def _head(loop: ast.For | ast.While) -> ast.expr:
    return loop.test if isinstance(loop, ast.While) else loop.iter


@lru_cache(maxsize=8192)
def _spelt(name: str) -> str:
    """`eval_gan` of `evalGAN`."""
    return _CAPITAL.sub("_", name).lower()


@lru_cache(maxsize=8192)
def _is_evaluation(spelt: str) -> bool:
    return EVALUATES.search(spelt) is not None


def _models_called(
    source: Source, node: ast.AST, known: Collection[str] = (), depth: int = 2, *, recorded: bool = True
) -> Iterator[str]:
    """`model` of `model(x)` and `model.forward(x)` below this node, and in the helpers it calls; `known` are models."""
    for call in calls_in(source, node):
        if (recorded and without_grad(source, call)) or not (call.args or call.keywords):
            continue
        name = dotted(call.func).removesuffix(".forward")
        owner, _dot, part = name.rpartition(".")
        if name and (name in known or is_model(source, name) or is_learned_layer(source, call)):
            yield name
        elif owner in known and PARTS.search(part):
            yield owner
        elif depth and (helper := source.callee(call)) is not None:
            if not recorded or not (_guards(helper) or _takes_gradients(source, helper)):
                for model in _models_called(source, helper, known, depth - 1, recorded=recorded):
                    # What the helper calls `model` is what it was given for it.
                    handed = given(call, helper, model) if "." not in model else None
                    yield dotted(handed) or model


def _takes_gradients(source: Source, node: ast.AST) -> bool:
    """Whether the code below this node works with gradients, or switches them; a bare `no_grad()` does neither."""
    bare = not_entered(source)
    switches = [call for call in calls_in(source, node, *SWITCHES) if call not in bare]
    return bool(switches) or mentions(source, node, GRADIENTS)


def _off_for_good(source: Source) -> bool:
    """`torch.set_grad_enabled(False)` as a statement: from there on nothing is recorded."""
    return any(switches_off(one.value) for one in source.expressions)


def _freezes(source: Source, scope: ast.AST) -> bool:
    """`parameter.requires_grad = False`, `model.requires_grad_(False)` somewhere in this scope."""
    for node in source.within(scope):
        if isinstance(node, ast.Assign) and constant(node.value) is False:
            if any(isinstance(one, ast.Attribute) and one.attr == "requires_grad" for one in node.targets):
                return True
        elif isinstance(node, ast.Call) and last_name(node) == "requires_grad_":
            if node.args and constant(node.args[0]) is False:
                return True
    return False


@once_per_file
def _freezes_anything(source: Source) -> bool:
    return _freezes(source, source.tree)


def frozen(source: Source, scope: ast.AST, model: str) -> bool:
    """`model.freeze()` of Lightning: no parameter asks for a gradient, so nothing is recorded."""
    if any(dotted(receiver(call)) == model for call in calls_in(source, scope, "freeze")):
        return True
    return isinstance(scope, FUNCTIONS) and _freezes(source, scope)


def unrecorded_loops(source: Source) -> Iterator[tuple[ast.For, str]]:
    """Loops over evaluation data, with gradients off, of a function that also trains the model; with the model."""
    for scope in dict.fromkeys(source.scope(one) for one in source.calls.get("backward", ())):
        loops = [one for one in source.within(scope, nested=False) if isinstance(one, ast.For)]
        trained = {
            name
            for loop in loops
            if calls_in(source, loop, "backward")
            for name in _models_called(source, loop, depth=0, recorded=False)
        }
        for loop in loops:
            name = dotted(iterated(loop.iter)).lower()
            if calls_in(source, loop, "backward") or not EVALUATION_DATA.search(name):
                continue
            recorded = set(_models_called(source, loop, depth=0))
            used = set(_models_called(source, loop, depth=0, recorded=False)) - recorded
            if is_loader(source, loop.iter) and used & trained:
                yield loop, min(used & trained)


def inline_loops(source: Source) -> Iterator[tuple[ast.For | ast.While, str]]:
    """Loops over evaluation data that a training function or a script runs itself, right after `model.eval()`."""
    for switch in source.calls_to("eval"):
        model = dotted(receiver(switch))
        scope = source.scope(switch)
        if not model or switch.args or is_test(source, switch):
            continue
        if isinstance(scope, FUNCTIONS) and EVALUATES.search(_spelt(scope.name)):
            continue
        if _freezes(source, scope):
            continue
        flow = source.flow(scope)
        around = source.loops_around(switch)
        back = [*calls_in(source, scope, "train", "backward"), *around]
        # A function or a script that switches to evaluation and never trains evaluates, whatever its data is called.
        only = not trains(source, scope)
        reached = flow.after(switch, back)
        for loop in source.within(scope, nested=False):
            if not isinstance(loop, (ast.For, ast.While)) or not one_cell(source, switch, loop):
                continue
            if loop in around:
                if not only:
                    continue
            elif loop not in reached or trains(source, loop):
                continue
            if without_grad(source, loop) or _takes_gradients(source, loop) or frozen(source, scope, model):
                continue
            if isinstance(loop, ast.While) and not _goes_on(source, loop, model):
                continue
            if model in _models_called(source, loop) or any(
                _is_run(call, model) and not _is_given_a_model(source, call)
                for call in calls_in(source, loop)
            ):
                yield loop, model


def _goes_on(source: Source, loop: ast.While, model: str) -> bool:
    """Whether the model gets something else in each turn: `while retries:` tries the same again."""
    bound = bound_in(source, loop) - names_in(source, loop.test)
    runs = [
        call
        for call in calls_in(source, loop)
        if _is_run(call, model) or source.callee(call) or model in map(dotted, _given(call))
    ]
    return any(bound & names_in(source, one) for call in runs for one in _given(call))


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(one.value for one in call.keywords)]


def spending_loops(source: Source) -> Iterator[tuple[ast.For, str]]:
    """Loops over a loader in which nothing that a model gives can reach a backward pass: only numbers are made of it."""
    for loop, runs in _runs_by_loop(source).items():
        # The last: one batch, to see whether it works.
        if without_grad(source, loop) or is_test(source, loop) or isinstance(loop.body[-1], ast.Break):
            continue
        if trains(source, loop) or _takes_gradients(source, loop) or _freezes_anything(source):
            continue
        # A pass whose output is not even looked at is there for its side effects.
        seen = [(call, model) for call, model in runs if not isinstance(source.parent(call), ast.Expr)]
        recorded = [(call, model) for call, model in seen if not without_grad(source, call)]
        if any(frozen(source, source.scope(loop), model) for _call, model in recorded):
            continue
        if recorded and all(spent(source, call) for call, _model in recorded):
            yield loop, recorded[0][1]


def _evaluates(source: Source, loop: ast.For) -> bool:
    """Whether the function around a loop is called an evaluation: then the loop may go through anything."""
    function = source.function(loop)
    name = _spelt(function.name) if function is not None else ""
    return _is_evaluation(name) and not NOT_EVALUATION.search(name)


def _runs_by_loop(source: Source) -> dict[ast.For, list[tuple[ast.Call, str]]]:
    """The loops over a loader, and those of evaluations, each with the models that it runs itself."""
    modules = _switched_modules(source)
    last = {text.rpartition(".")[2] for text in modules} | {"forward"}
    calls = [
        call
        for name, named in source.calls.items()
        if name in last or sounds_like_model(name)
        for call in named
        if call.args
    ]
    if any("[" in text for text in modules):
        calls += [call for call in source.nodes(ast.Call) if isinstance(call.func, ast.Subscript)]
    found: dict[ast.For, list[tuple[ast.Call, str]]] = {}
    for call in in_order(*calls):
        loop = next(
            (
                one
                for one in source.loops_around(call)
                if isinstance(one, ast.For) and (is_loader(source, one.iter) or _evaluates(source, one))
            ),
            None,
        )
        if loop is not None and (model := _module_run(source, call)):
            if call.args and not _is_given_a_model(source, call):
                found.setdefault(loop, []).append((call, model))
    return found


def _module_run(source: Source, call: ast.Call) -> str:
    """The model that a call runs: `net` of `net(x)`, `nets[i]` of `nets[i](x)` where that is trained somewhere; or ""."""
    name = dotted(call.func).removesuffix(".forward")
    if name:
        return name if is_model(source, name) or name in _switched_modules(source) else ""
    text = source.text(call.func) if isinstance(call.func, ast.Subscript) else ""
    return text if text in _switched_modules(source) else ""


@once_per_file
def _switched_modules(source: Source) -> frozenset[str]:
    """What this file asks for its parameters, or switches to a mode, as the source spells it: modules, whatever they are called."""
    calls = source.calls_to("parameters", "named_parameters", "train", "eval")
    owners = [receiver(call) for call in calls if not call.args and not call.keywords]
    return frozenset(
        source.text(owner) for owner in owners if isinstance(owner, (ast.Name, ast.Attribute, ast.Subscript))
    )


def told_to_evaluate(source: Source) -> Iterator[tuple[ast.For, str, str]]:
    """Loops of functions that train or evaluate as a parameter says, with the model and the parameter.

    The backward pass depends on the parameter, the forward pass does not, and a caller in this file turns training off.
    """
    for function in dict.fromkeys(source.function(one) for one in source.calls.get("backward", ())):
        if function is None or calls_in(source, function, "set_grad_enabled", "enable_grad"):
            continue
        loops = [one for one in source.within(function, nested=False) if isinstance(one, ast.For)]
        for flag in parameters(function):
            for loop in loops:
                passes = calls_in(source, loop, "backward")
                if not passes or not is_loader(source, loop.iter) or without_grad(source, loop):
                    continue
                asked = [_asked(source, one, loop, flag.arg) for one in passes]
                if None in asked or not _is_turned_off(source, function, flag.arg, asked):
                    continue
                model = _run_anyway(source, function, loop, flag.arg)
                if model and not is_test(source, loop):
                    yield loop, model, flag.arg
                    break


def _asked(source: Source, node: ast.AST, loop: ast.For, flag: str) -> object | None:
    """What a parameter must be for this to run: True of `if flag:`, "train" of `if flag == "train":`; None if anything."""
    below = node
    for above in source.ancestors(node):
        if above is loop:
            return None
        if isinstance(above, ast.If) and below in above.body:
            test = above.test
            if dotted(test) == flag:
                return True
            if (
                isinstance(test, ast.Compare)
                and dotted(test.left) == flag
                and isinstance(test.ops[0], ast.Eq)
            ):
                return constant(test.comparators[0])
        below = above
    return None


def _is_turned_off(source: Source, function: Function, flag: str, asked: list[object | None]) -> bool:
    """Whether a caller gives the parameter another constant, with gradients on."""
    for call in callers(source, function):
        value = given(call, function, flag)
        if isinstance(value, ast.Constant) and value.value not in asked and not without_grad(source, call):
            return all(isinstance(one, type(value.value)) for one in asked)
    return False


def _run_anyway(source: Source, function: Function, loop: ast.For, flag: str) -> str:
    """A model that the loop runs, with gradients on, whatever the parameter says."""
    switched = {dotted(receiver(one)) for one in calls_in(source, function, "eval") if not one.args} - {""}
    for call in calls_in(source, loop):
        name = dotted(call.func).removesuffix(".forward")
        if not name or not (call.args or call.keywords) or without_grad(source, call):
            continue
        if (name in switched or is_model(source, name)) and _asked(source, call, loop, flag) is None:
            return name
    return ""


def _is_run(call: ast.Call, model: str) -> bool:
    """`model(x)`, `model.forward(x)`, `model.encoder(x)`."""
    owner, _dot, part = dotted(call.func).rpartition(".")
    return dotted(call.func) == model or (owner == model and PARTS.search(part) is not None)


def _is_given_a_model(source: Source, call: ast.Call) -> bool:
    """`method(x, model=model)`: not a model but something that works with one, and may need its gradients."""
    return any(dotted(one) and is_model(source, dotted(one)) for one in _given(call))
