"""The training loop as rules see it: losses that go backward, optimizers that step, gradients that are cleared.

Names alone are weak evidence, so every question here is answered by what the file binds or does, and a name is only
taken for what it says when nothing in the file contradicts it.
"""

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from premortem.lint.kinds import MODULE, OPTIMIZER, SCALER
from premortem.lint.patterns import pattern
from premortem.lint.source import Source, once_per_file
from premortem.lint.tree import (
    FUNCTIONS,
    LOOPS,
    Function,
    Loop,
    constant,
    dotted,
    grouped,
    last_name,
    parameters,
    receiver,
)
from premortem.lint.words_used import words
from premortem.metric_words import speaks_of_epochs

_OPTIMIZER = pattern(r"optim|(?:^|_)opt(?:_|\d|$)|(?:^|_)opt[A-Z]")
_LOADER = pattern(
    r"(?:^|[._])(?:train|val|valid|test|eval)(?:ing|idation)?_?(?:data|set|ds|iter|iterator)$|"
    r"loader|(?:^|[._])(?:train|val|valid|test|eval)?_?dl$|batches$|data_?iter|dataset$|generator$"
)
# `model`, `net_g`, `netD`, `model2`, `model_ema`; a `network_key` is none.
_MODEL = pattern(
    r"(?:^|[._])(?:model|net|network|unet|classifier)"
    r"(?!_(?:key|keys|name|path|id|ids|type|size|args|cfg|conf|dir|file|fn|func|info|list|hash|str)$)(?:_?[a-z0-9]{0,4})$"
)
# Modules that are not models.
_PART = pattern(r"loss|crit|metric|softmax|sigmoid|activ|sampl|transform|augment|norm|pool", re.IGNORECASE)
# Parts of a model that are run like the model itself.
PARTS = pattern(r"^(?:forward\w*|features|(?:\w+_)?(?:encoder|decoder|backbone))$")
_WRAPPERS = frozenset(("enumerate", "tqdm", "trange", "iter", "zip", "track", "log_every", "islice", "cycle"))
_ENGINES = pattern(r"(?:^|[._])(?:accelerator|accelerate|fabric)$")
WITHOUT_GRAD = frozenset(("no_grad", "inference_mode"))
# These do something only in a `with` or as a decorator; `set_grad_enabled(False)` also as a plain call.
CONTEXTS = frozenset(
    "torch.no_grad torch.inference_mode torch.enable_grad torch.autograd.no_grad torch.autograd.enable_grad "
    "torch.autograd.inference_mode torch.autograd.grad_mode.no_grad torch.autocast torch.amp.autocast "
    "torch.cuda.amp.autocast torch.amp.autocast_mode.autocast".split()
)
# Calls named like this run a backward pass, whatever they belong to.
BACKWARDS = frozenset(("backward", "manual_backward", "scale_loss", "grad"))
# What tensors, optimizers, loggers and the language itself have: such a call is not a function of the project.
_ORDINARY = frozenset(
    "step backward zero_grad item to cuda cpu train eval update append extend size format mean sum forward detach "
    "parameters state_dict load_state_dict print len range enumerate zip float int str max min abs clone numpy view "
    "reshape log info save load tqdm".split()
)
CLIPPING = ("clip_grad_norm_", "clip_grad_value_", "clip_grad_norm")
CLIPS = frozenset(f"torch.nn.utils.{name}" for name in CLIPPING)


@dataclass(frozen=True, slots=True)
class Backward:
    """`loss.backward()`, `scaler.scale(loss).backward()`, `accelerator.backward(loss)`."""

    call: ast.Call
    loss: ast.expr
    scaler: str  # the text of the GradScaler, or ""

    @property
    def name(self) -> str:
        """The name whose gradient is taken, or "" for an expression."""
        return dotted(self.loss)


@dataclass(frozen=True, slots=True)
class Step:
    """`optimizer.step()` or `scaler.step(optimizer)`."""

    call: ast.Call
    optimizer: str
    scaler: str


_Called = TypeVar("_Called", Backward, Step)


