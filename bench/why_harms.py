"""Mistakes that do harm and break no rule: a value that is wrong by far, in a loop that is right. Only an experiment finds them.

Planted as those of `wild/mistakes.py` are, by editing the tree of a source; each says where it applies.
"""

import ast
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent / "wild"))
from mistakes import (
    ENTROPIES,
    OTHER_LOSSES,
    Edit,
    Mistake,
    around,
    built,
    calls,
    inserted,
    is_optimizer,
    losses,
    mistake,
    optimizer_names,
    planted,
    with_keyword,
)

__all__ = ["HARMS", "OTHER_LOSS", "planted"]

HARMS: list[Mistake] = []
harm = partial(mistake, into=HARMS)
# Of these the loss is another one than before, so it does not say how much was lost.
OTHER_LOSS = frozenset(
    "scores-too-large scores-too-small one-term-too-heavy relu-before-the-loss labels-half-wrong".split()
)


def _expression(code: str) -> ast.expr:
    return ast.parse(code, mode="eval").body


def _rate(tree: ast.Module, factor: float) -> Iterator[Edit]:
    for call in built(tree):
        for word in call.keywords:
            if word.arg == "lr":

                def edit(word: ast.keyword = word) -> None:
                    if isinstance(word.value, ast.Constant):
                        word.value = ast.Constant(word.value.value * factor)  # type: ignore[operator]
                    else:
                        word.value = _expression(f"({ast.unparse(word.value)}) * {factor!r}")

                yield edit


@harm("lr")
def rate_too_low(tree: ast.Module) -> Iterator[Edit]:
    yield from _rate(tree, 0.02)


@harm("lr", "exploding", "init-saturation")
def rate_too_high(tree: ast.Module) -> Iterator[Edit]:
    yield from _rate(tree, 30.0)


@harm("weight-decay")
def decay_too_strong(tree: ast.Module) -> Iterator[Edit]:
    for call in built(tree):
        # AdamW's is a part of the rate, the others' a part of the gradient.
        yield with_keyword(call, "weight_decay", 20.0 if "AdamW" in ast.unparse(call.func) else 0.2)


@harm("config", "lr")
def epsilon_of_one(tree: ast.Module) -> Iterator[Edit]:
    yield from (with_keyword(call, "eps", 1.0) for call in built(tree) if "Adam" in ast.unparse(call.func))


@harm("config", "lr", "exploding")
def momentum_too_high(tree: ast.Module) -> Iterator[Edit]:
    for call in built(tree):
        if "SGD" in ast.unparse(call.func):
            yield with_keyword(call, "momentum", 0.998)


@harm("lr", "accumulation", "loss-definition")
def loss_divided_again(tree: ast.Module) -> Iterator[Edit]:
    """As by a number of micro-batches that are not there."""
    for _, _, call in calls(tree, "backward"):

        def edit(call: ast.Call = call) -> None:
            call.func.value = _expression(f"({ast.unparse(call.func.value)}) / 64")  # type: ignore[attr-defined]

        yield edit


@harm("clipping")
def clipping_that_costs(tree: ast.Module) -> Iterator[Edit]:
    for block, place, call in calls(tree, "step"):
        if is_optimizer(call):
            name = ast.unparse(call.func.value)  # type: ignore[attr-defined]
            given = f"[p for g in {name}.param_groups for p in g['params']]"
            yield inserted(block, place, f"__import__('torch').nn.utils.clip_grad_norm_({given}, 0.003)")


@harm("scheduler", "lr")
def schedule_ends_early(tree: ast.Module) -> Iterator[Edit]:
    if "scheduler" in ast.unparse(tree).lower():
        return
    steps = [each for each in calls(tree, "step") if is_optimizer(each[2])]
    for block, place, name in optimizer_names(tree):
        inner = [each for each in steps if ast.unparse(each[2].func.value) == name]  # type: ignore[attr-defined]
        if len(inner) == 1:
            yield partial(_decline, block, block[place], name, inner[0][0], inner[0][1])


def _decline(block: list[ast.stmt], own: ast.stmt, name: str, inner: list[ast.stmt], at: int) -> None:
    inserted(inner, at + 1, f"{name}.decline.step()")()
    rate = f"__import__('torch').optim.lr_scheduler.ExponentialLR({name}, 0.9)"
    inserted(block, block.index(own) + 1, f"{name}.decline = {rate}")()


def _weights(tree: ast.Module, code: str) -> Iterator[Edit]:
    for block, place, name in optimizer_names(tree):
        every = f"for w in [p for g in {name}.param_groups for p in g['params']]:\n"
        yield inserted(block, place + 1, f"{every}    if w.dim() > 1:\n        {code}")


@harm("init-saturation", "vanishing", "exploding")
def weights_too_large(tree: ast.Module) -> Iterator[Edit]:
    yield from _weights(tree, "w.data.mul_(6.0)")


@harm("init-saturation", "vanishing")
def weights_too_small(tree: ast.Module) -> Iterator[Edit]:
    yield from _weights(tree, "w.data.mul_(0.01)")


