"""Mistakes as a person makes them, planted into a source by editing its tree; each says where it applies."""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

Edit = Callable[[], None]  # changes the tree that it was found in
OPTIMIZERS = frozenset("SGD Adam AdamW RMSprop Adagrad Adadelta".split())
ENTROPIES = frozenset(("cross_entropy", "CrossEntropyLoss"))
OTHER_LOSSES = frozenset(
    "MSELoss mse_loss L1Loss l1_loss NLLLoss nll_loss BCE binary_cross_entropy KLDiv".split()
)


@dataclass(frozen=True)
class Mistake:
    name: str
    families: frozenset[str]  # that name this cause
    places: Callable[[ast.Module], Iterator[Edit]]


MISTAKES: list[Mistake] = []


def mistake(
    *families: str, into: list[Mistake] = MISTAKES
) -> Callable[[Callable[[ast.Module], Iterator[Edit]]], None]:
    def kept(places: Callable[[ast.Module], Iterator[Edit]]) -> None:
        into.append(Mistake(places.__name__.replace("_", "-"), frozenset(families), places))

    return kept


def blocks(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                yield block


def calls(tree: ast.AST, method: str) -> Iterator[tuple[list[ast.stmt], int, ast.Call]]:
    """Statements that are `something.method(...)` and nothing more, with the block they stand in."""
    for block in blocks(tree):
        for place, statement in enumerate(block):
            call = statement.value if isinstance(statement, ast.Expr) else None
            if (
                isinstance(call, ast.Call)
                and isinstance(call.func, ast.Attribute)
                and call.func.attr == method
            ):
                yield block, place, call


def is_optimizer(call: ast.Call) -> bool:
    word = ast.unparse(call.func.value).lower()  # type: ignore[attr-defined]
    return any(part in word for part in ("opt", "solver")) and "sched" not in word


def removed(block: list[ast.stmt], place: int) -> Edit:
    def edit() -> None:
        block[place] = ast.Pass()

    return edit


def inserted(block: list[ast.stmt], place: int, code: str) -> Edit:
    return lambda: block.__setitem__(slice(place, place), ast.parse(code).body)


def built(tree: ast.AST) -> Iterator[ast.Call]:
    """Where optimizers are built."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and getattr(node.func, "attr", getattr(node.func, "id", "")) in OPTIMIZERS
        ):
            yield node


def with_keyword(call: ast.Call, name: str, value: float | bool) -> Edit:
    def edit() -> None:
        call.keywords = [one for one in call.keywords if one.arg != name]
        if name == "lr" and len(call.args) > 1:
            del call.args[1]
        call.keywords.append(ast.keyword(name, ast.Constant(value)))

    return edit


@mistake("update-order", "accumulation")
def no_zero_grad(tree: ast.Module) -> Iterator[Edit]:
    yield from (removed(block, place) for block, place, _ in calls(tree, "zero_grad"))


@mistake("update-order", "optimizer-ownership")
def no_step(tree: ast.Module) -> Iterator[Edit]:
    yield from (removed(block, place) for block, place, call in calls(tree, "step") if is_optimizer(call))


@mistake("update-order", "grad-flow")
def no_backward(tree: ast.Module) -> Iterator[Edit]:
    yield from (removed(block, place) for block, place, _ in calls(tree, "backward"))


@mistake("update-order")
def cleared_before_step(tree: ast.Module) -> Iterator[Edit]:
    for block, place, call in calls(tree, "step"):
        if is_optimizer(call):
            yield inserted(block, place, f"{ast.unparse(call.func.value)}.zero_grad()")  # type: ignore[attr-defined]


@mistake("update-order", "optimizer-ownership")
def step_twice(tree: ast.Module) -> Iterator[Edit]:
    for block, place, call in calls(tree, "step"):
        if is_optimizer(call) and not call.args:
            yield inserted(block, place, ast.unparse(call))


@mistake("eval-mode")
def no_eval(tree: ast.Module) -> Iterator[Edit]:
    yield from (removed(block, place) for block, place, _ in calls(tree, "eval"))


@mistake("eval-mode")
def no_train(tree: ast.Module) -> Iterator[Edit]:
    if any(calls(tree, "eval")):
        yield from (removed(block, place) for block, place, call in calls(tree, "train") if not call.args)


@mistake("loss-definition")
def sign_of_the_loss(tree: ast.Module) -> Iterator[Edit]:
    for _, _, call in calls(tree, "backward"):

        def edit(call: ast.Call = call) -> None:
            call.func.value = ast.UnaryOp(ast.USub(), call.func.value)  # type: ignore[attr-defined]

        yield edit


@mistake("loss-definition")
def maximised(tree: ast.Module) -> Iterator[Edit]:
    yield from (with_keyword(call, "maximize", True) for call in built(tree))


@mistake("lr", "exploding", "numerics-nan", "numerics-overflow")
def rate_far_too_high(tree: ast.Module) -> Iterator[Edit]:
    yield from (with_keyword(call, "lr", 1000.0) for call in built(tree))


@mistake("lr")
def rate_zero(tree: ast.Module) -> Iterator[Edit]:
    yield from (with_keyword(call, "lr", 0.0) for call in built(tree))


@mistake("lr")
def rate_far_too_low(tree: ast.Module) -> Iterator[Edit]:
    yield from (with_keyword(call, "lr", 1e-12) for call in built(tree))


@mistake("weight-decay", "exploding")
def decay_of_everything(tree: ast.Module) -> Iterator[Edit]:
    yield from (with_keyword(call, "weight_decay", 30.0) for call in built(tree))


@mistake("optimizer-ownership")
def half_the_parameters(tree: ast.Module) -> Iterator[Edit]:
    for call in built(tree):
        if call.args and "parameters()" in ast.unparse(call.args[0]):

            def edit(call: ast.Call = call) -> None:
                given = f"list({ast.unparse(call.args[0])})"
                call.args[0] = ast.parse(f"{given}[: max(1, len({given}) // 2)]", mode="eval").body

            yield edit


@mistake("grad-flow")
def loss_detached(tree: ast.Module) -> Iterator[Edit]:
    for _, _, call in calls(tree, "backward"):

        def edit(call: ast.Call = call) -> None:
            value = ast.unparse(call.func.value)  # type: ignore[attr-defined]
            call.func.value = ast.parse(f"({value}).detach().requires_grad_()", mode="eval").body  # type: ignore[attr-defined]

        yield edit


def losses(tree: ast.AST) -> Iterator[ast.Call]:
    """Calls of two values whose result goes backward, as far as the names say it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and len(node.value.args) >= 2:
            starred = any(isinstance(each, ast.Starred) for each in node.value.args)
            if "loss" in ast.unparse(node.targets[0]).lower() and not starred:
                yield node.value


def around(call: ast.Call, place: int, code: str) -> Edit:
    def edit() -> None:
        call.args[place] = ast.parse(code.format(ast.unparse(call.args[place])), mode="eval").body

    return edit


@mistake("loss-definition")
def softmax_before_the_loss(tree: ast.Module) -> Iterator[Edit]:
    text = ast.unparse(tree)
    if any(word in text for word in ENTROPIES) and not any(word in text for word in OTHER_LOSSES):
        yield from (around(call, 0, "({}).softmax(1)") for call in losses(tree))


@mistake("data-labels")
def labels_shuffled(tree: ast.Module) -> Iterator[Edit]:
    # In another order, and without a draw from a generator, which would change the run where all labels are alike too.
    yield from (around(call, 1, "({}).flip(0)") for call in losses(tree))


@mistake("data-labels")
def labels_all_the_same(tree: ast.Module) -> Iterator[Edit]:
    yield from (around(call, 1, "({0}) * 0") for call in losses(tree))


@mistake("numerics-nan", "numerics-overflow")
def logarithm_of_nothing(tree: ast.Module) -> Iterator[Edit]:
    for _, _, call in calls(tree, "backward"):

        def edit(call: ast.Call = call) -> None:
            value = ast.unparse(call.func.value)  # type: ignore[attr-defined]
            call.func.value = ast.parse(f"({value} + (({value}) * 0).log())", mode="eval").body  # type: ignore[attr-defined]

        yield edit


@mistake("memory-leak")
def total_of_graphs(tree: ast.Module) -> Iterator[Edit]:
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.AugAssign)
            and isinstance(node.op, ast.Add)
            and isinstance(node.value, ast.Call)
        ):
            if isinstance(node.value.func, ast.Attribute) and node.value.func.attr == "item":

                def edit(node: ast.AugAssign = node) -> None:
                    node.value = node.value.func.value  # type: ignore[attr-defined]

                yield edit


