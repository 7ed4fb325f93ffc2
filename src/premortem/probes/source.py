"""What the user's source says about a line, where only the source can say it."""

import ast
import functools
import linecache
import textwrap
from collections.abc import Sequence

from premortem.events import Site
from premortem.files.syntax import last_name


def under_modulo(at: Site | None) -> bool:
    """Whether this line runs only every so many times: it stands under an `if` that asks for a remainder.

    Summing gradients over a batch loop and stepping every k-th time looks the same as summing over the
    tasks of one step; only this tells them apart.
    """
    return at is not None and at.line in _gated_lines(at.file)


_PARTS = (
    "accum",
    "micro",
    "grad_acc",
    "acc_step",
    "acc_iter",
)  # in names of loops over the parts of one step


def over_micro_batches(at: Site | None) -> bool:
    """Whether this line stands in a loop that says it runs over the micro-batches of a step: `for _ in range(accum_steps)`."""
    return at is not None and at.line in _micro_batch_lines(at.file)


@functools.lru_cache(maxsize=64)
def _micro_batch_lines(file: str) -> frozenset[int]:
    found: set[int] = set()
    if not any(word in text_of(file).lower() for word in _PARTS):
        return frozenset()
    for node in ast.walk(tree_of(file)):
        if isinstance(node, ast.For):
            loops = [each for each in ast.walk(node) if isinstance(each, ast.For) and each is not node]
            inner = {line for each in loops for line in _lines(each.body)}
            header = f"{ast.unparse(node.target)} {ast.unparse(node.iter)}".lower()
            if any(word in header for word in _PARTS):
                found |= _lines(node.body) - inner
    return frozenset(found)


def line_assigning(key: str, near: Site | None) -> Site | None:
    """The line `group["lr"] = ...` of this file, where there is only one."""
    if near is None:
        return None
    targets = [
        target
        for node in ast.walk(tree_of(near.file))
        if isinstance(node, (ast.Assign, ast.AugAssign))
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
    ]
    lines = {
        target.lineno
        for target in targets
        if isinstance(target, ast.Subscript)
        and isinstance(target.slice, ast.Constant)
        and target.slice.value == key
    }
    return Site(near.file, lines.pop(), near.function) if len(lines) == 1 else None


def line_of_one_group(files: Sequence[str]) -> tuple[Site, int] | None:
    """The first line that writes the rate of a parameter group by its number, and that number; None where a line of these files writes
    a rate in any other way, or has the number of another group."""
    written: list[Site] = []
    numbers: set[object] = set()
    for file in files:
        text = text_of(file)
        if "lr" not in text and "param_groups" not in text:
            continue
        for node in ast.walk(tree_of(file)):
            if isinstance(node, ast.Subscript) and last_name(node.value) == "param_groups":
                numbers.add(_number(node.slice))
            elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and _is_lr(node.slice):
                if not (isinstance(node.value, ast.Subscript) and _are_groups(node.value.value)):
                    return None
                written.append(Site(file, node.lineno))
            elif isinstance(node, ast.Call) and last_name(node) in ("update", "setattr"):
                given = [each for each in node.args if isinstance(each, ast.Dict)]
                if any(each.arg == "lr" for each in node.keywords) or any(
                    key is not None and _is_lr(key) for each in given for key in each.keys
                ):
                    return None
            elif isinstance(node, (ast.Assign, ast.NamedExpr)) and _are_groups(node.value):
                return None  # it goes by another name from here on
    number = numbers.pop() if len(numbers) == 1 else None
    return (written[0], number) if written and isinstance(number, int) else None