def by_loop(source: Source, found: Iterable[_Called]) -> dict[Loop, list[_Called]]:
    """Those of each loop, of its inner loops too."""
    loops: dict[Loop, list[_Called]] = {}
    for one in found:
        for loop in source.loops_around(one.call):
            loops.setdefault(loop, []).append(one)
    return loops


def backwards_in(source: Source, scope: ast.AST) -> list[Backward]:
    """Those of one function."""
    return _backwards_by_scope(source).get(scope, [])


@once_per_file
def _backwards_by_scope(source: Source) -> dict[ast.AST, list[Backward]]:
    return grouped(backwards(source), lambda one: source.scope(one.call))


@once_per_file
def backwards(source: Source) -> list[Backward]:
    """Every backward pass of this file whose loss is known."""
    found = []
    for call in source.calls_to("backward"):
        owner = receiver(call)
        if owner is None or last_name(owner) == "super":
            continue
        if scaled := _scaled(owner) or _scaled_before(source, owner):
            found.append(Backward(call, scaled.args[0], dotted(receiver(scaled))))
        elif not call.args:
            found.append(Backward(call, owner, ""))
        elif _ENGINES.search(dotted(owner)):
            found.append(Backward(call, call.args[0], ""))
    return found


def _scaled(node: ast.AST) -> ast.Call | None:
    if isinstance(node, ast.Call) and last_name(node) == "scale" and dotted(receiver(node)) and node.args:
        return node
    return None


def _scaled_before(source: Source, owner: ast.expr) -> ast.Call | None:
    """`scaler.scale(loss)` of `scaled = scaler.scale(loss)`, where nothing else is bound to that name."""
    made = source.assigned_in(dotted(owner), source.scope(owner))
    return _scaled(made[0].value) if len(made) == 1 and made[0].value is not None else None


def is_optimizer(source: Source, name: str) -> bool:
    """By its binding in this file, else by its name."""
    kinds = source.kinds.of(name)
    return kinds == {OPTIMIZER} if kinds else bool(_OPTIMIZER.search(name.rpartition(".")[2]))


def is_scaler(source: Source, name: str) -> bool:
    kinds = source.kinds.of(name)
    return kinds == {SCALER} if kinds else "scaler" in name.rpartition(".")[2].lower()


def steps_in(source: Source, scope: ast.AST) -> list[Step]:
    """Those of one function."""
    return _steps_by_scope(source).get(scope, [])


@once_per_file
def _steps_by_scope(source: Source) -> dict[ast.AST, list[Step]]:
    return grouped(steps(source), lambda one: source.scope(one.call))


@once_per_file
def steps(source: Source) -> list[Step]:
    """Every step of an optimizer in this file, except those with a closure."""
    found = []
    for call in source.calls_to("step"):
        owner = dotted(receiver(call))
        if not owner:
            continue
        if not call.args and not call.keywords and is_optimizer(source, owner):
            found.append(Step(call, owner, ""))
        elif call.args and is_scaler(source, owner) and dotted(call.args[0]):
            found.append(Step(call, dotted(call.args[0]), owner))
    return found


def calls_in(source: Source, node: ast.AST, *names: str) -> list[ast.Call]:
    """The calls below this node, inner functions left out; with `names`, only those."""
    known = _calls_below(source)
    if node not in known:
        calls = [one for one in source.within(node, nested=False) if isinstance(one, ast.Call)]
        known[node] = calls, grouped(calls, last_name)
    calls, by_name = known[node]
    if not names:
        return [*calls]
    found = [call for name in dict.fromkeys(names) for call in by_name.get(name, ())]
    return found if len(names) == 1 else sorted(found, key=_place)


def _place(call: ast.Call) -> tuple[int, int]:
    return call.lineno, call.col_offset


@once_per_file
def _calls_below(_source: Source) -> dict[ast.AST, tuple[list[ast.Call], dict[str, list[ast.Call]]]]:
    return {}


def helpers(source: Source, node: ast.AST) -> set[str]:
    """Names of functions called below this node that can be the project's own: the ones to ask the facts about."""
    found = {
        last_name(call)
        for call in calls_in(source, node)
        if not any(name.startswith(("torch.", "numpy.")) for name in source.names.of(call.func))
    }
    return found - _ORDINARY - {""}


