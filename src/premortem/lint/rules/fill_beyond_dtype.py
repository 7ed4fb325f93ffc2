import ast
import math
from collections.abc import Iterator

from premortem.lint.patterns import pattern
from premortem.lint.rule import Card, Diagnostic, Facts, Fix, Rule, Severity, Source
from premortem.lint.tree import argument, constant, dotted, last_name, receiver
from premortem.lint.values import from_elsewhere

LARGEST_HALF = 65504.0
_FLOAT32 = frozenset(("torch.float32", "torch.float", "torch.float64", "torch.double"))
_FILLS = frozenset(("torch.masked_fill",))
# What a mask is laid over: the result of a product of matrices, most likely.
_SCORES = pattern(r"score|attn|attention|logit|energy|sim(?:ilarity)?$|affinity|dots?$|weights?$")
_FINFO_SCALE = 3.4e38
_ASSIGNED = pattern(rb"\]\s*=\s*(?:-|float\(|torch\.finfo)")
# Under autocast these give float16; the value that is filled is then too large for it.
_HALF_OPS = frozenset("matmul bmm mm einsum linear baddbmm addmm conv1d conv2d".split())
# These give float32 (autocast runs them there, or they make a new tensor of the default type).
_FULL_OPS = frozenset(
    "float double softmax log_softmax cdist norm dist cosine_similarity exp log pow sum mean cumsum cumprod zeros "
    "ones full empty rand randn arange eye tensor from_numpy tril triu layer_norm cross_entropy logsumexp long "
    "int bool argsort".split()
)


class FillBeyondDtype(Rule):
    """A mask is filled with a number that float16 cannot hold.

    ## Why it matters
    float16 ends at 65504. `masked_fill(mask, -1e9)` on a float16 tensor raises "value cannot be converted to type
    Half without overflow", also on the output of a matrix product under autocast. It works on the CPU and in float32,
    so it fails on the day mixed precision is switched on. `scores[mask == 0] = -1e9` does not even raise: it stores
    -inf, and a row that is masked as a whole comes out of the softmax as NaN.

    ## Usual causes
    -1e9 as "minus infinity", from code written for float32.

    ## What to do
    `torch.finfo(scores.dtype).min` is right for every type.

    ## When it stays silent
    When nothing in the project uses float16 (only a note when neither this file nor one that imports it does), on a
    receiver that is float32 by its last operation, and where autocast
    is switched off.
    """

    card = Card("PM502", "fill-beyond-dtype", "numerics-overflow", Severity.ERROR)

    def wants(self, data: bytes) -> bool:
        return b"masked_fill" in data or _ASSIGNED.search(data) is not None

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        yield from self._assigned(source, project)
        for call in source.calls_to("masked_fill", "masked_fill_"):
            function = source.names.all_in(call.func, _FILLS)
            shift = 1 if function else 0
            subject = argument(call, "input", 0) if function else receiver(call)
            value = argument(call, "value", 1 + shift)
            if subject is None or value is None or (from_elsewhere(source, call.func) and not function):
                continue
            number = _too_large(source, value)
            if number is None:
                continue
            proof = _evidence(source, subject)
            # A large positive number, or a whole one, can be an index or a distance: then float16 must be seen.
            weak = number > 0 or isinstance(constant(value), int)
            if proof < 0 or (weak and proof == 0) or _without_autocast(source, call):
                continue
            named = _SCORES.search(dotted(subject)) is not None and not _is_sum(source, subject)
            near = project.runs_with(source.path, "fp16")
            if not near and not project.fp16:
                continue
            yield self.report(
                source,
                call,
                f"{source.text(value)} does not fit into float16, which "
                + ("this code runs with: it raises there" if near else "this project uses elsewhere"),
                remedy="Use `torch.finfo(x.dtype).min`, which is right for every type.",
                fix=_fix(source, subject, value, number),
                severity=None
                if near and proof > 0
                else Severity.WARNING
                if near and named
                else Severity.INFO,
            )

    def _assigned(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        """`scores[mask == 0] = -1e10`: no error here, the number becomes infinite."""
        for statement in source.nodes(ast.Assign):
            target, value = statement.targets[0], statement.value
            if not isinstance(target, ast.Subscript) or len(statement.targets) != 1:
                continue
            number = _too_large(source, value)
            if number is None:
                continue
            if _evidence(source, target.value) <= 0 or _without_autocast(source, statement):
                continue
            if project.runs_with(source.path, "fp16"):
                yield self.report(
                    source,
                    statement,
                    f"{source.text(value)} does not fit into float16, which this code runs with: it silently becomes "
                    f"{'-' if number < 0 else ''}inf, and a row of nothing else gives NaN",
                    remedy="Use `torch.finfo(x.dtype).min`, which is right for every type.",
                    fix=_fix(source, target.value, value, number),
                    severity=Severity.WARNING,
                )


def _too_large(source: Source, value: ast.expr) -> float | None:
    """The number that an expression is, when it is finite and float16 cannot hold it."""
    number = _number(source, value)
    return number if number is not None and LARGEST_HALF < abs(number) < math.inf else None


def _number(source: Source, value: ast.expr, depth: int = 4) -> float | None:
    """The number an expression surely is: literals, `float("-1e9")`, powers, finfo of float32, constants."""
    plain = constant(value)
    if isinstance(plain, (int, float)) and not isinstance(plain, bool):
        return float(plain)
    if depth == 0:
        return None
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub):
        inner = _number(source, value.operand, depth - 1)
        return None if inner is None else -inner
    if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Pow, ast.Mult)):
        left, right = _number(source, value.left, depth - 1), _number(source, value.right, depth - 1)
        if left is None or right is None or abs(right) > 400:
            return None
        try:
            return float(left**right) if isinstance(value.op, ast.Pow) else left * right
        except (OverflowError, ZeroDivisionError):
            return None
    if isinstance(value, ast.Call) and last_name(value) == "float" and len(value.args) == 1:
        text = constant(value.args[0])
        try:
            return float(text) if isinstance(text, str) else _number(source, value.args[0], depth - 1)
        except ValueError:
            return None
    if (
        isinstance(value, ast.Attribute)
        and value.attr in {"min", "max"}
        and isinstance(value.value, ast.Call)
    ):
        info = value.value
        if source.names.all_in(info.func, {"torch.finfo"}):
            if source.names.all_in(argument(info, "type", 0), _FLOAT32):
                return -_FINFO_SCALE if value.attr == "min" else _FINFO_SCALE
        return None
    if isinstance(value, ast.Name):
        return _of_name(source, value, depth)
    return None


