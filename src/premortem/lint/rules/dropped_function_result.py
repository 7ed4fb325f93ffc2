import ast
from collections.abc import Iterator

from premortem.lint.rule import Card, Diagnostic, Facts, Fix, Rule, Severity, Source
from premortem.lint.rules.dropped_tensor_result import DroppedTensorResult
from premortem.lint.training import is_test
from premortem.lint.tree import dotted

# Functions that leave what they are given as it was.
PURE = frozenset(
    f"{module}.{name}"
    for module, names in {
        "torch": "clamp clip nan_to_num abs exp log sqrt round floor ceil relu sigmoid tanh softmax log_softmax squeeze "
        "unsqueeze permute transpose reshape flatten where cat stack masked_fill flip roll cumsum sort matmul bmm",
        "torch.nn.functional": "relu gelu silu sigmoid tanh softmax log_softmax normalize dropout pad interpolate "
        "one_hot layer_norm",
    }.items()
    for name in names.split()
)


class DroppedFunctionResult(Rule):
    """A function of torch that returns a new tensor is called, and the new tensor is thrown away.

    ## Why it matters
    `torch.clamp(x, 0, 1)` leaves `x` as it was. The line does nothing, and what it should have prevented happens.

    ## Usual causes
    - the underscore of the in-place form is missing: `torch.clamp_`
    - the function is taken for one that changes its argument

    ## What to do
    Assign the result: `x = torch.clamp(x, 0, 1)`.

    ## When it stays silent
    With `out=` or `inplace=`, where a call is only tried or timed, in tests, and where a notebook shows the result.
    """

    card = Card("PM556", "dropped-function-result", "environment", Severity.ERROR, preview=True)
    triggers = (b"torch",)

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        for statement in source.expressions:
            call = statement.value
            if not isinstance(call, ast.Call) or not call.args or not source.names.all_in(call.func, PURE):
                continue
            if any(one.arg in {"out", "inplace"} for one in call.keywords) or is_test(source, call):
                continue
            if DroppedTensorResult.is_shown(source, statement) or DroppedTensorResult.is_tried(
                source, statement
            ):
                continue
            subject = dotted(call.args[0])
            if not subject:
                continue
            yield self.report(
                source,
                call,
                f"`{dotted(call.func)}()` returns a new tensor and leaves `{subject}` as it was",
                remedy=f"Write `{subject} = {dotted(call.func)}(...)`.",
                fix=Fix((source.insert_before(statement, f"{subject} = "),), safe=False),
            )