@harm("grad-flow", "config")
def part_left_frozen(tree: ast.Module) -> Iterator[Edit]:
    for block, place, name in optimizer_names(tree):
        part = f"[p for g in {name}.param_groups for p in g['params']][:-2]"
        yield inserted(block, place + 1, f"for w in {part}:\n    w.requires_grad = False")


def _scores(tree: ast.Module, code: str) -> Iterator[Edit]:
    text = ast.unparse(tree)
    if any(word in text for word in ENTROPIES) and not any(word in text for word in OTHER_LOSSES):
        yield from (around(call, 0, code) for call in losses(tree))


@harm("loss-definition")
def scores_too_large(tree: ast.Module) -> Iterator[Edit]:
    yield from _scores(tree, "({}) * 100")


@harm("loss-definition")
def scores_too_small(tree: ast.Module) -> Iterator[Edit]:
    yield from _scores(tree, "({}) / 100")


@harm("loss-definition", "grad-flow")
def relu_before_the_loss(tree: ast.Module) -> Iterator[Edit]:
    yield from (around(call, 0, "({}).relu()") for call in losses(tree))


@harm("data-labels")
def labels_half_wrong(tree: ast.Module) -> Iterator[Edit]:
    torch = "__import__('torch')"
    mixed = f"(lambda y: {torch}.where(({torch}.arange(len(y)) % 2 == 0).view(-1, *[1] * (y.dim() - 1)), y, y.roll(1, 0)))({{}})"
    yield from (around(call, 1, mixed) for call in losses(tree))


@harm("loss-definition")
def one_term_too_heavy(tree: ast.Module) -> Iterator[Edit]:
    for node in ast.walk(tree):
        sums = isinstance(node, (ast.Assign, ast.Return)) and isinstance(node.value, ast.BinOp)
        if not sums or not isinstance(node.value.op, ast.Add):  # type: ignore[union-attr]
            continue
        text = ast.unparse(node).lower()
        if "loss" in text or "kl" in text:

            def edit(added: ast.BinOp = node.value) -> None:  # type: ignore[assignment]
                added.right = _expression(f"500 * ({ast.unparse(added.right)})")

            yield edit


def _everywhere(tree: ast.Module, wanted: dict[str, str]) -> Iterator[Edit]:
    """One name for another at all places at once."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr in wanted]
    if found:

        def edit() -> None:
            for node in found:
                node.attr = wanted[node.attr]

        yield edit


@harm("vanishing", "init-saturation", "grad-flow")
def sigmoid_in_every_layer(tree: ast.Module) -> Iterator[Edit]:
    yield from _everywhere(
        tree, {"ReLU": "Sigmoid", "GELU": "Sigmoid", "relu": "sigmoid", "gelu": "sigmoid", "SiLU": "Sigmoid"}
    )


@harm("config", "vanishing", "eval-mode")
def dropout_too_high(tree: ast.Module) -> Iterator[Edit]:
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in {"ReLU", "Dropout", "GELU"}
    ]
    for node in found:

        def edit(node: ast.Call = node) -> None:
            nn = ast.unparse(node.func.value)  # type: ignore[attr-defined]
            if node.func.attr == "Dropout":  # type: ignore[attr-defined]
                node.args, node.keywords = [ast.Constant(0.9)], []
            else:
                activation = ast.unparse(node)
                new = _expression(f"{nn}.Sequential({activation}, {nn}.Dropout(0.9))")
                node.func, node.args, node.keywords = new.func, new.args, []  # type: ignore[attr-defined]

        yield edit


def _samples(tree: ast.Module, code: Callable[[str], str]) -> Iterator[Edit]:
    """What a dataset hands out first: the input."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == "__getitem__":
            for inner in ast.walk(node):
                if isinstance(inner, ast.Return) and isinstance(inner.value, ast.Tuple):

                    def edit(given: ast.Tuple = inner.value) -> None:
                        given.elts[0] = _expression(code(ast.unparse(given.elts[0])))

                    yield edit
        if (
            isinstance(node, ast.Call)
            and getattr(node.func, "attr", getattr(node.func, "id", "")) == "TensorDataset"
        ):
            if node.args and not isinstance(node.args[0], ast.Starred):
                yield around(node, 0, code("{}"))


@harm("data-scale")
def inputs_far_from_normal(tree: ast.Module) -> Iterator[Edit]:
    yield from _samples(tree, lambda given: f"({given}) * 40 + 200")


@harm("data-scale")
def inputs_nearly_nothing(tree: ast.Module) -> Iterator[Edit]:
    yield from _samples(tree, lambda given: f"({given}) / 255 / 2")


@harm("data-augment")
def augmented_beyond_recognition(tree: ast.Module) -> Iterator[Edit]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == "__getitem__":
            yield from _samples(
                node,  # type: ignore[arg-type]
                lambda given: (
                    f"(lambda x: x + 6 * x.std() * __import__('torch').randn(x.shape).numpy().astype(x.dtype) "
                    f"if hasattr(x, 'astype') else x + 6 * x.std() * __import__('torch').randn(x.shape))({given})"
                ),
            )