def _of_name(source: Source, value: ast.Name, depth: int) -> float | None:
    found = source.flow(source.scope(value)).definitions(value)
    values: list[ast.expr | None] = [*source.assigned_at(value)]
    if not found:
        values = [one.value for one in source.assigned_in(value.id, source.tree)]
    numbers = {_number(source, one, depth - 1) for one in values if one is not None}
    return numbers.pop() if len(numbers) == 1 else None


def _evidence(source: Source, subject: ast.expr, depth: int = 5) -> int:
    """1: this is float16 under autocast; -1: it surely is not; 0: the code does not show it."""
    if depth == 0:
        return 0
    if isinstance(subject, ast.BinOp):
        if isinstance(subject.op, ast.MatMult):
            return 1
        if isinstance(subject.op, (ast.Div, ast.Mult)):
            return _evidence(source, subject.left, depth - 1)
        # A sum is float32 as soon as one side is.
        sides = {_evidence(source, one, depth - 1) for one in (subject.left, subject.right)}
        return sides.pop() if len(sides) == 1 else -1 if -1 in sides else 0
    if isinstance(subject, ast.Compare):
        return -1
    if isinstance(subject, ast.Call):
        return _of_call(source, subject, depth)
    if isinstance(subject, (ast.Name, ast.Attribute)):
        if "mask" in dotted(subject):
            return -1  # a mask that is made additive: its type is its own
        found = source.flow(source.scope(subject)).definitions(subject)
        proofs = {
            _evidence(source, one.value, depth - 1)
            for one in found
            if one.how == "assign" and one.value is not None and one.value is not subject
        }
        if -1 in proofs:
            return -1
        return 1 if proofs == {1} else 0
    return 0


def _is_sum(source: Source, subject: ast.expr) -> bool:
    """Whether it was last computed by adding something whose type is not known."""
    return any(isinstance(one, ast.BinOp) for one in source.flow(source.scope(subject)).origins(subject))


def _of_call(source: Source, call: ast.Call, depth: int) -> int:
    name = last_name(call)
    dtype = argument(call, "dtype")
    if any(source.names.any_in(one, _FLOAT32) for one in (*call.args, dtype) if one is not None):
        return -1
    if name in _HALF_OPS:
        return 1
    if name in _FULL_OPS:
        # `torch.zeros(..., dtype=x.dtype)` follows x.
        return 0 if dtype is not None and not _is_integer(source, dtype) else -1
    if isinstance(call.func, ast.Attribute) and dotted(call.func.value) != "self":
        return _evidence(source, call.func.value, depth - 1)  # a method keeps the type of its tensor
    return 0


def _is_integer(source: Source, dtype: ast.expr) -> bool:
    return source.names.any_in(dtype, {"torch.long", "torch.int64", "torch.int", "torch.int32", "torch.bool"})


def _without_autocast(source: Source, node: ast.AST) -> bool:
    return any(
        constant(argument(one, "enabled")) is False
        or source.names.any_in(argument(one, "cast_inputs"), _FLOAT32)
        for one in source.contexts(node)
        if isinstance(one, ast.Call)
    )


def _fix(source: Source, subject: ast.expr, value: ast.expr, number: float) -> Fix | None:
    name = dotted(subject)
    torch = ast.Name("torch", ast.Load())
    if not name or source.names.of(torch) != {"torch"}:
        return None
    return Fix((source.replace(value, f"torch.finfo({name}.dtype).{'min' if number < 0 else 'max'}"),))