def trained(tree: ast.AST) -> Iterator[ast.For]:
    """Innermost loops with a backward pass."""
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.For) and any(calls(node, "backward"))]
    for loop in loops:
        if not any(other is not loop and other in ast.walk(loop) for other in loops):
            yield loop


@mistake("data-order", "data-augment")
def seeded_in_the_loop(tree: ast.Module) -> Iterator[Edit]:
    yield from (inserted(loop.body, 0, "__import__('torch').manual_seed(0)") for loop in trained(tree))


@mistake("data-order")
def one_batch_for_ever(tree: ast.Module) -> Iterator[Edit]:
    for loop in trained(tree):
        over = loop.iter
        inner = over.args[0] if isinstance(over, ast.Call) and ast.unparse(over.func) == "enumerate" else over
        if "load" in ast.unparse(inner).lower() and not isinstance(inner, ast.Call):

            def edit(loop: ast.For = loop, inner: ast.expr = inner) -> None:
                name = ast.unparse(inner)
                first = "__first_batch"
                same = ast.parse(
                    f"(lambda {first}: [{first}] * len({name}))(next(iter({name})))", mode="eval"
                ).body
                if inner is loop.iter:
                    loop.iter = same
                else:
                    loop.iter.args[0] = same  # type: ignore[attr-defined]

            yield edit


