import ast
from collections.abc import Iterator

from premortem.lint.flow import Flow
from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.tree import argument, constant, last_name, receiver

_LAST_TO_SECOND = (0, 3, 1, 2)


class Dinov2Permute(Rule):
    """Features that are already (batch, channels, height, width) are permuted as if the channels came last.

    ## Why it matters
    `get_intermediate_layers(..., reshape=True)` returns channels first. `permute(0, 3, 1, 2)` then gives
    (batch, width, channels, height): the next convolution raises, or, where channels and height happen to be equal,
    silently works on the wrong axes.

    ## Usual causes
    Code for tokens that were reshaped to (batch, height, width, channels) by hand, where the permute is right.

    ## What to do
    Leave the permute out.

    ## When it stays silent
    Unless the value surely comes from that call with `reshape=True`.
    """

    card = Card("PM510", "dinov2-permute", "shape", Severity.ERROR)
    triggers = (b"get_intermediate_layers",)

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        for call in source.calls_to("permute"):
            if source.names.all_in(call.func, {"torch.permute"}):
                subject = argument(call, "input", 0)
                order = argument(call, "dims", 1)
                dims = order.elts if isinstance(order, (ast.Tuple, ast.List)) else []
            else:
                subject = receiver(call)
                first = call.args[0] if call.args else None
                dims = first.elts if isinstance(first, (ast.Tuple, ast.List)) else call.args
            if subject is None or tuple(constant(one) for one in dims) != _LAST_TO_SECOND:
                continue
            if _comes_reshaped(source, source.flow(source.scope(call)), subject, 6):
                yield self.report(
                    source,
                    call,
                    "`get_intermediate_layers(reshape=True)` already returns channels first: this permute moves them away",
                    remedy="Leave the permute out.",
                )


def _comes_reshaped(source: Source, flow: Flow, value: ast.expr, depth: int) -> bool:
    """Whether every way to this value leads back to the call, through indexing, unpacking and loops alone."""
    if depth == 0:
        return False
    if isinstance(value, ast.Subscript):
        return _comes_reshaped(source, flow, value.value, depth - 1)
    if isinstance(value, ast.Call):
        if last_name(value) in {"enumerate", "list", "reversed", "tuple"} and value.args:
            return _comes_reshaped(source, flow, value.args[0], depth - 1)
        return (
            last_name(value) == "get_intermediate_layers"
            and constant(argument(value, "reshape", 2)) is True
            and constant(argument(value, "output_fmt")) in {None, "NCHW"}
        )
    if not isinstance(value, ast.Name):
        return False
    for above in source.ancestors(value):
        if isinstance(above, (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)):
            for part in above.generators:
                if any(isinstance(one, ast.Name) and one.id == value.id for one in ast.walk(part.target)):
                    return _comes_reshaped(source, flow, part.iter, depth - 1)
    found = flow.definitions(value)
    return bool(found) and all(
        one.how in {"assign", "unpack", "for"}
        and one.value is not None
        and one.value is not value
        and _comes_reshaped(source, flow, one.value, depth - 1)
        for one in found
    )