def without_grad(source: Source, node: ast.AST) -> bool:
    """Whether this runs with gradients switched off, by a block or decorator of its own function."""
    for above in source.ancestors(node):
        if isinstance(above, (ast.With, ast.AsyncWith)):
            for item in above.items:
                name = last_name(item.context_expr)
                if name in WITHOUT_GRAD or switches_off(item.context_expr):
                    return True
                if name in {"enable_grad", "set_grad_enabled"}:
                    return False
        elif isinstance(above, FUNCTIONS):
            return any(last_name(decorator) in WITHOUT_GRAD for decorator in above.decorator_list)
        elif isinstance(above, ast.Lambda):
            return False
    return False


@once_per_file
def not_entered(source: Source) -> list[ast.Call]:
    """Calls, each a statement of its own, that build a context such as `torch.no_grad()` and do not enter it."""
    return [
        one.value
        for one in source.expressions
        if isinstance(one.value, ast.Call) and source.names.all_in(one.value.func, CONTEXTS)
    ]


def switches_off(expr: ast.expr) -> bool:
    """`set_grad_enabled(False)`."""
    named = isinstance(expr, ast.Call) and last_name(expr) == "set_grad_enabled"
    return named and bool(expr.args) and constant(expr.args[0]) is False  # type: ignore[attr-defined]


def is_test(source: Source, node: ast.AST) -> bool:
    """Whether this belongs to a test: tests break rules on purpose."""
    return _is_test_file(source) or any(
        isinstance(above, FUNCTIONS) and above.name.startswith("test_") and _checks(source, above)
        for above in source.ancestors(node)
    )


@once_per_file
def _is_test_file(source: Source) -> bool:
    """By its name, and by what it holds: a script called `test_model.py` that has no test function tests a model."""
    name = source.path.replace("\\", "/").rpartition("/")[2]
    if name.startswith("conftest"):
        return True
    if not (name.startswith(("test_", "tests_")) or name.endswith("_test.py")):
        return False
    defined = (*source.functions, *source.classes)
    return any(one.name.lower().startswith("test") for one in defined) or any(
        map(source.names.imports, ("pytest", "unittest"))
    )


def _checks(source: Source, function: Function) -> bool:
    """Whether a `test_...` function checks code, and does not test a model that it is given, as `test_epoch(model, loader)`."""
    if any(map(source.names.imports, ("pytest", "unittest"))):
        return True
    needs_nothing = not parameters(function) and source.class_of(function) is None
    return needs_nothing or any(isinstance(one, ast.Assert) for one in source.within(function))


def is_loader(source: Source, expr: ast.expr, seen: frozenset[str] = frozenset()) -> bool:
    """Whether what a `for` iterates over looks like a loader of batches."""
    inner = iterated(expr)
    if isinstance(inner, ast.Subscript):
        inner = inner.value
    if isinstance(inner, ast.Call) and last_name(inner) == "range" and len(inner.args) == 1:
        size = inner.args[0]
        if isinstance(size, ast.Call) and last_name(size) == "len" and size.args:
            return "loader" in last_name(size.args[0])
    name = dotted(inner) or last_name(inner)
    if "loader" in source.kinds.of(name) or _LOADER.search(name.lower()):
        return True
    # `bar = tqdm(loader)` hides the loader's name.
    wrapped = [one.value for one in source.assignments.get(name, ()) if isinstance(one.value, ast.Call)]
    wrapped += _entered_as(source).get(name, ()) if name else ()
    hidden = [iterated(value) for value in wrapped if iterated(value) is not value]
    # `bar = tqdm(bar)` leads back to where it began.
    return name not in seen and any(is_loader(source, one, seen | {name}) for one in hidden)


@once_per_file
def _entered_as(source: Source) -> dict[str, list[ast.Call]]:
    """`tqdm(loader)` of `with tqdm(loader) as bar:`, by the name."""
    found: dict[str, list[ast.Call]] = {}
    for block in source.withs:
        for item in block.items:
            if isinstance(item.context_expr, ast.Call):
                found.setdefault(dotted(item.optional_vars), []).append(item.context_expr)
    return found