def _are_groups(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "param_groups"


def _is_lr(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == "lr"


def _number(node: ast.expr) -> object:
    """0 of `groups[0]`, -1 of `groups[-1]`; None of any other index."""
    if (
        isinstance(node, ast.UnaryOp)
        and isinstance(node.op, ast.USub)
        and isinstance(node.operand, ast.Constant)
    ):
        node = ast.Constant(-node.operand.value) if isinstance(node.operand.value, int) else node
    return node.value if isinstance(node, ast.Constant) else None


def lines_calling(op: str, file: str) -> tuple[int, ...]:
    """The lines that do this to a tensor with a graph: `torch.log(x)`, `x.log()`, `a / b`, and not under `no_grad`."""
    text = text_of(file)
    if (
        op not in text and _SIGNS.get(op, op) not in text
    ):  # most files of a project need not be parsed for this
        return ()
    return _calls(file).get(op, ())


_LARGEST = 1 << 20  # characters of source
_OPERATORS = {ast.Div: "div", ast.Pow: "pow"}
_SIGNS = {"div": "/", "pow": "**"}
_NO_GRAPHS = frozenset({"no_grad", "inference_mode"})
_NOT_TENSORS = frozenset({"math", "np", "numpy", "cmath", "statistics"})


def text_of(file: str) -> str:
    return "".join(linecache.getlines(file))


@functools.lru_cache(maxsize=64)
def tree_of(file: str) -> ast.Module:
    """The source of this file or cell; empty where there is none that can be parsed."""
    text = text_of(file)
    try:
        return ast.parse(textwrap.dedent(text) if len(text) < _LARGEST else "")
    except (SyntaxError, ValueError):
        return ast.Module([], [])


@functools.lru_cache(maxsize=1000)  # small, unlike the trees: the files of a large project
def _calls(file: str) -> dict[str, tuple[int, ...]]:
    found: dict[str, list[int]] = {}
    tree = tree_of(file)
    for node in ast.walk(tree):
        if isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in _OPERATORS:
            found.setdefault(_OPERATORS[type(node.op)], []).append(node.lineno)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = node.func.value
            if not (isinstance(owner, ast.Name) and owner.id in _NOT_TENSORS):
                line = node.func.end_lineno or node.lineno  # in a chain over several lines, its own
                found.setdefault(node.func.attr.rstrip("_"), []).append(line)
    bare = _without_graphs(tree)
    return {op: tuple(sorted(set(lines) - bare)) for op, lines in found.items()}


def _without_graphs(tree: ast.AST) -> set[int]:
    """Lines under `with torch.no_grad()` and its like, and of functions that are decorated with it."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.With, ast.AsyncWith)):
            asked = [item.context_expr for item in node.items]
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            asked = node.decorator_list
        else:
            continue
        if any(last_name(each) in _NO_GRAPHS for each in asked):
            found |= _lines(node.body)
    return found


@functools.lru_cache(maxsize=64)
def _gated_lines(file: str) -> frozenset[int]:
    if "%" not in text_of(file):  # most scripts need not be parsed for this
        return frozenset()
    nodes = list(ast.walk(tree_of(file)))
    # `last = (i + 1) % k == 0` and later `if last:` is the same question.
    remainders = {
        target.id
        for node in nodes
        if isinstance(node, ast.Assign) and _has_remainder(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    gated: set[int] = set()
    for node in nodes:
        if not isinstance(node, ast.If):
            continue
        named = {name.id for name in ast.walk(node.test) if isinstance(name, ast.Name)}
        if _has_remainder(node.test) or named & remainders:
            gated |= _lines(node.body)
            if any(isinstance(part, ast.Continue) for part in node.body):
                gated |= _lines_after(nodes, node)
    return frozenset(gated)


def _has_remainder(test: ast.AST) -> bool:
    """`i % k`, but not the `"%d" % i` of a message."""
    return any(
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Mod)
        and not (isinstance(node.left, ast.Constant) and isinstance(node.left.value, str))
        for node in ast.walk(test)
    )


def _lines(body: list[ast.stmt]) -> set[int]:
    return {line for part in body for line in range(part.lineno, (part.end_lineno or part.lineno) + 1)}


def _lines_after(nodes: list[ast.AST], node: ast.If) -> set[int]:
    """`if i % k: continue` guards what follows it in the same loop."""
    for loop in nodes:
        if isinstance(loop, (ast.For, ast.While)) and node in loop.body:
            return _lines(loop.body[loop.body.index(node) + 1 :])
    return set()