def optimizer_names(tree: ast.AST) -> Iterator[tuple[list[ast.stmt], int, str]]:
    for block in blocks(tree):
        for place, statement in enumerate(block):
            if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
                if any(call is statement.value for call in built(statement)):
                    yield block, place, ast.unparse(statement.targets[0])


@mistake("init-saturation", "vanishing", "grad-flow")
def all_weights_zero(tree: ast.Module) -> Iterator[Edit]:
    for block, place, name in optimizer_names(tree):
        code = f"for __p in {name}.param_groups[0]['params']:\n    __p.data.zero_()"
        yield inserted(block, place + 1, code)


@mistake("grad-flow", "config")
def left_frozen(tree: ast.Module) -> Iterator[Edit]:
    for block, place, name in optimizer_names(tree):
        code = f"for __p in {name}.param_groups[0]['params'][:-2]:\n    __p.requires_grad = False"
        yield inserted(block, place + 1, code)


@mistake("clipping")
def clipped_to_nothing(tree: ast.Module) -> Iterator[Edit]:
    for block, place, call in calls(tree, "step"):
        if is_optimizer(call):
            name = ast.unparse(call.func.value)  # type: ignore[attr-defined]
            given = f"[p for g in {name}.param_groups for p in g['params']]"
            yield inserted(block, place, f"__import__('torch').nn.utils.clip_grad_norm_({given}, 1e-9)")


@mistake("eval-mode")
def trained_in_eval_mode(tree: ast.Module) -> Iterator[Edit]:
    for block, place, call in calls(tree, "train"):
        if not call.args:

            def edit(block: list[ast.stmt] = block, place: int = place, call: ast.Call = call) -> None:
                other = copy.deepcopy(call)
                other.func.attr = "eval"  # type: ignore[attr-defined]
                block[place] = ast.Expr(other)

            yield edit


@mistake("vanishing", "eval-mode")
def dropout_of_nearly_all(tree: ast.Module) -> Iterator[Edit]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "Dropout":

            def edit(node: ast.Call = node) -> None:
                node.args, node.keywords = [ast.Constant(0.995)], []

            yield edit


def planted(text: str, mistake_: Mistake, seed: str, turn: int = 0) -> str:
    """The source with this mistake at one of the places where it applies, at another one in each turn; "" when there is none
    that is new."""
    tree = ast.parse(text)
    edits = list(mistake_.places(tree))
    if turn >= len(edits):
        return ""
    random.Random(f"{seed} {mistake_.name}").sample(edits, len(edits))[turn]()
    return ast.unparse(ast.fix_missing_locations(tree))