def iterated(expr: ast.expr) -> ast.expr:
    """`loader` of `enumerate(tqdm(loader))`."""
    while isinstance(expr, ast.Call) and last_name(expr) in _WRAPPERS and expr.args:
        expr = expr.args[0]
    return expr


def is_epochs(source: Source, loop: Loop) -> bool:
    """Whether a loop says that it runs over epochs."""
    if isinstance(loop, ast.While):
        return _names_epochs(source, loop.test)
    return _names_epochs(source, loop.target) or _names_epochs(source, loop.iter)


def _names_epochs(source: Source, node: ast.AST) -> bool:
    return any(map(speaks_of_epochs, words(source, node)))


@lru_cache(maxsize=8192)
def sounds_like_model(name: str) -> bool:
    return _MODEL.search(name.lower()) is not None


def is_model(source: Source, name: str) -> bool:
    """By its name, unless it is bound to something else; or as a module of a class of this file."""
    known = _models_known(source)
    if name not in known:
        known[name] = _is_model(source, name)
    return known[name]


@once_per_file
def _models_known(_source: Source) -> dict[str, bool]:
    return {}


def _is_model(source: Source, name: str) -> bool:
    kinds = source.kinds.of(name)
    if (
        name.startswith(("self.", "cls."))
        and name.count(".") == 1
        and name.partition(".")[2] in _methods(source)
    ):
        return False
    if sounds_like_model(name) and not source.names.is_function(name):
        return (not kinds or MODULE in kinds) and not _PART.search(name)
    made = [one.value for one in source.assignments.get(name, ()) if isinstance(one.value, ast.Call)]
    return any(last_name(value) in source.module_classes for value in made) and not _PART.search(
        name + " ".join(last_name(value) for value in made)
    )


def is_layer(source: Source, call: ast.Call) -> bool:
    """`self.head(x)` in a module, where `head` is not one of its methods."""
    owner = source.class_of(call)
    return (
        owner is not None
        and owner.name in source.module_classes
        and dotted(receiver(call)) == "self"
        and dotted(call.func) in source.assignments
    )


def is_learned_layer(source: Source, call: ast.Call) -> bool:
    """A layer of a module that is called, and is no loss, metric or activation."""
    name = dotted(call.func)
    learned = MODULE in source.kinds.of(name) or PARTS.search(last_name(call)) is not None
    return learned and not _PART.search(name) and is_layer(source, call)


@once_per_file
def _methods(source: Source) -> frozenset[str]:
    """The names of the functions that stand in classes of this file."""
    return frozenset(one.name for one in source.functions if isinstance(source.parent(one), ast.ClassDef))


def conditions(source: Source, node: ast.AST, top: ast.AST) -> list[ast.AST]:
    """What decides, between `top` and this node, whether the node is executed at all."""
    found: list[ast.AST] = []
    for above in source.ancestors(node):
        if above is top:
            break
        if isinstance(above, (ast.If, ast.IfExp, ast.ExceptHandler, ast.Match, ast.BoolOp, *LOOPS)):
            found.append(above)
    return found


def names_in(source: Source, node: ast.AST) -> set[str]:
    """Every plain name below this node, and the node itself."""
    found = {one.id for one in source.within(node) if isinstance(one, ast.Name)}
    return found | ({node.id} if isinstance(node, ast.Name) else set())


def bound_in(source: Source, loop: ast.AST) -> set[str]:
    """The names ("x", "self.model") that something inside this loop binds, its own targets included."""
    found = {
        dotted(node)
        for node in source.within(loop, nested=False)
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Store)
    }
    return found - {""}


def one_cell(source: Source, *nodes: ast.AST) -> bool:
    """Whether these stand in one cell of a notebook: cells are run in any order, so only then is order known."""
    return len({source.cell_at(getattr(node, "lineno", 1))[0] for node in nodes}) == 1


def inside(source: Source, node: ast.AST, top: ast.AST) -> bool:
    return any(above is top for above in source.ancestors(node))


def owned_parameters(source: Source, node: ast.AST) -> list[str]:
    """`model` of `Adam(model.parameters())`: whose parameters an expression holds."""
    return [
        dotted(receiver(call))
        for call in source.within(node)
        if isinstance(call, ast.Call) and last_name(call) in {"parameters", "named_parameters"}
    ]
