from collections.abc import Iterator

from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.tree import argument

_FUNCTIONS = frozenset(f"torch.nn.functional.{name}" for name in ("softmax", "log_softmax", "softmin"))
_LAYERS = frozenset(("torch.nn.Softmax", "torch.nn.LogSoftmax", "torch.nn.Softmin"))


class SoftmaxWithoutDim(Rule):
    """Softmax without `dim`: torch picks the dimension by the number of dimensions.

    ## Why it matters
    Without `dim` it is 1 for tensors of two or four dimensions, but 0 for three: on (batch, time, classes) the
    probabilities then add up over the batch. It is deprecated and warns once.

    ## Usual causes
    Code from before torch 0.4.

    ## What to do
    Say it: `F.softmax(x, dim=-1)`.
    """

    card = Card("PM524", "softmax-without-dim", "shape", Severity.INFO)
    triggers = (b"oftmax(", b"oftmin(")

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        for call in source.calls_to("softmax", "log_softmax", "softmin", "Softmax", "LogSoftmax", "Softmin"):
            function = source.names.all_in(call.func, _FUNCTIONS)
            if not function and not source.names.all_in(call.func, _LAYERS):
                continue
            if any(keyword.arg is None for keyword in call.keywords):
                continue
            if argument(call, "dim", 1 if function else 0) is None:
                yield self.report(
                    source,
                    call,
                    "without `dim` torch guesses the dimension: 0 for tensors with three dimensions, else 1",
                    remedy="Say it, for example `dim=-1`.",
                )
